# The only door to the network. Everything else asks Invoke-Gateway or Open-Gateway.

$script:HttpClient = $null

# MaxBusyRetries is how often a request that the service put off (429 TooManyRequests) is sent again.
$script:MaxBusyRetries = 5

function Get-HttpClient {
    if ($null -ne $script:HttpClient) { return $script:HttpClient }
    if ($PSVersionTable.PSEdition -ne 'Core') {
        Add-Type -AssemblyName System.Net.Http
        # .NET Framework offers older versions by default.
        [System.Net.ServicePointManager]::SecurityProtocol = [System.Net.ServicePointManager]::SecurityProtocol -bor [System.Net.SecurityProtocolType]::Tls12
    }
    if ('System.Net.Http.SocketsHttpHandler' -as [type]) {
        $handler = New-Object System.Net.Http.SocketsHttpHandler
        $handler.ResponseDrainTimeout = [timespan]::Zero # an answer that is left early ends its query at once
    } else { $handler = New-Object System.Net.Http.HttpClientHandler }
    $handler.AllowAutoRedirect = $false # a token goes to the service and nowhere else
    $handler.UseCookies = $false
    $client = New-Object System.Net.Http.HttpClient $handler
    $client.Timeout = [System.Threading.Timeout]::InfiniteTimeSpan
    $client.DefaultRequestHeaders.ExpectContinue = $false
    [void] $client.DefaultRequestHeaders.TryAddWithoutValidation('User-Agent', 'ComportaPowerShell/' + $MyInvocation.MyCommand.Module.Version)
    $script:HttpClient = $client
    $client
}

# Wait-Task waits for a task in a way that lets Ctrl-C through, and returns its result. When the time is over it does not wait for the task to see it:
# reading the body of an answer does not.
function Wait-Task($Task, [System.Threading.CancellationTokenSource] $Cancel) {
    try {
        while (-not $Task.IsCompleted) {
            $Cancel.Token.ThrowIfCancellationRequested()
            [void] ([System.IAsyncResult] $Task).AsyncWaitHandle.WaitOne(200)
        }
    } finally {
        if (-not $Task.IsCompleted) { $Cancel.Cancel() }
    }
    , $Task.GetAwaiter().GetResult()
}

# Send-Request sends one request and returns the answer once its headers are there. Request is a table: Method, Uri, Body (bytes or
# null), ContentType, Accept, TimeoutSeconds, Token. An HTTP error is thrown as a DataGatewayException.
# The answer is a table too: Request, Response, and Cancel, whose time goes on until the body is read. Who gets it closes it.
function Send-Request([hashtable] $Request) {
    $answer = @{ Request = $Request; Response = $null; Cancel = (New-Object System.Threading.CancellationTokenSource ([timespan]::FromSeconds($Request.TimeoutSeconds))) }
    try {
        $task = (Get-HttpClient).SendAsync((New-RequestMessage $Request), [System.Net.Http.HttpCompletionOption]::ResponseHeadersRead, $answer.Cancel.Token)
        $answer.Response = Wait-Task $task $answer.Cancel
    } catch {
        Close-Answer $answer
        throw (New-NetworkFailure $_.Exception $Request)
    }
    if ([int] $answer.Response.StatusCode -ge 300) { throw (New-AnswerFailure $answer) }
    $answer
}

function New-RequestMessage([hashtable] $Request) {
    $message = New-Object System.Net.Http.HttpRequestMessage ([System.Net.Http.HttpMethod] $Request.Method), ([uri] $Request.Uri)
    [void] $message.Headers.TryAddWithoutValidation('Accept', $Request.Accept)
    if ($Request.Token) { [void] $message.Headers.TryAddWithoutValidation('Authorization', 'Bearer ' + $Request.Token) }
    if ($null -ne $Request.Body) {
        $message.Content = New-Object System.Net.Http.ByteArrayContent (, [byte[]] $Request.Body)
        [void] $message.Content.Headers.TryAddWithoutValidation('Content-Type', $Request.ContentType)
    }
    $message
}

# Close-Answer ends an answer; a body that was not read to its end breaks off.
function Close-Answer([hashtable] $Answer) {
    if ($Answer.Response) { $Answer.Response.Dispose() }
    $Answer.Cancel.Dispose()
}

# Read-AnswerText reads an answer to its end, within the time that the request was given.
function Read-AnswerText([hashtable] $Answer) {
    try {
        $bytes = Wait-Task $Answer.Response.Content.ReadAsByteArrayAsync() $Answer.Cancel
        [System.Text.Encoding]::UTF8.GetString($bytes)
    } catch {
        throw (New-BodyFailure $_.Exception $Answer)
    } finally {
        Close-Answer $Answer
    }
}

# Open-Gateway sends a request to the service the caller is connected to and returns the open answer; the caller closes it. A
# body of bytes goes out as it is. An expired token is renewed once, and a request that was put off is sent again when the service said.
function Open-Gateway([string] $Method, [string] $Path, $Body, [string] $Accept = 'application/json', [int] $TimeoutSeconds = 100) {
    $session = Get-Session
    $bytes = $Body
    if ($null -ne $Body -and $Body -isnot [byte[]]) { $bytes = ConvertTo-GatewayJson $Body }
    $request = @{ Method = $Method; Uri = $session.Endpoint + $Path; Body = $bytes; ContentType = 'application/json; charset=utf-8'
        Accept = $Accept; TimeoutSeconds = $TimeoutSeconds; Token = Get-Token }
    $renewed, $busy = $false, 0
    while ($true) {
        try {
            return Send-Request $request
        } catch {
            $failure = Get-RootException $_.Exception
            if ($failure -isnot [DataGatewayException]) { throw }
            if ($failure.StatusCode -eq 401 -and -not $renewed) {
                $renewed, $request.Token = $true, (Get-Token -Renew)
            } elseif ($failure.Code -eq 'TooManyRequests' -and $failure.RetryAfterSeconds -gt 0 -and $busy -lt $script:MaxBusyRetries) {
                $busy++
                Start-Sleep -Seconds $failure.RetryAfterSeconds
            } else { throw }
            Remove-CaughtError $failure
        }
    }
}

# Invoke-Gateway sends a request and returns the answer's JSON; nothing when the answer is empty.
function Invoke-Gateway([string] $Method, [string] $Path, $Body, [int] $TimeoutSeconds = 100) {
    $text = Read-AnswerText (Open-Gateway -Method $Method -Path $Path -Body $Body -TimeoutSeconds $TimeoutSeconds)
    if ($text) { ConvertFrom-GatewayJson $text }
}

# Get-ScopePath is where a scope's paths begin.
function Get-ScopePath([string] $Scope) {
    if ($Scope -eq 'Organization') { return '/v2.0/myorg' }
    '/v2.0/myorg/me'
}

# Get-ClusterPath is the path of one cluster, or of something in it.
function Get-ClusterPath([string] $Scope, [guid] $ClusterId, [string] $Rest) {
    (Get-ScopePath $Scope) + '/gatewayClusters/' + $ClusterId.ToString() + $Rest
}
