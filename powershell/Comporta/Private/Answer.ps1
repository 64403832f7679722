# What went wrong on the wire, as an exception with the service's own words.

# New-NetworkFailure is for a request that got no answer.
function New-NetworkFailure([System.Exception] $Exception, [hashtable] $Request) {
    $root = Get-RootException $Exception
    $where = ([uri] $Request.Uri).GetLeftPart([System.UriPartial]::Authority)
    if ($root -is [System.OperationCanceledException]) {
        $failure = New-Object DataGatewayException 'RequestTimeout', "$where did not answer within $($Request.TimeoutSeconds) seconds.", $root
        $failure.StatusCode = 504
    } else {
        $deepest = $root
        while ($deepest.InnerException) { $deepest = $deepest.InnerException }
        $failure = New-Object DataGatewayException 'ServiceUnreachable', "The service at $where cannot be reached: $($deepest.Message)", $root
        $failure.StatusCode = 503
    }
    $failure.RequestMethod, $failure.RequestUri = $Request.Method, $Request.Uri
    $failure
}

# New-AnswerFailure is for an answer that is an error.
function New-AnswerFailure($Response, [hashtable] $Request) {
    $status, $reason = [int] $Response.StatusCode, $Response.ReasonPhrase
    $id, $date = (Get-ResponseHeader $Response 'RequestId'), (Get-ResponseHeader $Response 'Date')
    $retry, $info = (Get-ResponseHeader $Response 'Retry-After'), (Get-ResponseHeader $Response 'X-PowerBI-Error-Info')
    $body = Read-ResponseText $Response
    $code, $message = Read-ErrorBody $body
    if (-not $code) { $code = $info }
    if (-not $code) { $code, $message = "HTTP$status", "The service answered $status $reason." }
    $failure = New-Object DataGatewayException $code, (Join-Message $message $code $id)
    $failure.StatusCode, $failure.ReasonPhrase, $failure.RequestId, $failure.ResponseDate, $failure.ResponseBody = $status, $reason, $id, $date, $body
    $failure.RequestMethod, $failure.RequestUri = $Request.Method, $Request.Uri
    $seconds = 0
    if ([int]::TryParse($retry, [ref] $seconds)) { $failure.RetryAfterSeconds = $seconds }
    $failure
}

function Join-Message([string] $Message, [string] $Code, [string] $RequestId) {
    if ($RequestId) { return "$Message ($Code, request $RequestId)" }
    "$Message ($Code)"
}

function Get-ResponseHeader($Response, [string] $Name) {
    $values = $null
    if ($Response.Headers.TryGetValues($Name, [ref] $values)) { return @($values)[0] }
    ''
}

# Read-ErrorBody returns code and message of an error body: of the nested form (v2), of the token endpoint, or of none.
function Read-ErrorBody([string] $Body) {
    try { $json = ConvertFrom-GatewayJson $Body } catch { return $null, $null }
    $outer = Get-Property $json 'error'
    if ($outer -is [string]) { return $outer, (Get-Property $json 'error_description') }
    if ($null -eq $outer) { return (Get-Property $json 'errorCode'), (Get-Property $json 'message') }
    $message = [string] (Get-Property $outer 'message')
    foreach ($detail in @(Get-Property (Get-Property $outer 'pbi.error') 'details')) {
        $text = [string] (Get-Property (Get-Property $detail 'detail') 'value')
        if ($text -and -not $message.Contains($text)) { $message += " [$(Get-Property $detail 'code'): $text]" }
    }
    return (Get-Property $outer 'code'), $message
}

# Get-Property reads a property that may be missing.
function Get-Property($Object, [string] $Name) {
    if ($null -eq $Object) { return $null }
    $property = $Object.PSObject.Properties[$Name]
    if ($property) { $property.Value }
}
