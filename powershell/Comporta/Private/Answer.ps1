# What went wrong on the wire, as an exception with the service's own words.

# New-NetworkFailure is for a request that got no answer.
function New-NetworkFailure([System.Exception] $Exception, [hashtable] $Request) {
    $root = Get-RootException $Exception
    $where = Get-Authority $Request
    if ($root -is [System.OperationCanceledException]) { return New-TimeoutFailure $root $Request "$where did not answer within $($Request.TimeoutSeconds) seconds." }
    $failure = New-Object DataGatewayException 'ServiceUnreachable', "The service at $where cannot be reached: $(Get-DeepestMessage $root)", $root
    $failure.StatusCode = 503
    $failure.RequestMethod, $failure.RequestUri = $Request.Method, $Request.Uri
    $failure
}

# New-BodyFailure is for an answer whose headers came and whose body did not come whole.
function New-BodyFailure([System.Exception] $Exception, [hashtable] $Answer) {
    $root, $request = (Get-RootException $Exception), $Answer.Request
    $where = Get-Authority $request
    if ($root -is [System.OperationCanceledException]) {
        $failure = New-TimeoutFailure $root $request "$where did not end its answer within $($request.TimeoutSeconds) seconds."
    } else {
        $failure = New-Object DataGatewayException 'GatewayAnswerBroken', "The answer of $where broke off: $(Get-DeepestMessage $root)", $root
        $failure.StatusCode = 502
    }
    $failure.RequestMethod, $failure.RequestUri, $failure.RequestId = $request.Method, $request.Uri, (Get-ResponseHeader $Answer.Response 'RequestId')
    $failure
}

function New-TimeoutFailure([System.Exception] $Exception, [hashtable] $Request, [string] $Message) {
    $failure = New-Object DataGatewayException 'RequestTimeout', $Message, $Exception
    $failure.StatusCode, $failure.RequestMethod, $failure.RequestUri = 504, $Request.Method, $Request.Uri
    $failure
}

# Get-Authority is the service that a request goes to, without the path.
function Get-Authority([hashtable] $Request) {
    ([uri] $Request.Uri).GetLeftPart([System.UriPartial]::Authority)
}

function Get-DeepestMessage([System.Exception] $Exception) {
    $deepest = $Exception
    while ($deepest.InnerException) { $deepest = $deepest.InnerException }
    $deepest.Message
}

# New-AnswerFailure is for an answer that is an error.
function New-AnswerFailure([hashtable] $Answer) {
    $request, $response = $Answer.Request, $Answer.Response
    $status, $reason = [int] $response.StatusCode, $response.ReasonPhrase
    $id, $date = (Get-ResponseHeader $response 'RequestId'), (Get-ResponseHeader $response 'Date')
    $retry, $info = (Get-ResponseHeader $response 'Retry-After'), (Get-ResponseHeader $response 'X-PowerBI-Error-Info')
    $body = Read-AnswerText $Answer
    $code, $message = Read-ErrorBody $body
    if (-not $code) { $code = $info }
    if (-not $code) { $code, $message = "HTTP$status", "The service answered $status $reason." }
    $failure = New-Object DataGatewayException $code, (Join-Message $message $code $id)
    $failure.StatusCode, $failure.ReasonPhrase, $failure.RequestId, $failure.ResponseDate, $failure.ResponseBody = $status, $reason, $id, $date, $body
    $failure.RequestMethod, $failure.RequestUri = $request.Method, $request.Uri
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
