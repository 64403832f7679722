# Making this machine the member that was just added, with the comporta program.

# Find-MemberProgram finds the program before anything is asked of the service.
function Find-MemberProgram {
    $program = Get-Command -Name comporta -CommandType Application -ErrorAction Ignore | Select-Object -First 1
    if (-not $program) {
        throw (New-Object DataGatewayException 'ProgramNotFound', '-StateDirectory joins this machine with the program comporta, which is not on PATH. Leave -StateDirectory out and run "comporta member join --enrolment-token-file FILE" on the machine.')
    }
    $program.Source
}

# Complete-Invitation runs comporta member join. The token goes through a file that only this user reads, the key through the environment.
# Flags and values are one argument each, because a value may begin with a dash.
function Complete-Invitation($Invitation, [string] $Program, [string] $StateDirectory, [securestring] $RecoveryKey, [switch] $Overwrite) {
    $file = [System.IO.Path]::GetTempFileName()
    $arguments = 'member', 'join', "--server=$((Get-Session).Endpoint)", "--state=$(Resolve-Folder $StateDirectory)", "--name=$($Invitation.Name)", "--enrolment-token-file=$file"
    if ($Overwrite) { $arguments += '--overwrite' }
    try {
        [System.IO.File]::WriteAllText($file, $Invitation.EnrolmentToken)
        $ended = Invoke-MemberProgram $Program $arguments @{ COMPORTA_RECOVERY_KEY = (ConvertFrom-Secret $RecoveryKey) }
    } finally {
        [System.IO.File]::Delete($file)
    }
    if ($ended.Status -ne 0) {
        throw (New-Object DataGatewayException 'JoinFailed', "The member was added, but this machine could not join: $($ended.Output) Try again with -OverwriteExistingGateway.")
    }
    $Invitation.Joined, $Invitation.EnrolmentToken, $Invitation.EnrolmentExpiresAt = $true, $null, $null
}

# Resolve-Folder is where a folder is for programs, which know nothing of PowerShell's drives and current location.
function Resolve-Folder([string] $Path) {
    $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($Path)
}

# Invoke-MemberProgram runs the program to its end and returns its status, with all that it said in one line. Of the settings that programs of ours take
# from the environment it gets those in Settings and no other: what is set in this shell for something else would count for the new member.
function Invoke-MemberProgram([string] $Program, [string[]] $Arguments, [hashtable] $Settings) {
    $start = New-Object System.Diagnostics.ProcessStartInfo $Program, (($Arguments | ForEach-Object { ConvertTo-Argument $_ }) -join ' ')
    $start.UseShellExecute, $start.RedirectStandardInput, $start.RedirectStandardOutput, $start.RedirectStandardError = $false, $true, $true, $true
    $start.StandardOutputEncoding = $start.StandardErrorEncoding = [System.Text.Encoding]::UTF8
    foreach ($name in @($start.EnvironmentVariables.Keys) -like 'COMPORTA_*') { $start.EnvironmentVariables.Remove($name) }
    foreach ($name in $Settings.Keys) { $start.EnvironmentVariables[$name] = $Settings[$name] }
    $process = [System.Diagnostics.Process]::Start($start)
    try {
        $process.StandardInput.Close() # nobody answers a question
        $said = $process.StandardOutput.ReadToEndAsync(), $process.StandardError.ReadToEndAsync()
        while (-not $process.WaitForExit(100)) { } # in pieces, so that Ctrl-C comes through
        @{ Status = $process.ExitCode; Output = (($said.Result -join "`n").Trim() -replace '\s*\n\s*', ' ') }
    } finally {
        if (-not $process.HasExited) { $process.Kill() }
        $process.Dispose()
    }
}

# ConvertTo-Argument quotes an argument as programs read it: a backslash counts only before a quote, and is then doubled.
function ConvertTo-Argument([string] $Text) {
    '"' + ($Text -replace '(\\*)"', '$1$1\"' -replace '(\\+)$', '$1$1') + '"'
}
