# Long lists. The Go test fills a service with clusters, which making one by one would take minutes, and runs this against it.

BeforeDiscovery {
    $empty = -not $env:COMPORTA_TEST_MANY
}

BeforeAll {
    Set-StrictMode -Version Latest
    $ErrorActionPreference = 'Stop'
    Import-Module (Join-Path $PSScriptRoot '../Comporta/Comporta.psd1') -Force
    $ProgressPreference = 'SilentlyContinue'
}

AfterAll { Get-Module Comporta | Remove-Module }

Describe 'Thousands of clusters' -Skip:$empty {
    BeforeAll {
        [void] (Connect-DataGatewayServiceAccount)
        $many = [int] $env:COMPORTA_TEST_MANY
        $all = @{ Ids = $null } # the ids of one list, for the tests that follow
        # Fetch pages through a list as clients do.
        function Get-Page([int] $Top, [int] $Skip) {
            (Invoke-RestMethod "$env:COMPORTA_ENDPOINT/v2.0/myorg/gatewayClusters?`$top=$Top&`$skip=$Skip" -Headers (Get-DataGatewayAccessToken)).value
        }
    }

    It 'R45 lists each cluster once, twice the same, in bounded time and memory' {
        [void] (Get-DataGatewayRegion)
        $before = [GC]::GetTotalMemory($true)
        $clock = [System.Diagnostics.Stopwatch]::StartNew()
        $first = @(Get-DataGatewayCluster)
        $seconds, $held = $clock.Elapsed.TotalSeconds, ([GC]::GetTotalMemory($true) - $before)
        Write-Host ("    {0:n0} clusters in {1:n2} s, {2:n0} MB held by the list" -f $first.Count, $seconds, ($held / 1MB))
        $first.Count | Should -Be $many
        @($first.Id | Select-Object -Unique).Count | Should -Be $many
        $first[$many - 1].MemberGateways[0].Name | Should -Be "cluster $($many - 1)" -Because 'the oldest comes first'
        $all.Ids = $first.Id -join ','
        (Get-DataGatewayCluster).Id -join ',' | Should -BeExactly $all.Ids
        $held | Should -BeLessThan 500MB
    }

    It 'R45 stays complete while another client inserts and deletes' {
        $job = Start-ThreadJob -ArgumentList (Resolve-Path (Join-Path $PSScriptRoot '../Comporta/Comporta.psd1')) {
            Import-Module $args[0]
            [void] (Connect-DataGatewayServiceAccount)
            $key = ConvertTo-SecureString 'a-recovery-key' -AsPlainText -Force
            1..3 | ForEach-Object { Remove-DataGatewayCluster -Id (Add-DataGatewayCluster -Name "passing $_" -RecoveryKey $key).ClusterId -Confirm:$false }
        }
        do {
            (Get-DataGatewayCluster -Scope Organization | Where-Object Name -notlike 'passing*').Id -join ',' | Should -BeExactly $all.Ids
        } while ($job.State -in 'NotStarted', 'Running')
        Receive-Job $job -AutoRemoveJob -Wait
    }

    It 'R45 pages of <_> make the same list' -ForEach 1000, 5000 {
        $paged, $skip = @(), 0
        do {
            $page = @(Get-Page $_ $skip)
            $paged += $page
            $skip += $_
        } while ($page.Count -eq $_)
        $paged.id -join ',' | Should -BeExactly $all.Ids
    }

    It 'R45 lists <_> clusters to somebody who has a role on so many' -ForEach 1, 100, 101, 200, 201, 1001 {
        # The Go test gave this application a role on the first clusters.
        [void] (Connect-DataGatewayServiceAccount -ApplicationId ('00000000-0000-4000-8000-{0:d12}' -f $_) -ClientSecret (ConvertTo-SecureString $env:COMPORTA_CLIENT_SECRET -AsPlainText -Force))
        try {
            $mine = @(Get-DataGatewayCluster)
            $mine.Count, @($mine.Id | Select-Object -Unique).Count, $mine[-1].Name | Should -Be $_, $_, "cluster $($_ - 1)"
        } finally { [void] (Connect-DataGatewayServiceAccount) }
    }

    It 'shows progress on the way' {
        $shell = [powershell]::Create()
        try {
            [void] $shell.AddScript("Import-Module '$PSScriptRoot/../Comporta/Comporta.psd1'; [void] (Connect-DataGatewayServiceAccount); Get-DataGatewayCluster | Select-Object -First 1000 | Measure-Object").Invoke()
            $shown = @($shell.Streams.Progress | Where-Object Activity -eq 'Reading clusters')
            $shown.Count | Should -BeGreaterThan 2
            $shown.StatusDescription | Should -Contain "250 of $many"
        } finally { $shell.Dispose() }
    }
}
