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
function Complete-Invitation($Invitation, [string] $Program, [string] $StateDirectory, [securestring] $RecoveryKey, [switch] $Overwrite) {
    $file, $before = [System.IO.Path]::GetTempFileName(), $env:COMPORTA_RECOVERY_KEY
    $arguments = 'member', 'join', '--server', (Get-Session).Endpoint, '--state', $StateDirectory, '--name', $Invitation.Name, '--enrolment-token-file', $file
    if ($Overwrite) { $arguments += '--overwrite' }
    $ErrorActionPreference, $PSNativeCommandUseErrorActionPreference = 'Continue', $false
    try {
        [System.IO.File]::WriteAllText($file, $Invitation.EnrolmentToken)
        $env:COMPORTA_RECOVERY_KEY = ConvertFrom-Secret $RecoveryKey
        $output = & $Program $arguments 2>&1 | ForEach-Object { "$_" }
        $status = $LASTEXITCODE
    } finally {
        $env:COMPORTA_RECOVERY_KEY = $before
        Remove-Item -LiteralPath $file -Force
    }
    if ($status -ne 0) {
        throw (New-Object DataGatewayException 'JoinFailed', "The member was added, but this machine could not join: $($output -join ' ') Try again with -OverwriteExistingGateway.")
    }
    $Invitation.Joined, $Invitation.EnrolmentToken, $Invitation.EnrolmentExpiresAt = $true, $null, $null
}
