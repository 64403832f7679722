function Get-DataGatewayTenantPolicy {
    <#
    .SYNOPSIS
    Returns who may make clusters and join members.
    .DESCRIPTION
    Policy is None while everybody may. Takes a TenantAdmin.
    .EXAMPLE
    (Get-DataGatewayTenantPolicy).Policy
    .OUTPUTS
    Comporta.GatewayTenant
    #>
    [CmdletBinding(PositionalBinding = $false)]
    [OutputType('Comporta.GatewayTenant')]
    param(
        # Only Organization makes sense: installers and policy belong to the tenant.
        [ValidateSet('Organization')]
        [Comporta.PowerBIUserScope] $Scope = 'Organization'
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        Invoke-Guarded $PSCmdlet $null {
            $p = Invoke-Gateway GET '/v2.0/myorg/gatewayPolicy'
            [pscustomobject] @{ PSTypeName = 'Comporta.GatewayTenant'; TenantObjectId = $p.id; Policy = $p.policy
                ResourceGatewayInstallPolicy = $p.resourceGatewayInstallPolicy; PersonalGatewayInstallPolicy = $p.personalGatewayInstallPolicy }
        }
    }
}

function Set-DataGatewayTenantPolicy {
    <#
    .SYNOPSIS
    Changes who may make clusters and join members.
    .DESCRIPTION
    While it is Restricted, only installers and a TenantAdmin may. Takes a TenantAdmin.
    .EXAMPLE
    Set-DataGatewayTenantPolicy -ResourceGatewayInstallPolicy Restricted
    #>
    [CmdletBinding(PositionalBinding = $false, SupportsShouldProcess)]
    param(
        # For clusters like these.
        [Comporta.PolicyType] $ResourceGatewayInstallPolicy,

        # For personal gateways; it is kept and changes nothing here.
        [Comporta.PolicyType] $PersonalGatewayInstallPolicy
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        if (-not $PSCmdlet.ShouldProcess('Tenant policy', 'Change')) { return }
        $bound = $PSBoundParameters
        Invoke-Guarded $PSCmdlet $null {
            $body = Select-Bound $bound @{ ResourceGatewayInstallPolicy = 'resourceGatewayInstallPolicy'; PersonalGatewayInstallPolicy = 'personalGatewayInstallPolicy' }
            [void] (Invoke-Gateway POST '/v2.0/myorg/gatewayPolicy' $body)
        }
    }
}
