# The rows of an answer, as they come: what arrives in one read goes down the pipeline at once, and nothing is kept.

# ReadSize is how much of an answer is in hand at once; a longer row makes it grow.
$script:ReadSize = 64KB

# New-RowReader wraps an open answer. Its time stands still from here on, but for the reads: rows may come for as long as they like, and whoever takes
# them may take his time.
function New-RowReader([hashtable] $Answer) {
    $stream = Wait-Task $Answer.Response.Content.ReadAsStreamAsync() $Answer.Cancel
    $Answer.Cancel.CancelAfter([System.Threading.Timeout]::InfiniteTimeSpan)
    @{ Answer = $Answer; Response = $Answer.Response; Stream = $stream; Buffer = (New-Object byte[] $script:ReadSize); Filled = 0; Ended = $false; Failure = $null }
}

# Read-RowBatch returns the complete rows that are there, waiting for at least one; nothing at the end.
function Read-RowBatch([hashtable] $Reader) {
    while (-not $Reader.Ended) {
        Read-Chunk $Reader
        $end = [array]::LastIndexOf($Reader.Buffer, [byte] 10, [Math]::Max($Reader.Filled - 1, 0), $Reader.Filled)
        if ($Reader.Ended -and $end + 1 -ne $Reader.Filled) { throw (New-BrokenFailure $Reader 'It ended in the middle of a row.') }
        if ($end -lt 0) { continue }
        $text = [System.Text.Encoding]::UTF8.GetString($Reader.Buffer, 0, $end)
        if (-not $Reader.Ended -and (Test-ErrorLine $text)) { continue } # the last line is held back until it is known whether it is the last
        $Reader.Filled -= $end + 1
        [array]::Copy($Reader.Buffer, $end + 1, $Reader.Buffer, 0, $Reader.Filled)
        return ConvertFrom-Rows $Reader $text
    }
}

function Read-Chunk([hashtable] $Reader) {
    if ($Reader.Filled -eq $Reader.Buffer.Length) {
        $larger = New-Object byte[] (2 * $Reader.Buffer.Length)
        [array]::Copy($Reader.Buffer, $larger, $Reader.Filled)
        $Reader.Buffer = $larger
    }
    $cancel = $Reader.Answer.Cancel
    try {
        $cancel.CancelAfter([timespan]::FromSeconds($Reader.Answer.Request.TimeoutSeconds))
        $count = Wait-Task $Reader.Stream.ReadAsync($Reader.Buffer, $Reader.Filled, $Reader.Buffer.Length - $Reader.Filled, $cancel.Token) $cancel
        $cancel.CancelAfter([System.Threading.Timeout]::InfiniteTimeSpan)
    } catch {
        throw (New-ReadFailure $Reader (Get-RootException $_.Exception))
    }
    $Reader.Filled += $count
    $Reader.Ended = $count -eq 0
}

# ConvertFrom-Rows makes objects of rows. A batch is read as one array, which is many times quicker than row by row.
function ConvertFrom-Rows([hashtable] $Reader, [string] $Text) {
    if ($Reader.Ended) { $Text = Split-LateError $Reader $Text }
    if (-not $Text) { return }
    $array = '[' + $Text.Replace("`n", ',') + ']' # inside a JSON text a line break is escaped
    try { return ConvertFrom-GatewayJson $array } catch { Remove-CaughtError (Get-RootException $_.Exception) }
    ConvertFrom-CarefulJson $array
}

# Test-ErrorLine reports whether the last line looks like the one that ends a failed answer.
function Test-ErrorLine([string] $Text) {
    $start = $Text.LastIndexOf([char] 10) + 1
    [string]::CompareOrdinal($Text, $start, '{"error":{"code":', 0, 17) -eq 0
}

# Split-LateError leaves the rows at the end of a failed answer and remembers the failure. The trailer decides, where .NET shows trailers:
# a row may hold a column of that name.
function Split-LateError([hashtable] $Reader, [string] $Text) {
    if (-not (Test-ErrorLine $Text)) { return $Text }
    $start = $Text.LastIndexOf([char] 10) + 1
    $line = $Text.Substring($start)
    if ($PSVersionTable.PSEdition -eq 'Core' -and -not (Get-Trailer $Reader.Response 'X-Gateway-Error')) { return $Text }
    $late = (ConvertFrom-GatewayJson $line).error
    $id = Get-ResponseHeader $Reader.Response 'RequestId'
    $Reader.Failure = New-Object DataGatewayException $late.code, (Join-Message $late.message $late.code $id)
    $Reader.Failure.RequestId = $id
    if ($start -eq 0) { return '' }
    $Text.Substring(0, $start - 1)
}

function Get-Trailer($Response, [string] $Name) {
    $property = $Response.PSObject.Properties['TrailingHeaders']
    $values = $null
    if ($property -and $property.Value.TryGetValues($Name, [ref] $values)) { return @($values)[0] }
    ''
}

# New-ReadFailure is for a read that failed, or got nothing for as long as the whole answer might have taken to begin.
function New-ReadFailure([hashtable] $Reader, [System.Exception] $Exception) {
    if ($Exception -isnot [System.OperationCanceledException]) { return New-BrokenFailure $Reader $Exception.Message }
    $request, $id = $Reader.Answer.Request, (Get-ResponseHeader $Reader.Response 'RequestId')
    $message = "Nothing more came for $($request.TimeoutSeconds) seconds, the rows so far are not all."
    $failure = New-TimeoutFailure $Exception $request (Join-Message $message 'RequestTimeout' $id)
    $failure.RequestId = $id
    $failure
}

function New-BrokenFailure([hashtable] $Reader, [string] $Why) {
    $id = Get-ResponseHeader $Reader.Response 'RequestId'
    $failure = New-Object DataGatewayException 'GatewayAnswerBroken', (Join-Message "The answer broke off, the rows so far are not all. $Why" 'GatewayAnswerBroken' $id)
    $failure.RequestId, $failure.StatusCode = $id, 502
    $failure
}

function Close-RowReader([hashtable] $Reader) {
    $Reader.Answer.Cancel.Cancel() # whoever stops early stops the query as well
    Close-Answer $Reader.Answer
}
