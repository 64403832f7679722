# Failures: from an exception to the error that the caller sees. There is one way out for all commands.

# Categories by HTTP status; scripts filter on them.
$script:Categories = @{
    400 = 'InvalidArgument'; 401 = 'AuthenticationError'; 403 = 'PermissionDenied'; 404 = 'ObjectNotFound'; 409 = 'ResourceExists'
    413 = 'LimitsExceeded'; 429 = 'LimitsExceeded'; 501 = 'NotImplemented'; 502 = 'ConnectionError'; 503 = 'ResourceUnavailable'; 504 = 'OperationTimeout'
}

# What to do about failures that have an obvious remedy.
$script:Remedies = @{
    NotConnected    = 'Run Connect-DataGatewayServiceAccount -Endpoint URL -ApplicationId ID -ClientSecret SECRET.'
    invalid_client  = 'Check the application id and the secret; an administrator can make a new secret.'
    ServiceUnreachable = 'Check the address given to -Endpoint, and that the service runs.'
}

# Get-RootException takes off what PowerShell and tasks wrap around an exception.
function Get-RootException([System.Exception] $Exception) {
    $e = $Exception
    while ($e.InnerException -and ($e -is [System.Management.Automation.RuntimeException] -or $e -is [System.AggregateException])) {
        $e = $e.InnerException
    }
    $e
}

function New-GatewayErrorRecord([System.Exception] $Exception, [object] $Target) {
    $code, $category = 'Error', [System.Management.Automation.ErrorCategory]::NotSpecified
    if ($Exception -is [DataGatewayException]) {
        $code = $Exception.Code
        if ($script:Categories.ContainsKey($Exception.StatusCode)) { $category = $script:Categories[$Exception.StatusCode] }
    }
    $record = New-Object System.Management.Automation.ErrorRecord $Exception, $code, $category, $Target
    $details = New-Object System.Management.Automation.ErrorDetails $Exception.Message
    if ($script:Remedies.ContainsKey($code)) { $details.RecommendedAction = $script:Remedies[$code] }
    $record.ErrorDetails = $details
    $record
}

# Remove-CaughtError takes what was caught on the way out of $Error, so that each failure stands there once.
function Remove-CaughtError([System.Exception] $Exception) {
    while ($global:Error.Count -gt 0) {
        $newest = $global:Error[0]
        $inside = $newest
        if ($newest -is [System.Management.Automation.ErrorRecord]) { $inside = $newest.Exception }
        if ($inside -isnot [System.Exception] -or -not [object]::ReferenceEquals((Get-RootException $inside), $Exception)) { return }
        $global:Error.RemoveAt(0)
    }
}

# Clear-ErrorVariable takes it out of the caller's -ErrorVariable likewise: that collects what is thrown inside a command, caught or not.
function Clear-ErrorVariable([System.Management.Automation.PSCmdlet] $Cmdlet, [System.Exception] $Exception) {
    $bound = $Cmdlet.MyInvocation.BoundParameters
    if (-not $bound.ContainsKey('ErrorVariable')) { return }
    $list = $Cmdlet.SessionState.PSVariable.GetValue(([string] $bound['ErrorVariable']).TrimStart('+'))
    if ($list -isnot [System.Collections.ArrayList]) { return }
    for ($i = $list.Count - 1; $i -ge 0; $i--) {
        $inside = $list[$i]
        if ($inside -is [System.Management.Automation.ErrorRecord]) { $inside = $inside.Exception }
        if ($inside -is [System.Exception] -and [object]::ReferenceEquals((Get-RootException $inside), $Exception)) { $list.RemoveAt($i) }
    }
}

# Stop-Command ends a command with an error: a terminating one, so that a plain try/catch sees it, unless the caller asked this very
# command to go on (-ErrorAction SilentlyContinue, Ignore or Continue).
function Stop-Command([System.Management.Automation.PSCmdlet] $Cmdlet, [System.Exception] $Exception, [object] $Target) {
    $root = Get-RootException $Exception
    Remove-CaughtError $root
    Clear-ErrorVariable $Cmdlet $root
    $record = New-GatewayErrorRecord $root $Target
    $bound = $Cmdlet.MyInvocation.BoundParameters
    if ($bound.ContainsKey('ErrorAction') -and "$($bound['ErrorAction'])" -in 'SilentlyContinue', 'Ignore', 'Continue') {
        $Cmdlet.WriteError($record)
        return
    }
    $Cmdlet.ThrowTerminatingError($record)
}

# Invoke-Guarded runs what a command does and returns what it answers; a failure becomes the command's error. What it answers is collected first and
# written when nothing of ours can fail any more: a failure further down the pipeline, in the caller's script, must not pass for one of ours.
function Invoke-Guarded([System.Management.Automation.PSCmdlet] $Cmdlet, [object] $Target, [scriptblock] $Action) {
    $answer = @()
    try {
        $answer = @(& $Action)
    } catch {
        Stop-Command $Cmdlet $_.Exception $Target
    }
    foreach ($item in $answer) { , $item }
}

# Stop-Unsupported ends a command that makes no sense for a service of one's own.
function Stop-Unsupported([System.Management.Automation.PSCmdlet] $Cmdlet, [string] $Message) {
    $failure = New-Object DataGatewayException 'FeatureNotAvailable', $Message
    $failure.StatusCode = 501
    Stop-Command $Cmdlet $failure $null
}
