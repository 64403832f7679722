function Test-DataGatewayRoute {
    <#
    .SYNOPSIS
    Shows which member a query would go to now, and why.
    .DESCRIPTION
    Every member stands in the answer with its position in the plan, or 0 and the reason why it is left out. Nothing is sent to a member.
    .EXAMPLE
    (Test-DataGatewayRoute -GatewayClusterId $id).Members
    .OUTPUTS
    Comporta.Route
    #>
    [CmdletBinding(PositionalBinding = $false)]
    [OutputType('Comporta.Route')]
    param(
        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # Check also that you may use this data source.
        [Parameter(ValueFromPipelineByPropertyName)]
        [Alias('DatasourceId', 'Datasource')]
        [guid] $GatewayClusterDatasourceId
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        $bound = $PSBoundParameters
        Invoke-Guarded $PSCmdlet $GatewayClusterId {
            $body = @{}
            if ($bound.ContainsKey('GatewayClusterDatasourceId')) { $body.datasourceId = $GatewayClusterDatasourceId.ToString() }
            New-RouteObject (Invoke-Gateway POST (Get-ClusterPath Individual $GatewayClusterId '/route') $body)
        }
    }
}

# New-RouteObject makes the plan.
function New-RouteObject($Json) {
    [pscustomobject] @{
        PSTypeName = 'Comporta.Route'; ClusterId = [guid] $Json.clusterId; Available = $Json.available; LoadBalancingSelectorType = $Json.loadBalancingSelectorType
        ErrorCode = (Get-Property $Json 'errorCode'); Message = (Get-Property $Json 'message'); WaitingRequests = $Json.waitingRequests
        Members = [object[]] @(foreach ($m in $Json.members) {
                [pscustomobject] @{ PSTypeName = 'Comporta.RouteStep'; Position = $m.position; GatewayName = $m.gatewayName; Reason = $m.reason; Message = $m.message
                    RunningRequests = $m.runningRequests; CpuPercent = $m.load.cpuPercent; MemoryPercent = $m.load.memoryPercent; MemberGatewayId = [guid] $m.memberGatewayId } })
    }
}
