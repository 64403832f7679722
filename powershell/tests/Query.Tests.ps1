# Invoke-DataGatewayQuery: values, streams, failures, and what leaving early does; and all commands before a script that fails, and in the cultures where
# commas, dots, letters and years differ.

BeforeDiscovery {
    Import-Module (Join-Path $PSScriptRoot '../Comporta/Comporta.psd1') -Force
    $answering = @(Get-Command -Module Comporta -CommandType Function | Where-Object { $_.OutputType }).Name
    $noPostgres = -not $env:COMPORTA_TEST_POSTGRES
}

BeforeAll {
    Set-StrictMode -Version Latest
    Import-Module (Join-Path $PSScriptRoot 'Harness.psm1') -Force
    $stage = Start-TestService
    Connect-TestAdmin | Out-Null
    $id = New-TestCluster 'Queries' 'second'
    $source = New-TestSource $id
    $of = @{ GatewayClusterId = $id; GatewayClusterDatasourceId = $source.Id }
    $pg = $null
    if ($env:COMPORTA_TEST_POSTGRES) { $pg = New-TestPostgres $id }
}

AfterAll { Stop-TestService }

Describe 'Invoke-DataGatewayQuery' {
    It 'keeps values: 64-bit integers, decimals, texts like dates, binary, null, names that clash' {
        $row = Invoke-DataGatewayQuery @of -Query "select 9223372036854775807 as big, '2026-01-31T12:00:00' as text, x'00ff' as bytes, null as empty, 1.5 as real, 'é✓' as ""größe"", 1 as a, 2 as A, 3 as a"
        $row.big | Should -BeOfType [long]
        $row.big | Should -Be ([long]::MaxValue)
        $row.text | Should -BeOfType [string]
        $row.text, $row.bytes, $row.empty, $row.real, $row.'größe' | Should -Be '2026-01-31T12:00:00', 'AP8=', $null, 1.5, 'é✓'
        @($row.PSObject.Properties.Name).Count | Should -Be 9
        $row.a | Should -Be 1
        $row.A_2, $row.A_2_2 | Should -Contain 2
    }

    It 'takes parameters, writes when allowed, and refuses to otherwise' {
        (Invoke-DataGatewayQuery @of -Query 'create table t (id integer, name text)' -AllowWrite).RowsAffected | Should -Be 0
        (Invoke-DataGatewayQuery @of -Query 'insert into t values (?, ?), (?, ?)' -Parameters 1, 'ä', 2, $null -AllowWrite).RowsAffected | Should -Be 2
        { Invoke-DataGatewayQuery @of -Query 'delete from t' } | Should -Throw -ErrorId 'ReadOnlyViolation,*'
        Invoke-DataGatewayQuery @of -Query 'delete from t' -AllowWrite -WhatIf
        $rows = @(Invoke-DataGatewayQuery @of -Query 'select * from t order by id')
        $rows.Count, $rows[0].name, $rows[1].name | Should -Be 2, 'ä', $null
        @(Invoke-DataGatewayQuery @of -Query 'select * from t where id = ?' -Parameters 2).Count | Should -Be 1
        @(Invoke-DataGatewayQuery @of -Query 'select * from t where id > 5').Count | Should -Be 0
        @(Invoke-DataGatewayQuery @of -Query 'select * from t' -MaxRows 1).Count | Should -Be 1
        @(Invoke-DataGatewayQuery @of -Query 'select * from t' -Parameters $null).Count | Should -Be 2
    }

    It 'says the database''s own error, and who answered' {
        { Invoke-DataGatewayQuery @of -Query 'select * from nowhere' } | Should -Throw '*no such table: nowhere*' -ErrorId 'DM_GWPipeline_Gateway_MashupDataAccessError,Invoke-DataGatewayQuery'
        Invoke-DataGatewayQuery @of -Query 'select 1' -InformationVariable served -Verbose 4>&1 | Where-Object { $_ -is [System.Management.Automation.VerboseRecord] } | Should -BeLike 'Member * answers*'
        $served.MessageData.MemberGatewayId | Should -Be "$id"
    }

    It 'ends with an error, not short, when the answer fails after its first row' {
        $query = 'with recursive c(n) as (select 1 union all select n + 1 from c where n < 60000) select case when n < 60000 then n else json(''{'') end as n from c'
        $seen = @{ Rows = 0 }
        { Invoke-DataGatewayQuery @of -Query $query | ForEach-Object { $seen.Rows++ } } | Should -Throw '*malformed JSON*' -ErrorId 'DM_GWPipeline_Gateway_MashupDataAccessError,*'
        $seen.Rows | Should -BeGreaterThan 0
        $seen.Rows | Should -BeLessThan 60000
    }

    It 'leaves a row whose only column is called error alone' {
        $query = 'select json(''{"code":"x","message":"y"}'') as error union all select json(''{"code":"z","message":"y"}'')'
        @(Invoke-DataGatewayQuery @of -Query $query).Count | Should -Be 2
    }

    It 'stops the query at the database at once when the pipeline stops, and holds nothing' -Skip:$noPostgres {
        # After its third row this query sleeps for minutes: whoever waits for the rest, or lets it run on, is found out.
        $mark = [guid]::NewGuid().ToString('n')
        $query = "select g, repeat('x', 9000) as pad, pg_sleep(case when g > 3 then 600 else 0 end)::text as s, '$mark' as mark from (select generate_series(1, 10) as g) t"
        $clock = [System.Diagnostics.Stopwatch]::StartNew()
        foreach ($round in 1..5) { ($pg | Invoke-DataGatewayQuery -Query $query | Select-Object -First 1).g | Should -Be 1 }
        $watch = "select count(*) as n from pg_stat_activity where state = 'active' and pid <> pg_backend_pid() and query like '%$mark%'"
        Wait-Until 'the database is idle' { ($pg | Invoke-DataGatewayQuery -Query $watch).n -eq 0 }
        Wait-Until 'no member is busy' { (Get-DataGatewayClusterMember -GatewayClusterId $id | Measure-Object -Property RunningRequests -Sum).Sum -eq 0 }
        Write-Host ("    five queries begun and stopped in {0:n1} s" -f $clock.Elapsed.TotalSeconds)
        $clock.Elapsed.TotalSeconds | Should -BeLessThan 60
    }

    It 'takes typed parameters and gives typed values back' -Skip:$noPostgres {
        $moment = [datetime]::SpecifyKind([datetime] '2026-01-31T12:00:00.123', 'Utc')
        $key = [guid]::NewGuid()
        $query = 'select $1::timestamptz as t, $2::date as d, $3::numeric as n, $4::int as i, $5::int as whole, $6::uuid as u, $7::interval as span, $8::bool as b, $9::int as nothing, $10::text as text, $11::bigint as big, $12::numeric as huge, $13::float8 as f'
        $row = $pg | Invoke-DataGatewayQuery $query -Parameters $moment, ([datetime] '2026-02-28'), 1234567.8900d, ([decimal] 5), ([double] 7), $key, ([timespan] '01:30:00'), $true, $null, "q'uote", ([long]::MaxValue), ([decimal]::MaxValue), 0.1
        $row.t, $row.d, $row.n | Should -Be '2026-01-31T12:00:00.123+00:00', '2026-02-28', '1234567.8900'
        $row.i, $row.whole, $row.big, $row.f | Should -Be 5, 7, ([long]::MaxValue), 0.1
        $row.u, $row.span, $row.text | Should -Be "$key", '01:30:00', "q'uote"
        $row.b | Should -BeOfType [bool]
        $row.nothing | Should -Be $null
        [decimal]::Parse($row.huge, [cultureinfo]::InvariantCulture) | Should -Be ([decimal]::MaxValue)
        foreach ($name in 't', 'd', 'n') { $row.$name | Should -BeOfType [string] -Because 'its digits and its offset must not be lost' }
    }

    It 'ends with the database''s error, code and request, when row 60,000 of 100,000 fails' -Skip:$noPostgres {
        $seen, $caught = @{ Rows = 0 }, $null
        try { $pg | Invoke-DataGatewayQuery 'select 1 / (60000 - g) as x, repeat(''x'', 50) as pad from generate_series(1, 100000) g' | ForEach-Object { $seen.Rows++ } } catch { $caught = $_ }
        $seen.Rows | Should -BeGreaterThan 0
        $seen.Rows | Should -BeLessThan 60000
        $caught.Exception.Message | Should -BeLike '*division by zero*'
        $caught.FullyQualifiedErrorId | Should -Be 'DM_GWPipeline_Gateway_MashupDataAccessError,Invoke-DataGatewayQuery'
        $caught.Exception.RequestId | Should -Match '^[0-9a-f-]{36}$'
        (Resolve-DataGatewayError -Last).RequestId | Should -Be $caught.Exception.RequestId
        $rows = @($pg | Invoke-DataGatewayQuery 'select 1 / (60000 - g) as x from generate_series(1, 100000) g' -ErrorAction SilentlyContinue -ErrorVariable failed)
        $failed.Count | Should -Be 1 -Because "whoever says SilentlyContinue gets $($rows.Count) rows, and the error in his variable"
    }

    It 'runs a million rows in constant memory' -Skip:$noPostgres {
        $query = 'select g as id, md5(g::text) as text, g * 1.5 as amount from generate_series(1, {0}) g'
        $pg | Invoke-DataGatewayQuery -Query ($query -f 50000) | Measure-Object | Out-Null
        [GC]::Collect()
        $before = [GC]::GetTotalMemory($true)
        $peak = @{ Bytes = 0 }
        $clock = [System.Diagnostics.Stopwatch]::StartNew()
        $count = ($pg | Invoke-DataGatewayQuery -Query ($query -f 1000000) |
                ForEach-Object { if ($_.id % 200000 -eq 0) { $peak.Bytes = [Math]::Max($peak.Bytes, [GC]::GetTotalMemory($true)) }; $_ } | Measure-Object).Count
        $count | Should -Be 1000000
        Write-Host ("    {0:n0} rows/s, {1:n1} MB more in use than before" -f ($count / $clock.Elapsed.TotalSeconds), (($peak.Bytes - $before) / 1MB))
        $peak.Bytes - $before | Should -BeLessThan 30MB
    }
}

