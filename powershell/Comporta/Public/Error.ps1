function Resolve-DataGatewayError {
    <#
    .SYNOPSIS
    Shows what is known of errors: the service's answer, code and request id.
    .DESCRIPTION
    Without parameters it takes every error of the session, newest first. The request id finds a request in the service's log.
    .EXAMPLE
    (Resolve-DataGatewayError -Last).Message
    .EXAMPLE
    $Error | Resolve-DataGatewayError
    .OUTPUTS
    Comporta.RestExceptionRecord, Comporta.ExceptionRecord
    #>
    [CmdletBinding(PositionalBinding = $false, DefaultParameterSetName = 'AnyError')]
    [OutputType('Comporta.RestExceptionRecord', 'Comporta.ExceptionRecord')]
    param(
        # The errors to look at.
        [Parameter(ParameterSetName = 'AnyError', ValueFromPipeline, Position = 0)]
        [System.Management.Automation.ErrorRecord[]] $Error,

        # Only the last error of the session.
        [Parameter(Mandatory, ParameterSetName = 'LastError')]
        [switch] $Last
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        $records = $Error
        if ($null -eq $records) { $records = @($global:Error | Where-Object { $_ -is [System.Management.Automation.ErrorRecord] }) }
        if ($Last) { $records = @($records | Select-Object -First 1) }
        foreach ($record in $records) { New-ErrorDescription $record }
    }
}

# New-ErrorDescription makes the record of one error.
function New-ErrorDescription([System.Management.Automation.ErrorRecord] $Record) {
    $e = Get-RootException $Record.Exception
    $about = [ordered] @{
        PSTypeName = 'Comporta.ExceptionRecord'; Message = $e.Message; Exception = $e; InnerException = $null -ne $e.InnerException; HelpLink = $e.HelpLink
        Source = $e.Source; StackTrace = $e.StackTrace; ErrorDetails = $Record.ErrorDetails; ErrorCategory = $Record.CategoryInfo
        InvocationInfo = $Record.InvocationInfo; ScriptStackTrace = $Record.ScriptStackTrace
    }
    if ($e -is [DataGatewayException]) {
        $about.PSTypeName = 'Comporta.RestExceptionRecord'
        $about.Code, $about.Response = $e.Code, "$($e.ReasonPhrase) ($($e.StatusCode)): $($e.ResponseBody)"
        $about.PowerBIErrorInfo, $about.RequestId, $about.ResponseDate = $e.Code, $e.RequestId, $e.ResponseDate
        $about.RequestMethod, $about.RequestUri = $e.RequestMethod, $e.RequestUri
    }
    [pscustomobject] $about
}
