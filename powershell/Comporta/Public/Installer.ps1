function Get-DataGatewayInstaller {
    <#
    .SYNOPSIS
    Lists who may install gateways while that is restricted.
    .DESCRIPTION
    Takes a TenantAdmin.
    .EXAMPLE
    Get-DataGatewayInstaller -GatewayTypeParameter Resource
    .OUTPUTS
    Comporta.InstallerPrincipal
    #>
    [CmdletBinding(PositionalBinding = $false)]
    [OutputType('Comporta.InstallerPrincipal')]
    param(
        # Only Organization makes sense: installers and policy belong to the tenant.
        [ValidateSet('Organization')]
        [Comporta.PowerBIUserScope] $Scope = 'Organization',

        # Only installers of this gateway type. Default: all.
        [Comporta.GatewayType] $GatewayTypeParameter
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        $bound = $PSBoundParameters
        Invoke-Guarded $PSCmdlet $null {
            $path = '/v2.0/myorg/gatewayInstallers'
            if ($bound.ContainsKey('GatewayTypeParameter')) { $path += '?$filter=' + [uri]::EscapeDataString("type eq '$GatewayTypeParameter'") }
            foreach ($i in (Invoke-Gateway GET $path).value) {
                [pscustomobject] @{ PSTypeName = 'Comporta.InstallerPrincipal'; PrincipalObjectId = $i.id; GatewayType = $i.type }
            }
        }
    }
}

function Set-DataGatewayInstaller {
    <#
    .SYNOPSIS
    Adds or removes those who may install gateways while that is restricted.
    .DESCRIPTION
    Doing it twice is harmless. Takes a TenantAdmin.
    .EXAMPLE
    Set-DataGatewayInstaller -PrincipalObjectIds $user -Operation Add -GatewayType Resource
    #>
    [CmdletBinding(PositionalBinding = $false, SupportsShouldProcess)]
    param(
        # Taken for compatibility; installers belong to the tenant.
        [ValidateSet('Organization')]
        [Comporta.PowerBIUserScope] $Scope = 'Organization',

        # Their object ids; Add and Remove take them.
        [ValidateNotNullOrEmpty()]
        [Alias('Users')]
        [string[]] $PrincipalObjectIds,

        # Add, Remove, or None, which changes nothing.
        [Parameter(Mandatory)]
        [Comporta.OperationType] $Operation,

        # The gateway type.
        [Parameter(Mandatory)]
        [Comporta.GatewayType] $GatewayType
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        if (-not $PSCmdlet.ShouldProcess($PrincipalObjectIds -join ', ', "$Operation installers")) { return }
        Invoke-Guarded $PSCmdlet $null {
            if (-not $PrincipalObjectIds -and "$Operation" -ne 'None') { throw (New-Object DataGatewayException 'InvalidInput', "-Operation $Operation takes -PrincipalObjectIds.") }
            $ids = [object[]] @($PrincipalObjectIds | Where-Object { $_ })
            Invoke-Gateway POST '/v2.0/myorg/gatewayInstallers' @{ ids = $ids; operation = "$Operation"; gatewayType = "$GatewayType" }
        }
    }
}