Describe 'Failures of the script' {
    BeforeAll {
        $user = New-TestPrincipal 'Installer'
        Set-DataGatewayInstaller -PrincipalObjectIds $user.Id -Operation Add -GatewayType Resource
        try { throw 'something to resolve' } catch { $resolvable = $_ }
        $login = @{ ApplicationId = $stage.AdminId; ClientSecret = (Get-Secret $stage.AdminSecret) }
        $key = @{ RecoveryKey = (Get-TestKey) }
        # What a command needs for an answer; the others need nothing.
        $arguments = @{
            'Add-DataGatewayCluster' = { $key + @{ GatewayName = [guid]::NewGuid() } }; 'Add-DataGatewayClusterMember' = { $key + @{ GatewayClusterId = $id; GatewayName = [guid]::NewGuid() } }
            'Restore-DataGatewayClusterMember' = { $key + @{ GatewayClusterId = $id; MemberGatewayId = $id } }; 'Connect-DataGatewayServiceAccount' = { $login }
            'New-DataGatewayClusterDatasource' = { @{ GatewayClusterId = $id; DatasourceName = [guid]::NewGuid(); DatasourceType = 'Web'; ConnectionDetails = @{ url = 'https://example.com' } } }
            'Get-DataGatewayClusterDatasourceStatus' = { $of }; 'Get-DataGatewayClusterDatasourceUser' = { $of }; 'Invoke-DataGatewayQuery' = { $of + @{ Query = 'select 1 as n union all select 2' } }
            'Get-DataGatewayClusterDatasource' = { @{ GatewayClusterId = $id } }; 'Get-DataGatewayClusterMember' = { @{ GatewayClusterId = $id } }
            'Get-DataGatewayClusterStatus' = { @{ GatewayClusterId = $id } }; 'Test-DataGatewayRoute' = { @{ GatewayClusterId = $id } }
            'Invoke-DataGatewayRestMethod' = { @{ Url = '/v2.0/myorg/gatewayRegions' } }; 'Resolve-DataGatewayError' = { @{ Error = $resolvable } }
        }
    }

    AfterAll { Get-DataGatewayCluster | Where-Object Id -ne $id | Remove-DataGatewayCluster -Confirm:$false }

    It '<_> does not take one further down the pipeline for its own' -ForEach $answering {
        foreach ($way in 'SilentlyContinue', 'Ignore', 'Continue', 'Stop') {
            $given = @{}
            if ($arguments.ContainsKey($_)) { $given = & $arguments[$_] }
            { & $_ @given -ErrorAction $way | ForEach-Object { throw 'mine' } } | Should -Throw 'mine' -ErrorId 'mine' -Because "-ErrorAction $way is about the command"
        }
    }
}

