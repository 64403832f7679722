function Invoke-DataGatewayQuery {
    <#
    .SYNOPSIS
    Runs a query on a data source and returns its rows as objects.
    .DESCRIPTION
    The rows go down the pipeline as they come; nothing is collected, and stopping early stops the query. 64-bit integers are numbers; decimals, dates and
    times are texts with all their digits and their offset, binary data is base64. A query that does not read returns RowsAffected. -Verbose and
    -InformationVariable say which member answered.
    .EXAMPLE
    Invoke-DataGatewayQuery -GatewayClusterId $id -GatewayClusterDatasourceId $source -Query 'select * from orders where id > $1' -Parameters 100 | Export-Csv orders.csv
    .EXAMPLE
    Get-DataGatewayClusterDatasource -Cluster $id | Invoke-DataGatewayQuery -Query 'select 1'
    .OUTPUTS
    System.Management.Automation.PSCustomObject
    #>
    [CmdletBinding(PositionalBinding = $false, SupportsShouldProcess)]
    [OutputType('System.Management.Automation.PSCustomObject')]
    param(
        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # The data source.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('DatasourceId', 'Datasource')]
        [guid] $GatewayClusterDatasourceId,

        # The statement.
        [Parameter(Mandatory, Position = 0)]
        [string] $Query,

        # Values for the database's own placeholders, in their order. A null among them is NULL. Dates, times and ids go as texts, and whole numbers
        # without a fraction.
        [AllowNull()]
        [AllowEmptyCollection()]
        [object[]] $Parameters,

        # At most so many rows; 0 is all.
        [ValidateRange(0, [long]::MaxValue)]
        [long] $MaxRows,

        # How long the query may take, in seconds. The service ends it then. Rows may come for longer, but when none comes for that time and half a minute
        # the answer counts as broken (RequestTimeout).
        [ValidateRange(1, 86400)]
        [int] $TimeoutSec = 300,

        # Let the statement write. It is then sent to one member only and never tried again.
        [switch] $AllowWrite
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        $body = @{ datasourceId = $GatewayClusterDatasourceId.ToString(); timeoutSeconds = $TimeoutSec; readOnly = -not $AllowWrite
            query = @{ text = $Query; maxRows = $MaxRows; parameters = [object[]] @(foreach ($p in $Parameters) { , (ConvertTo-ParameterValue $p) }) } }
        if ($null -eq $Parameters) { $body.query.Remove('parameters') }
        if ($AllowWrite -and -not $PSCmdlet.ShouldProcess($GatewayClusterDatasourceId, 'Run a statement that may write')) { return }
        $reader = Invoke-Guarded $PSCmdlet $GatewayClusterDatasourceId {
            New-RowReader (Open-Gateway POST (Get-ClusterPath Individual $GatewayClusterId '/dispatch') $body 'application/x-ndjson' ($TimeoutSec + $script:QueryGrace))
        }
        if ($null -eq $reader) { return }
        try {
            Write-Served $reader.Response
            while ($null -ne ($rows = Invoke-Guarded $PSCmdlet $GatewayClusterDatasourceId { Read-RowBatch $reader })) { $rows }
            if ($reader.Failure) { Stop-Command $PSCmdlet $reader.Failure $GatewayClusterDatasourceId }
        } finally {
            Close-RowReader $reader
        }
    }
}

# QueryGrace is how many seconds longer than the query's own time an answer is waited for: the service's words for a query that took too long are better.
$script:QueryGrace = 30

# ConvertTo-ParameterValue makes what goes into a request of a placeholder's value: texts that databases read, the same in every culture and edition.
# A whole number of a type with fractions goes as an integer, because databases do not take 5.0 for one.
function ConvertTo-ParameterValue($Value) {
    $invariant = [cultureinfo]::InvariantCulture
    if ($Value -is [datetime] -or $Value -is [datetimeoffset]) { return $Value.ToString("yyyy-MM-dd'T'HH:mm:ss.FFFFFFFK", $invariant) }
    if ($Value -is [timespan]) { return $Value.ToString('c', $invariant) }
    if ($Value -is [string] -or $Value -is [char] -or $Value -is [guid]) { return $Value.ToString() }
    $fractional = $Value -is [double] -or $Value -is [single] -or $Value -is [decimal]
    if ($fractional -and [Math]::Abs($Value) -lt 1e15 -and [Math]::Truncate($Value) -eq $Value) { return [long] $Value }
    $Value
}

# Write-Served says which member answered.
function Write-Served($Response) {
    $served = [pscustomobject] @{
        MemberGatewayId = Get-ResponseHeader $Response 'X-Gateway-Member-Id'; GatewayName = [uri]::UnescapeDataString((Get-ResponseHeader $Response 'X-Gateway-Member-Name'))
        Attempts = [int] (Get-ResponseHeader $Response 'X-Gateway-Attempts'); RequestId = Get-ResponseHeader $Response 'RequestId'
    }
    Write-Verbose "Member $($served.GatewayName) answers (attempt $($served.Attempts), request $($served.RequestId))."
    Write-Information -MessageData $served -Tags 'ServedBy'
}
