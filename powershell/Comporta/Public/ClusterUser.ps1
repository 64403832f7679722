function Add-DataGatewayClusterUser {
    <#
    .SYNOPSIS
    Gives a principal a role on a cluster.
    .DESCRIPTION
    Giving another role replaces the one before. It holds from the next request on.
    .EXAMPLE
    Add-DataGatewayClusterUser -GatewayClusterId $id -PrincipalObjectId $user -AllowedDataSourceTypes $null -Role Admin
    .EXAMPLE
    Add-DataGatewayClusterUser -GatewayClusterId $id -PrincipalObjectId $user -AllowedDataSourceTypes PostgreSql, Sql -Role ConnectionCreator
    #>
    [CmdletBinding(PositionalBinding = $false, SupportsShouldProcess)]
    param(
        # Taken for compatibility; an id is enough.
        [Comporta.PowerBIUserScope] $Scope = 'Individual',

        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # The principal's object id.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('User')]
        [guid] $PrincipalObjectId,

        # The data source types that a connection creator may use: names, numbers or enumeration values. Null is all; for an Admin it must be null.
        [AllowNull()]
        [object[]] $AllowedDataSourceTypes,

        # The role.
        [Parameter(Mandatory)]
        [Comporta.GatewayPrincipalRole] $Role,

        # Taken for compatibility; an id is enough.
        [string] $RegionKey
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        if (-not $PSCmdlet.ShouldProcess($PrincipalObjectId, "Give role $Role")) { return }
        Invoke-Guarded $PSCmdlet $PrincipalObjectId {
            $body = @{ id = $PrincipalObjectId.ToString(); role = "$Role"; allowedDataSourceTypes = ConvertTo-DatasourceType $AllowedDataSourceTypes }
            Invoke-Gateway POST (Get-ClusterPath $Scope $GatewayClusterId '/permissions') $body
        }
    }
}

function Remove-DataGatewayClusterUser {
    <#
    .SYNOPSIS
    Takes a principal's role on a cluster away.
    .DESCRIPTION
    It holds from the next request on.
    .EXAMPLE
    Remove-DataGatewayClusterUser -GatewayClusterId $id -PrincipalObjectId $user
    #>
    [CmdletBinding(PositionalBinding = $false, SupportsShouldProcess, ConfirmImpact = 'High')]
    param(
        # Taken for compatibility; an id is enough.
        [Comporta.PowerBIUserScope] $Scope = 'Individual',

        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # The principal's object id.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('User')]
        [guid] $PrincipalObjectId,

        # Taken for compatibility; an id is enough.
        [string] $RegionKey
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        if (Test-Unattended $PSBoundParameters) { $ConfirmPreference = 'None' }
        if (-not $PSCmdlet.ShouldProcess($PrincipalObjectId, 'Take role away')) { return }
        Invoke-Guarded $PSCmdlet $PrincipalObjectId { Invoke-Gateway DELETE (Get-ClusterPath $Scope $GatewayClusterId "/permissions/$PrincipalObjectId") }
    }
}
