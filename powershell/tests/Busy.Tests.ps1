# A service that puts callers off: the commands wait as long as it says and send again.

BeforeAll {
    Set-StrictMode -Version Latest
    Import-Module (Join-Path $PSScriptRoot 'Harness.psm1') -Force
    $stage = Start-TestService @('--rate-limit', '2')
    Connect-TestAdmin | Out-Null
}

AfterAll { Stop-TestService }

Describe 'Too many requests' {
    It 'loses no call to a rate limit, and leaves no trace of it in $Error' {
        $before = $Error.Count
        $clock = [System.Diagnostics.Stopwatch]::StartNew()
        @(1..8 | ForEach-Object { Get-DataGatewayRegion }).Count | Should -Be 8
        $clock.Elapsed.TotalSeconds | Should -BeGreaterThan 1 -Because 'it was put off'
        $Error.Count | Should -Be $before
    }

    It 'sends a text as it is' {
        $made = Invoke-DataGatewayRestMethod -Url v2.0/myorg/principals -Method Post -Body '{"principalType":"App","displayName":"2026-01-31T12:00:00"}' | ConvertFrom-Json -AsHashtable
        $made.displayName | Should -Not -BeNullOrEmpty
        Invoke-DataGatewayRestMethod -Url "v2.0/myorg/principals/$($made.id)" | Should -BeLike '*"2026-01-31T12:00:00"*'
    }
}
