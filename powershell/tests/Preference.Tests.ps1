# The preferences of the caller: a command of a compiled module sees $WhatIfPreference and its like where it is called, a command of a script module
# sees only its own module's. Nothing here reaches a network: what a command sends is written down at the module's door.

BeforeDiscovery {
    $root = Join-Path $PSScriptRoot '..'
    Import-Module (Join-Path $root 'Comporta/Comporta.psd1') -Force
    Import-Module (Join-Path $root 'Compatibility/OnPremisesDataGatewayHAMgmt/OnPremisesDataGatewayHAMgmt.psd1') -Force
    $commands = @(Get-Command -Module Comporta, OnPremisesDataGatewayHAMgmt -CommandType Function | ForEach-Object { @{ Name = $_.Name; Tries = $_.Parameters.ContainsKey('WhatIf') } })
    $changing = @($commands | Where-Object { $_.Tries })
}

BeforeAll {
    Set-StrictMode -Version Latest
    $root = Join-Path $PSScriptRoot '..'
    Import-Module (Join-Path $root 'Comporta/Comporta.psd1') -Force
    Import-Module (Join-Path $root 'Compatibility/OnPremisesDataGatewayHAMgmt/OnPremisesDataGatewayHAMgmt.psd1') -Force

    # Connect-Recorder connects to a service that is not there: every request is written down, and answered with whatever a command reads on its way.
    function Connect-Recorder {
        & (Get-Module Comporta) {
            $script:Sent = New-Object 'System.Collections.Generic.List[string]'
            $script:Session = @{ Endpoint = 'http://recorder'; Environment = 'Public'; ApplicationId = 'x'; Tenant = ''; Token = (ConvertTo-Secret 'x.y.z'); RenewAt = [datetime]::MaxValue; Claims = $null }
            function script:Invoke-Gateway([string] $Method, [string] $Path, $Body, [int] $TimeoutSeconds) {
                $script:Sent.Add($Method)
                [pscustomobject] @{ name = 'x'; memberGateways = @(); value = @([pscustomobject] @{ regionKey = 'home'; region = 'Home'; backendUri = 'http://recorder'; isDefaultPowerBIRegion = $true }) }
            }
            function script:Open-Gateway([string] $Method, [string] $Path, $Body) { $script:Sent.Add($Method); throw 'recorded' }
        }
    }

    # Get-Change returns what changed since the last time: the methods of requests that do more than read, and the region of the older module.
    function Get-Change {
        & (Get-Module Comporta) { $script:Sent; $script:Sent.Clear() } | Where-Object { $_ -ne 'GET' }
        & (Get-Module OnPremisesDataGatewayHAMgmt) { $script:Selected; $script:Selected = '' } | Where-Object { $_ }
    }

    # New-Argument makes an argument for a mandatory parameter.
    function New-Argument($Parameter) {
        $words = $Parameter.Attributes | Where-Object { $_ -is [System.Management.Automation.ValidateSetAttribute] }
        if ($words) { return $words.ValidValues[0] }
        if ($Parameter.ParameterType.IsEnum) { return [System.Enum]::GetNames($Parameter.ParameterType)[0] }
        if ($Parameter.Name -like '*RecoveryKey') { return ConvertTo-SecureString 'a-key-for-nothing' -AsPlainText -Force }
        if ($Parameter.ParameterType -eq [guid]) { return [guid]::NewGuid() }
        'x'
    }

    # Get-Argument makes what a command needs for changing something.
    function Get-Argument([string] $Name) {
        $given = @{}
        $more = @{ 'Invoke-DataGatewayQuery' = @{ AllowWrite = $true }; 'Invoke-DataGatewayRestMethod' = @{ Method = 'Post' }; 'Set-DataGatewayClusterMember' = @{ Description = 'x' }
            'Set-OnPremisesDataGateway' = @{ MemberStatus = 'None' }; 'Set-OnPremisesDataGatewayRegion' = @{ Region = 'Home' } }[$Name]
        if ($more) { $given += $more }
        $command = Get-Command $Name
        $set = $command.ParameterSets | Where-Object { $_.IsDefault -or $command.ParameterSets.Count -eq 1 }
        foreach ($p in $set.Parameters | Where-Object IsMandatory) { $given[$p.Name] = New-Argument $command.Parameters[$p.Name] }
        $given
    }

    # Invoke-Caller stands for a function of the caller's. What a command says after its request does not matter here.
    function Invoke-Caller {
        [CmdletBinding(SupportsShouldProcess)]
        param([string] $Name, [hashtable] $Given)
        try { & $Name @Given 6>$null | Out-Null } catch { if ("$_" -like '*NonInteractive*') { throw } }
    }

    # Set-Interactive says whether somebody seems to be there to be asked. Nobody is: the question itself is an error.
    function Set-Interactive([bool] $Value) { & (Get-Module Comporta) { param($value) $script:Interactive = $value; function script:Test-Interactive { $script:Interactive } } $Value }

    # Invoke-Elsewhere runs a script in a session of its own, outside of the try in which Pester runs a test.
    function Invoke-Elsewhere([string] $Script) {
        $path, $shell = $env:PSModulePath, [powershell]::Create([initialsessionstate]::CreateDefault())
        try {
            $env:PSModulePath = (Resolve-Path (Join-Path $root 'Compatibility')).Path + [System.IO.Path]::PathSeparator + $path
            $shell.AddScript($Script).Invoke() | ForEach-Object { "$_" }
            $shell.Streams.Error | ForEach-Object { "error: $($_.FullyQualifiedErrorId)" }
        } finally {
            $env:PSModulePath = $path
            $shell.Dispose()
        }
    }
}

