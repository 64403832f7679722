function Get-DataGatewayClusterDatasourceUser {
    <#
    .SYNOPSIS
    Lists the users of a data source.
    .DESCRIPTION
    With their access right and role.
    .EXAMPLE
    Get-DataGatewayClusterDatasource -Cluster $id | Get-DataGatewayClusterDatasourceUser
    .OUTPUTS
    Comporta.UserAccessRightEntry
    #>
    [CmdletBinding(PositionalBinding = $false)]
    [OutputType('Comporta.UserAccessRightEntry')]
    param(
        # Taken for compatibility; an id is enough.
        [Comporta.PowerBIUserScope] $Scope = 'Individual',

        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'ClusterId')]
        [guid] $GatewayClusterId,

        # The data source.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('DatasourceId', 'Datasource', 'Id')]
        [guid] $GatewayClusterDatasourceId
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        Invoke-Guarded $PSCmdlet $GatewayClusterDatasourceId {
            $path = Get-ClusterPath $Scope $GatewayClusterId "/datasources/$GatewayClusterDatasourceId/users"
            foreach ($user in (Invoke-Gateway GET $path).value) { New-DatasourceUserObject $user $GatewayClusterId $GatewayClusterDatasourceId }
        }
    }
}

function Add-DataGatewayClusterDatasourceUser {
    <#
    .SYNOPSIS
    Gives a principal a right on a data source.
    .DESCRIPTION
    Giving another right replaces the one before; the role stays unless -Role is given.
    .EXAMPLE
    Add-DataGatewayClusterDatasourceUser -GatewayClusterId $id -GatewayClusterDatasourceId $source -DatasourceUserAccessRight Read -Identifier $user
    #>
    [CmdletBinding(PositionalBinding = $false, SupportsShouldProcess, DefaultParameterSetName = 'Identifier')]
    param(
        # Taken for compatibility; an id is enough.
        [Comporta.PowerBIUserScope] $Scope = 'Individual',

        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # The data source.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('DatasourceId', 'Datasource')]
        [guid] $GatewayClusterDatasourceId,

        # Read, or ReadOverrideEffectiveIdentity.
        [Parameter(Mandatory)]
        [Comporta.DatasourceUserAccessRight] $DatasourceUserAccessRight,

        # The principal's object id.
        [Parameter(Mandatory, ParameterSetName = 'Identifier')]
        [Parameter(ParameterSetName = 'UserEmailAddress')]
        [guid] $Identifier,

        # The principal's e-mail address, where the id is not at hand.
        [Parameter(Mandatory, ParameterSetName = 'UserEmailAddress')]
        [string] $UserEmailAddress,

        # The role: User, UserWithReshare or Owner. Left out, it stays as it is, and who has none becomes a User.
        [ValidateSet('User', 'UserWithReshare', 'Owner')]
        [string] $Role
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        $bound = $PSBoundParameters
        $who = $UserEmailAddress
        if ($bound.ContainsKey('Identifier')) { $who = $Identifier.ToString() }
        if (-not $PSCmdlet.ShouldProcess($who, "Give right $DatasourceUserAccessRight")) { return }
        Invoke-Guarded $PSCmdlet $who {
            $body = @{ datasourceAccessRight = "$DatasourceUserAccessRight" } + (Select-Bound $bound @{ Role = 'role' })
            if ($bound.ContainsKey('Identifier')) { $body.identifier = $who } else { $body.emailAddress = $who }
            Invoke-Gateway POST (Get-ClusterPath $Scope $GatewayClusterId "/datasources/$GatewayClusterDatasourceId/users") $body
        }
    }
}

function Remove-DataGatewayClusterDatasourceUser {
    <#
    .SYNOPSIS
    Takes a principal's right on a data source away.
    .DESCRIPTION
    It holds from the next request on.
    .EXAMPLE
    Remove-DataGatewayClusterDatasourceUser -GatewayClusterId $id -GatewayClusterDatasourceId $source -UserId $user
    #>
    [CmdletBinding(PositionalBinding = $false, SupportsShouldProcess, ConfirmImpact = 'High')]
    param(
        # Taken for compatibility; an id is enough.
        [Comporta.PowerBIUserScope] $Scope = 'Individual',

        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # The data source.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('DatasourceId', 'Datasource')]
        [guid] $GatewayClusterDatasourceId,

        # The principal's object id or e-mail address.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('UserEmailAddress', 'EmailAddress', 'PrincipalObjectId', 'User')]
        [string] $UserId
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        if (Test-Unattended $PSBoundParameters) { $ConfirmPreference = 'None' }
        if (-not $PSCmdlet.ShouldProcess($UserId, 'Take right away')) { return }
        Invoke-Guarded $PSCmdlet $UserId {
            $path = "/datasources/$GatewayClusterDatasourceId/users/" + [uri]::EscapeDataString($UserId)
            Invoke-Gateway DELETE (Get-ClusterPath $Scope $GatewayClusterId $path)
        }
    }
}
