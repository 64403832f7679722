function Get-DataGatewayClusterStatus {
    <#
    .SYNOPSIS
    Says how a cluster is now.
    .DESCRIPTION
    ClusterStatus is Live when any enabled member can be reached, else None. MemberGatewayErrorMessages are plain texts, one for each problem of a member.
    .EXAMPLE
    (Get-DataGatewayClusterStatus -GatewayClusterId $id).ClusterStatus -eq 'Live'
    .OUTPUTS
    Comporta.GatewayClusterStatus
    #>
    [CmdletBinding(PositionalBinding = $false)]
    [OutputType('Comporta.GatewayClusterStatus')]
    param(
        # Taken for compatibility; an id is enough.
        [Comporta.PowerBIUserScope] $Scope = 'Individual',

        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # Taken for compatibility; an id is enough.
        [string] $RegionKey
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        Invoke-Guarded $PSCmdlet $GatewayClusterId {
            New-ClusterStatusObject (Invoke-Gateway GET (Get-ClusterPath $Scope $GatewayClusterId '/status')) $GatewayClusterId
        }
    }
}

function Get-AllDataGatewayClustersAndDatasourcesStatus {
    <#
    .SYNOPSIS
    Reports the status of every cluster and of every data source in it.
    .DESCRIPTION
    One object for each data source, and one for each cluster that has none. Every data source is really tried through a member, so it takes a while.
    .EXAMPLE
    Get-AllDataGatewayClustersAndDatasourcesStatus | Where-Object DatasourceStatus -eq Error
    .OUTPUTS
    Comporta.StatusReport
    #>
    [CmdletBinding(PositionalBinding = $false)]
    [OutputType('Comporta.StatusReport')]
    param(
        # Individual: the clusters in which you have a role. Organization: all of them.
        [Comporta.PowerBIUserScope] $Scope = 'Individual',

        # Only the clusters of this region. Default: of all regions.
        [string] $RegionKey
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        $clusters = @(Invoke-Guarded $PSCmdlet $null { Get-DataGatewayCluster -Scope $Scope -RegionKey $RegionKey -ErrorAction Stop })
        foreach ($cluster in $clusters) {
            $list = Invoke-Guarded $PSCmdlet $cluster.Id { Invoke-Gateway GET (Get-ClusterPath $Scope $cluster.Id '/datasources') }
            if ($null -eq $list) { continue }
            foreach ($source in $list.value) { Invoke-Guarded $PSCmdlet $source.id { Get-StatusReport $cluster $source $Scope } }
            if (@($list.value).Count -eq 0) { New-StatusReport $cluster $null $null }
        }
    }
}

# Get-StatusReport tries a data source.
function Get-StatusReport($Cluster, $Source, [string] $Scope) {
    $failure = $null
    try {
        [void] (Invoke-Gateway GET (Get-ClusterPath $Scope $Cluster.Id "/datasources/$($Source.id)/status"))
    } catch {
        $failure = Get-RootException $_.Exception
        Remove-CaughtError $failure
        if ($failure -isnot [DataGatewayException]) { throw }
    }
    New-StatusReport $Cluster $Source $failure
}

function New-StatusReport($Cluster, $Source, $Failure) {
    $status, $code, $message = $null, $null, $null
    if ($Source) { $status = 'Live' }
    if ($Failure) { $status, $code, $message = 'Error', $Failure.Code, $Failure.Message }
    [pscustomobject] @{
        PSTypeName = 'Comporta.StatusReport'; ClusterId = $Cluster.Id; ClusterName = $Cluster.Name; ClusterStatus = $Cluster.Status
        DatasourceId = (Get-Property $Source 'id'); DatasourceName = (Get-Property $Source 'datasourceName'); DatasourceType = (Get-Property $Source 'datasourceType')
        DatasourceStatus = $status; ErrorCode = $code; ErrorMessage = $message
    }
}
