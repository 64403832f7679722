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
        [string] $Scope = 'Organization',

        # Only installers of this gateway type. Default: all.
        [ValidateSet('Resource', 'Personal', 'VirtualNetwork')]
        [string] $GatewayTypeParameter
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        Invoke-Guarded $PSCmdlet $null {
            $path = '/v2.0/myorg/gatewayInstallers'
            if ($GatewayTypeParameter) { $path += '?$filter=' + [uri]::EscapeDataString("type eq '$GatewayTypeParameter'") }
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
        [string] $Scope = 'Organization',

        # Their object ids.
        [Parameter(Mandatory)]
        [Alias('Users')]
        [string[]] $PrincipalObjectIds,

        # Add, Remove, or None, which changes nothing.
        [Parameter(Mandatory)]
        [ValidateSet('None', 'Add', 'Remove')]
        [string] $Operation,

        # The gateway type.
        [Parameter(Mandatory)]
        [ValidateSet('Resource', 'Personal', 'VirtualNetwork')]
        [string] $GatewayType
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        if (-not $PSCmdlet.ShouldProcess($PrincipalObjectIds -join ', ', "$Operation installers")) { return }
        Invoke-Guarded $PSCmdlet $null {
            Invoke-Gateway POST '/v2.0/myorg/gatewayInstallers' @{ ids = $PrincipalObjectIds; operation = $Operation; gatewayType = $GatewayType }
        }
    }
}