AfterAll { Get-Module Comporta, OnPremisesDataGatewayHAMgmt | Remove-Module -Force }

Describe 'Preferences of the caller' {
    BeforeEach { Connect-Recorder; Set-Interactive $false }

    It '<Name> sends no change when it is called from a function with -WhatIf, or under $WhatIfPreference' -ForEach $changing {
        $given = Get-Argument $Name
        Invoke-Caller $Name $given -WhatIf
        Get-Change | Should -BeNullOrEmpty -Because 'the function was called with -WhatIf'
        & { $WhatIfPreference = $true; Invoke-Caller $Name $given }
        & { $WhatIfPreference = $true; & $Name @given } | Out-Null
        Get-Change | Should -BeNullOrEmpty -Because '$WhatIfPreference holds'
        & { $WhatIfPreference = $true; try { & $Name @given -WhatIf:$false 6>$null | Out-Null } catch { $null = $_ } }
        Get-Change | Should -Not -BeNullOrEmpty -Because 'what is said to the command itself wins'
        Invoke-Caller $Name $given
        Get-Change | Should -Not -BeNullOrEmpty -Because 'nobody said -WhatIf'
    }

    It '<Name> asks when it is called from a function with -Confirm, and does not with -Confirm:$false or $ConfirmPreference None' -ForEach $changing {
        $given = Get-Argument $Name
        { Invoke-Caller $Name $given -Confirm } | Should -Throw '*NonInteractive*'
        { & { $ConfirmPreference = 'Low'; Invoke-Caller $Name $given } } | Should -Throw '*NonInteractive*'
        Get-Change | Should -BeNullOrEmpty
        Set-Interactive $true
        if ($Name -like 'Remove-DataGateway*') { { Invoke-Caller $Name $given } | Should -Throw '*NonInteractive*' -Because 'somebody could answer' }
        Invoke-Caller $Name $given -Confirm:$false
        Get-Change | Should -Not -BeNullOrEmpty
        & { $ConfirmPreference = 'None'; Invoke-Caller $Name $given }
        Get-Change | Should -Not -BeNullOrEmpty
    }

    It '<Name> takes the preferences before it does anything' -ForEach $commands {
        $body = (Get-Command $Name).ScriptBlock.Ast.Body
        $first = if ($body.BeginBlock) { $body.BeginBlock.Statements[0] } else { $body.EndBlock.Statements[0] }
        $first.Extent.Text | Should -BeExactly 'Use-CallerPreference $PSCmdlet'
    }

    It 'warns, or does not, as the caller wants' {
        # Connecting warns of clear text before it sends anything.
        & (Get-Module Comporta) { function script:Update-Token { throw 'no further' } }
        function Connect-Clear {
            [CmdletBinding()]
            param()
            try { Connect-DataGatewayServiceAccount -Endpoint http://gateway.example.com -ApplicationId x -ClientSecret (ConvertTo-SecureString 'x' -AsPlainText -Force) 3>&1 } catch { "$_" }
        }
        Connect-Clear | Should -HaveCount 2
        Connect-Clear -WarningAction SilentlyContinue | Should -Be 'no further'
        & { $WarningPreference = 'SilentlyContinue'; Connect-Clear } | Should -Be 'no further'
        & { $WarningPreference = 'Stop'; Connect-Clear } | Select-Object -Last 1 | Should -BeLike '*WarningPreference*clear text*'
    }

    It 'says the rest as the caller wants: verbose, information, debug, progress' {
        & (Get-Module Comporta) {
            function script:Open-Gateway { Write-Verbose 'verbose'; Write-Information 'information'; Write-Debug 'debug'; Write-Warning "progress $ProgressPreference"; throw 'no further' }
        }
        function Read-Said { [CmdletBinding()] param() try { Invoke-DataGatewayRestMethod /x *>&1 | ForEach-Object { "$_" } } catch { "$_" } }
        & { $VerbosePreference, $InformationPreference, $DebugPreference, $ProgressPreference = 'Continue', 'Ignore', 'Continue', 'SilentlyContinue'; Read-Said } |
            Should -Be 'verbose', 'debug', 'progress SilentlyContinue', 'no further'
        Read-Said -Verbose | Should -Be 'verbose', 'information', 'progress Continue', 'no further'
    }

    It 'ends, goes on or keeps silent at a failure as the caller''s $ErrorActionPreference says' {
        $failing = "Import-Module DataGateway; function Read-Old { [CmdletBinding()] param() Get-DataGatewayCluster; 'went on' };"
        Invoke-Elsewhere "$failing Read-Old" | Should -Be 'went on', 'error: NotConnected,Get-DataGatewayCluster'
        Invoke-Elsewhere "$failing `$ErrorActionPreference = 'SilentlyContinue'; Read-Old" | Should -Be 'went on'
        Invoke-Elsewhere "$failing Read-Old -ErrorAction SilentlyContinue" | Should -Be 'went on'
        Invoke-Elsewhere "$failing try { Read-Old -ErrorAction Stop } catch { 'ended' }" | Should -Be 'ended'
    }

    It 'holds for <_>, the name by which old scripts import' -ForEach 'DataGateway', 'DataGateway.Profile', 'OnPremisesDataGatewayHAMgmt' {
        Invoke-Elsewhere "Import-Module $_; function Remove-Old { [CmdletBinding(SupportsShouldProcess)] param() Remove-DataGatewayCluster -GatewayClusterId ([guid]::NewGuid()) }
            try { Remove-Old -WhatIf; 'tried'; Remove-Old } catch { `$_.FullyQualifiedErrorId }" | Should -Be 'tried', 'NotConnected,Remove-DataGatewayCluster'
    }
}
