function Get-DataGatewayClusterDatasourceStatus {
    <#
    .SYNOPSIS
    Tries a data source: a member connects and logs in.
    .DESCRIPTION
    Returns an object whose Status is Live, or fails with the driver's own code and message.
    .EXAMPLE
    try { Get-DataGatewayClusterDatasourceStatus -GatewayClusterId $id -GatewayClusterDatasourceId $source } catch { $_.Exception.Message }
    .OUTPUTS
    Comporta.DatasourceStatus
    #>
    [CmdletBinding(PositionalBinding = $false)]
    [OutputType('Comporta.DatasourceStatus')]
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
        [guid] $GatewayClusterDatasourceId
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        Invoke-Guarded $PSCmdlet $GatewayClusterDatasourceId {
            [void] (Invoke-Gateway GET (Get-ClusterPath $Scope $GatewayClusterId "/datasources/$GatewayClusterDatasourceId/status"))
            $status = [pscustomobject] @{ PSTypeName = 'Comporta.DatasourceStatus'; ClusterId = $GatewayClusterId; DatasourceId = $GatewayClusterDatasourceId; Status = 'Live' }
            Add-Member -InputObject $status -MemberType ScriptMethod -Name ToString -Value { $this.Status } -Force -PassThru
        }
    }
}
