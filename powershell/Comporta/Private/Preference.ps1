# The caller's preferences. A command of a script module sees its own module's $WhatIfPreference, $VerbosePreference and so on, not those of the
# function or script that calls it; commands of a compiled module, such as Microsoft's, see the caller's. Under -WhatIf that is all the difference.

# Preferences are the variables, each with the parameter that wins over it. $ErrorActionPreference is not among them: failures are terminating errors,
# and reach the caller's own scope, where his preference decides.
$script:Preferences = @{
    WhatIfPreference      = 'WhatIf'
    ConfirmPreference     = 'Confirm'
    VerbosePreference     = 'Verbose'
    DebugPreference       = 'Debug'
    WarningPreference     = 'WarningAction'
    InformationPreference = 'InformationAction'
    ProgressPreference    = 'ProgressAction'
}

# Use-CallerPreference takes the caller's preferences for the command that runs it. Every command begins with it: PowerShell reads $WhatIfPreference
# and $ConfirmPreference once for each command, at the first question.
function Use-CallerPreference([System.Management.Automation.PSCmdlet] $Cmdlet) {
    foreach ($name in $script:Preferences.Keys) {
        if ($Cmdlet.MyInvocation.BoundParameters.ContainsKey($script:Preferences[$name])) { continue }
        $value = $Cmdlet.SessionState.PSVariable.GetValue($name) # a command's SessionState is its caller's
        # Set-Variable itself must set, whatever the preferences are.
        if ($null -ne $value) { Set-Variable -Name $name -Value $value -Scope 1 -WhatIf:$false -Confirm:$false }
    }
}