Describe 'Cultures' {
    BeforeAll { $usual = [cultureinfo]::CurrentCulture, [cultureinfo]::CurrentUICulture }

    AfterEach { [cultureinfo]::CurrentCulture, [cultureinfo]::CurrentUICulture = $usual }

    It 'means the same in <_>' -ForEach 'de-DE', 'tr-TR', 'pt-PT', 'ar-SA', 'th-TH' {
        # A machine without ICU has the invariant culture only, and under its own name: commas can be made by hand, letters and calendars cannot.
        $culture = [cultureinfo]::new($_)
        if ($_ -eq 'de-DE') { $culture.NumberFormat.NumberDecimalSeparator, $culture.NumberFormat.NumberGroupSeparator = ',', '.' }
        [cultureinfo]::CurrentCulture, [cultureinfo]::CurrentUICulture = $culture, $culture

        # Words that hold an I, in the wrong case.
        (Get-DataGatewayCluster -Scope INDIVIDUAL).Id | Should -Be $id
        Connect-DataGatewayServiceAccount -ENVIRONMENT PUBLIC -ApplicationId $stage.AdminId.ToUpperInvariant() -ClientSecret (Get-Secret $stage.AdminSecret) | Should -Not -BeNullOrEmpty
        (Get-DataGatewayCluster -RegionKey HOME -GatewayClusterId $id.ToString().ToUpperInvariant()).Name | Should -BeExactly 'Queries'
        foreach ($word in 'FAILOVER', 'distributeevenly', 'failover') { Set-DataGatewayCluster -GatewayClusterId $id -LoadBalancingSelectorType $word }
        (Get-DataGatewayCluster -GatewayClusterId $id).LoadBalancingSelectorType | Should -BeExactly 'Failover'
        $user = New-TestPrincipal 'Iıİi'
        Add-DataGatewayClusterUser -GatewayClusterId $id -PrincipalObjectId $user.Id -Role connectioncreatorwithreshare -AllowedDataSourceTypes EXTENSION, 'sql', 12
        ((Get-DataGatewayCluster -GatewayClusterId $id).Permissions | Where-Object Id -eq $user.Id).AllowedDataSourceTypes | Should -Be 'Extension', 'Sql', 'PostgreSql'
        Remove-DataGatewayClusterUser -GatewayClusterId $id -PrincipalObjectId $user.Id
        Invoke-DataGatewayRestMethod -Method DELETE "v2.0/myorg/principals/$($user.Id)" | Should -BeNullOrEmpty

        # Fractions and times, both ways.
        $row = Invoke-DataGatewayQuery @of -Query 'select ? + 0.25 as sum, cast(? as text) as fraction, cast(? as text) as time, 1234567.5 as big' -Parameters 1.5, ([decimal] 2.5), ([datetime]::new(2026, 1, 31, 12, 0, 0))
        $row.sum, $row.fraction, $row.time, $row.big | Should -Be 1.75, '2.5', '2026-01-31T12:00:00', 1234567.5
        Set-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $id -CPUUtilizationPercentageThreshold 90 -ResetLimits
        $made = (Get-DataGatewayCluster -GatewayClusterId $id).CreatedDateTime
        ([datetime]::UtcNow - $made).TotalHours | Should -BeLessThan 1
        @(Get-DataGatewayAuditEvent -GatewayClusterId $id -Since ([datetime]::Now.AddHours(-1)) -Action CLUSTER.CREATE.NOT).Count | Should -Be 0
        @(Get-DataGatewayAuditEvent -GatewayClusterId $id -Since ([datetime]::Now.AddHours(-1)) -Action cluster.create).Count | Should -Be 1
        @(Get-DataGatewayAuditEvent -GatewayClusterId $id -Since ([datetime]::Now.AddHours(1))).Count | Should -Be 0
        { Get-DataGatewayCluster -GatewayClusterId ([guid]::NewGuid()) } | Should -Throw -ErrorId 'PowerBIEntityNotFound,*'
        Get-DataGatewayClusterMember -GatewayClusterId $id | Out-String | Should -BeLike '*RunningRequests*'
    }

    It 'loads, logs in and answers in a Turkish shell' {
        $script = "`$env:COMPORTA_ENDPOINT = '$($stage.Endpoint)'; `$env:COMPORTA_CLIENT_ID = '$($stage.AdminId)'; `$env:COMPORTA_CLIENT_SECRET = '$($stage.AdminSecret)'
            Import-Module '$PSScriptRoot/../Comporta/Comporta.psd1'
            [void] (Connect-DataGatewayServiceAccount)
            (GET-DATAGATEWAYCLUSTER -scope organization -id $id | Get-DataGatewayClusterDatasource | Where-Object DatasourceType -eq 'extension' | Invoke-DataGatewayQuery 'select 1.5 as x').x.ToString([cultureinfo]::InvariantCulture)
            (Get-Help about_Comporta).Length -gt 100; (Get-Help Get-DataGatewayCluster).Synopsis"
        $before = $env:LC_ALL
        try {
            $env:LC_ALL = 'tr_TR.UTF-8'
            (Invoke-Fresh $script).Text | Should -Be "1.5`nTrue`nLists gateway clusters, or returns one."
        } finally { $env:LC_ALL = $before }
    }
}
