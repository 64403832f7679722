# What scripts from the field do, in our own words; each test bears the number of its case.

BeforeAll {
    Set-StrictMode -Version Latest
    Import-Module (Join-Path $PSScriptRoot 'Harness.psm1') -Force
    $stage = Start-TestService
    Connect-TestAdmin | Out-Null
}

AfterAll { Stop-TestService }

Describe 'Scripts that read' {
    BeforeAll {
        $two = New-TestCluster 'Status (two)' 'second'
        $source = New-TestSource $two
    }

    It 'R01 logs in only when the token command throws, and prints a table of members' {
        Disconnect-DataGatewayServiceAccount
        $loggedIn = $false
        try { Get-DataGatewayAccessToken | Out-Null } catch {
            $loggedIn = $true
            Login-DataGatewayServiceAccount -ApplicationId $stage.AdminId -ClientSecret (Get-Secret $stage.AdminSecret) -WarningAction SilentlyContinue | Out-Null
        }
        $loggedIn | Should -BeTrue
        $rows = Get-DataGatewayCluster | ForEach-Object {
            $cluster = $_
            $_ | Select-Object -ExpandProperty MemberGateways | Select-Object @{ n = 'Cluster'; e = { $cluster.Name } }, Id, Name, Status, Version, VersionStatus, State,
            @{ n = 'Machine'; e = { ($_.Annotation | ConvertFrom-Json).gatewayMachine } }
        }
        @($rows).Count | Should -Be 2
        $rows[0].Machine | Should -Not -BeNullOrEmpty
        $rows.Status | Should -Be 'Live', 'Live'
    }

    It 'R03 reads members with -ExpandProperty twice, and tells who is primary' {
        Connect-DataGatewayServiceAccount -ApplicationId $stage.AdminId -ClientSecret (Get-Secret $stage.AdminSecret) -TenantId 'any' | Should -Not -BeNullOrEmpty
        foreach ($round in 1, 2) {
            $members = Get-DataGatewayCluster -Scope Organization | Where-Object Id -eq $two |
                Select-Object @{ n = 'PrimaryId'; e = { $_.Id } }, @{ n = 'Cluster'; e = { $_.Name } } -ExpandProperty MemberGateways
            $members.Count | Should -Be 2
            @($members | Where-Object { $_.Id -eq $_.PrimaryId }).Count | Should -Be 1
        }
        ($members | Where-Object { $_.State -NotContains 'Enabled' }) | Should -BeNullOrEmpty
        (Get-DataGatewayCluster -GatewayClusterId $two -Scope Organization | Select-Object -ExpandProperty MemberGateways | Select-Object Id, Name, Status, Version, State, VersionStatus).Count | Should -Be 2
    }

    It 'R04 collects one status object per cluster, which goes into CSV and JSON whole' {
        $statuses = foreach ($cluster in Get-DataGatewayCluster) { Get-DataGatewayClusterStatus -GatewayClusterId $cluster.Id | Select-Object *, @{ n = 'MemberStatus'; e = { $_.ClusterStatus } } }
        @($statuses).Count | Should -Be 1
        $statuses.MemberStatus | Should -Be 'Live'
        $statuses.GatewayVersion, $statuses.GatewayUpgradeState | Should -Not -Contain $null
        $dead = (Add-DataGatewayCluster -GatewayName 'R04 dead' -RecoveryKey (Get-TestKey)).GatewayObjectId
        $status = Get-DataGatewayClusterStatus -GatewayClusterId $dead
        $status.ClusterStatus | Should -BeExactly 'None'
        ($status.MemberGatewayErrorMessages -join '; ') | Should -BeLike '*DM_GWPipeline_Client_GatewayUnreachable*'
        $json = $status | ConvertTo-Json -WarningVariable cut -WarningAction SilentlyContinue
        $cut | Should -BeNullOrEmpty
        ($json | ConvertFrom-Json).MemberGatewayErrorMessages[0] | Should -Be $status.MemberGatewayErrorMessages[0]
        @(Get-DataGatewayCluster | Get-DataGatewayClusterStatus | Where-Object { $_.ClusterStatus -like 'None' }).Count | Should -Be 1
        Remove-DataGatewayCluster -GatewayClusterId $dead -Confirm:$false
    }

    It 'R08 assumes one cluster and reads scalars from it, its data sources and their users' {
        $user = Connect-DataGatewayServiceAccount -Environment Public -Credential (New-Object pscredential $stage.AdminId, (Get-Secret $stage.AdminSecret))
        "$($user.UserName) $($user.Environment)" | Should -Be "$($stage.AdminId) Public"
        $gateway = Get-DataGatewayCluster
        $gateway.Id | Should -Be $two
        $gateway.Name | Should -BeExactly 'Status (two)'
        $mine = Get-DataGatewayClusterDatasource -GatewayClusterId $gateway.Id
        $mine.Id, $mine.DatasourceName | Should -Be $source.Id, 'db'
        $user = Get-DataGatewayClusterDatasourceUser -GatewayClusterId $gateway.Id -GatewayClusterDatasourceId $mine.Id
        $user.DatasourceUserAccessRight, $user.PrincipalType, $user.Identifier | Should -Be 'Read', 'App', $stage.AdminId
        $user.DisplayName | Should -Not -BeNullOrEmpty
        { Add-DataGatewayClusterUser -GatewayClusterId $two -PrincipalObjectId ([guid]::NewGuid()) -Role Admin } | Should -Throw '*rincipal not found*' -ErrorId 'PrincipalNotFound,Add-DataGatewayClusterUser'
    }

    It 'R10 falls back from Organization to Individual, and takes annotations apart' {
        $c = Get-DataGatewayCluster -GatewayClusterId ([guid] "$two")
        ($c.MemberGateways.Annotation | ConvertFrom-Json).gatewayMachine | Should -HaveCount 2
        @(($c.MemberGateways.Annotation | ConvertFrom-Json) | ForEach-Object { , $_.gatewayContactInformation })[0].GetType().IsArray | Should -BeTrue
        $status = get-datagatewayclusterdatasourcestatus -Scope Organization -GatewayClusterId $two -GatewayClusterDatasourceId $source.Id
        "$status" | Should -Be 'Live'
        (Get-DataGatewayClusterDataSource -Scope Organization -GatewayClusterId $two).CredentialType | Should -Be 'Basic'
        Connect-TestPrincipal (New-TestPrincipal 'R10') | Out-Null
        try {
            $found = 'nothing'
            if (!(Get-DataGatewayCluster -Scope Organization -ErrorAction SilentlyContinue)) { $found = @(Get-DataGatewayCluster) }
            , $found | Should -BeOfType [array]
            $found.Count | Should -Be 0
        } finally { Connect-TestAdmin | Out-Null }
        $reader = New-TestPrincipal 'R10 reader'
        Add-DataGatewayClusterUser -GatewayClusterId $two -PrincipalObjectId $reader.Id -Role Admin
        Connect-TestPrincipal $reader | Out-Null
        try {
            $status = $null
            if (!($status = Get-DataGatewayClusterStatus -Scope Organization -GatewayClusterId $two -ErrorAction SilentlyContinue)) { $status = Get-DataGatewayClusterStatus -GatewayClusterId $two }
            $status.ClusterStatus | Should -Be 'Live'
            $sources = $null
            if (!($sources = Get-DataGatewayClusterDataSource -Scope Organization -GatewayClusterId $two -ErrorAction SilentlyContinue)) { $sources = Get-DataGatewayClusterDataSource -GatewayClusterId $two }
            "$($sources.DatasourceName) $(Get-DataGatewayClusterDataSourceStatus -GatewayClusterId $two -GatewayClusterDatasourceId $sources.Id)" | Should -Be 'db Live'
        } finally { Connect-TestAdmin | Out-Null }
    }

    It 'R11 finds every property under strict mode, and no command that is a phantom' {
        $cluster = Get-DataGatewayCluster -GatewayClusterId $two
        foreach ($name in 'Id', 'Name', 'Description', 'Status', 'Region', 'Type', 'Permissions', 'DataSourceIds', 'MemberGateways', 'Options', 'Datasources', 'VersionStatus', 'ExpiryDate', 'Annotation') {
            $cluster.PSObject.Properties[$name] | Should -Not -BeNullOrEmpty -Because $name
        }
        foreach ($name in 'Id', 'Name', 'Description', 'Status', 'Region', 'Type', 'Version', 'Annotation', 'ClusterId', 'PublicKey', 'ExpiryDate', 'OnPremGatewayUpdateStatus', 'LastGatewayUpdateStatusCheckTime', 'State', 'VersionStatus') {
            $cluster.MemberGateways[0].PSObject.Properties[$name] | Should -Not -BeNullOrEmpty -Because $name
        }
        $one = Get-DataGatewayClusterDatasource -GatewayClusterId $two -GatewayClusterDatasourceId $source.Id
        foreach ($name in 'Id', 'ClusterId', 'ClusterName', 'DatasourceType', 'ConnectionDetails', 'Key', 'CredentialDetails', 'DatasourceName', 'Users', 'DatasourceUsers', 'DatasourceErrorDetails', 'SingleSignOnEnabled', 'CredentialType', 'OnPremGatewayRequired') {
            $one.PSObject.Properties[$name] | Should -Not -BeNullOrEmpty -Because $name
        }
        $cluster.Datasources.Id.ToString() | Should -BeExactly "$($source.Id)"
        @(Get-DataGatewayClusterMember -GatewayClusterId $two).Count | Should -Be 2
        { Get-DataGatewayAvailableUpdates } | Should -Throw '*does not know of newer versions*' -ErrorId 'FeatureNotAvailable,*'
        (Get-DataGatewayClusterDatasourceStatus -GatewayClusterId $two -GatewayClusterDatasourceId $source.Id).Status | Should -Be 'Live'
    }

    It 'R18 keeps the aliases, the default scope and null as unchanged' {
        (Get-DataGatewayCluster -Cluster $two).Id | Should -Be (Get-DataGatewayCluster -Id $two).Id
        Set-DataGatewayCluster -Cluster $two -Description 'kept'
        Set-DataGatewayCluster -GatewayClusterId $two -Name $null -Department 'IT' -Description $null -ContactInformation $null -AllowCloudDatasourceRefresh $null -AllowCustomConnectors $true -LoadBalancingSelectorType random
        Set-DataGatewayCluster -GatewayClusterId $two -LoadBalancingSelectorType $null -ConcurrentOperationLimit $null -QueueTimeoutSeconds $null
        (Get-DataGatewayCluster -Id $two).ConcurrentOperationLimit | Should -Be 40
        $c = Get-DataGatewayCluster -Id $two
        $c.Name, $c.Description, $c.Department, $c.LoadBalancingSelectorType | Should -Be 'Status (two)', 'kept', 'IT', 'Random'
        $c.Options.CloudDatasourceRefresh, $c.Options.CustomConnectors | Should -Be $true, $true
        Set-DataGatewayCluster -GatewayClusterId $two -Description '' -Department ''
        (Get-DataGatewayCluster -Id $two).Description | Should -Be ''
        [System.Enum]::GetNames((Get-Command Get-DataGatewayCluster).Parameters['Scope'].ParameterType) | Should -Be 'Individual', 'Organization'
    }

    It 'R38 catches the failure of a data source with the driver''s own words' {
        $broken = New-DataGatewayClusterDatasource -GatewayClusterId $two -DatasourceName 'R38' -DatasourceType PostgreSql -EncryptedConnection NotEncrypted -ConnectionDetails @{ server = '127.0.0.1:1'; database = 'x' } -Credential (New-Object pscredential 'u', (Get-Secret 'hunter22'))
        $caught = $null
        try { $status = Get-DataGatewayClusterDatasourceStatus -GatewayClusterId $two -GatewayClusterDatasourceId $broken.Id -ErrorAction Stop } catch { $caught = $_ }
        $caught.Exception.Message | Should -BeLike '*connection refused*DM_GWPipeline_Gateway_DataSourceAccessError*'
        $caught.FullyQualifiedErrorId | Should -Be 'DM_GWPipeline_Gateway_DataSourceAccessError,Get-DataGatewayClusterDatasourceStatus'
        $last = Resolve-DataGatewayError -Last
        $last.Message, $last.PowerBIErrorInfo, $last.RequestMethod | Should -Be $caught.Exception.Message, 'DM_GWPipeline_Gateway_DataSourceAccessError', 'GET'
        $last.RequestId | Should -Match '^[0-9a-f-]{36}$'
        Get-AllDataGatewayClustersAndDatasourcesStatus | Where-Object DatasourceStatus -eq 'Error' | ForEach-Object DatasourceName | Should -Be 'R38'
        $broken | Remove-DataGatewayClusterDatasource -Confirm:$false
    }

    It 'R42 finds every cluster exactly once over the regions' {
        $default = (Get-DataGatewayRegion | Where-Object IsDefaultPowerBIRegion -eq $true).RegionKey
        (Get-DataGatewayCluster -Region $default).Id | Should -Be (Get-DataGatewayCluster).Id
        @(foreach ($region in Get-DataGatewayRegion) { Get-DataGatewayCluster -RegionKey $region.RegionKey }).Region | Should -Be $default
        { Get-DataGatewayCluster -RegionKey uksouth } | Should -Throw '*no region "uksouth"*'
    }

    It 'R43 tells none from not allowed' {
        Connect-TestPrincipal (New-TestPrincipal 'R43') | Out-Null
        try {
            Get-DataGatewayCluster | Should -BeNullOrEmpty
            { Get-DataGatewayCluster -Scope Organization } | Should -Throw -ErrorId 'InsufficientPrivileges,Get-DataGatewayCluster'
        } finally { Connect-TestAdmin | Out-Null }
    }

    It 'R47 shows ids in lower case and takes them in any form' {
        foreach ($form in $two.ToString().ToUpper(), "{$two}", $two.ToString('n')) { (Get-DataGatewayCluster -GatewayClusterId $form).Id | Should -Be $two }
        $c = Get-DataGatewayCluster -GatewayClusterId $two
        "$($c.Id) $($c.Permissions[0].Id) $($c.MemberGateways[0].Id)" | Should -MatchExactly '^[0-9a-f -]+$'
        $c.Id -eq $two.ToString().ToUpper() | Should -BeTrue
        $c.Permissions[0].Id -eq $stage.AdminId.ToUpper() | Should -BeTrue
        $table = @{ $c.Id = 'here' }
        $table[(Get-DataGatewayClusterDatasource -GatewayClusterId $two)[0].ClusterId] | Should -Be 'here'
    }

    It 'R03 again: a machine that is down is not disabled, and a disabled one is not down' {
        $three = Add-DataGatewayClusterMember -GatewayClusterId $two -GatewayName 'third' -RecoveryKey (Get-TestKey)
        $process = Start-TestMember $three
        $id = $three.MemberGatewayId
        Disable-DataGatewayClusterMember -GatewayClusterId $two -MemberGatewayId $id -Wait
        $m = Get-DataGatewayClusterMember -GatewayClusterId $two -MemberGatewayId $id
        $m.State, $m.Status | Should -Be 'Disabled', 'Live'
        $m | Enable-DataGatewayClusterMember
        $process.Kill()
        Wait-Until 'the member is down' { (Get-DataGatewayClusterMember -GatewayClusterId $two -MemberGatewayId $id).Status -eq 'Unreachable' }
        (Get-DataGatewayClusterMember -GatewayClusterId $two -MemberGatewayId $id).State | Should -Be 'Enabled'
        (Get-DataGatewayCluster -GatewayClusterId $two).MemberGateways.Count | Should -Be 3
        Remove-DataGatewayClusterMember -GatewayClusterId $two -MemberGatewayId $id -Confirm:$false
    }
}

Describe 'Scripts that change' {
    It 'R05 creates or finds a cluster, adds admins, and goes by the status' {
        $connected = Connect-DataGatewayServiceAccount -ApplicationId $stage.AdminId -ClientSecret (Get-Secret $stage.AdminSecret) -Tenant 'contoso'
        $connected | Should -Not -BeNullOrEmpty
        $region = (Get-DataGatewayRegion | Where-Object IsDefaultPowerBIRegion -eq $true).RegionKey
        $splat = @{ RegionKey = $region }
        $name = 'gateway (R05)'
        (Get-DataGatewayCluster @splat | Where-Object Name -eq $name) | Should -BeNullOrEmpty
        $made = Add-DataGatewayCluster -Name $name -RecoveryKey (Get-TestKey) -OverwriteExistingGateway @splat
        Start-TestMember $made | Out-Null
        $id = $made.GatewayObjectId
        $admins = 1..2 | ForEach-Object { (New-TestPrincipal "R05 $_").Id }
        foreach ($guid in $admins) {
            Add-DataGatewayClusterUser -GatewayClusterId $id -PrincipalObjectId $guid -AllowedDataSourceTypes $null -Role Admin @splat
            @(Get-DataGatewayCluster -Cluster $id | Select-Object -ExpandProperty Permissions | Where-Object Id -eq $guid).Length | Should -Be 1
        }
        Wait-Until 'the cluster is live' { (Get-DataGatewayClusterStatus -GatewayClusterId $id @splat).ClusterStatus -eq 'Live' }
        (Get-DataGatewayCluster @splat | Where-Object Name -eq $name).Id | Should -Be $id
        ConvertTo-Json @((Get-DataGatewayCluster @splat).Id) | Should -Be (ConvertTo-Json @((Get-DataGatewayCluster).Id)) -Because 'the default region is the default'
        { Connect-DataGatewayServiceAccount -ApplicationId $stage.AdminId -ClientSecret (Get-Secret 'wrong-wrong-wrong-wrong') } | Should -Throw
        (Resolve-DataGatewayError -Last).Message | Should -BeLike 'Invalid client credentials*'
        Connect-TestAdmin | Out-Null
        Remove-DataGatewayCluster -Cluster $id -Confirm:$false
    }

    It 'R07 is idempotent, and never takes nothing or two for one' {
        $id = (Add-DataGatewayCluster -GatewayName 'R07' -RecoveryKey (Get-TestKey)).GatewayObjectId
        $user = (New-TestPrincipal 'R07').Id
        $x = Get-DataGatewayCluster -Scope Organization -ErrorAction SilentlyContinue | Where-Object Name -eq 'R07'
        foreach ($round in 1, 2) {
            Add-DataGatewayClusterUser -GatewayClusterId $x.Id -PrincipalObjectId $user -AllowedDataSourceTypes $null -Role Admin
            Set-DataGatewayInstaller -PrincipalObjectIds $user -Operation Add -GatewayType Resource
        }
        @(Get-DataGatewayInstaller | Where-Object PrincipalObjectId -eq $user).Count | Should -Be 1
        @(Get-DataGatewayInstaller -GatewayTypeParameter Personal).Count | Should -Be 0
        Set-DataGatewayInstaller -Users $user -Operation Remove -GatewayType Resource
        foreach ($wrong in $null, @([guid]::NewGuid(), [guid]::NewGuid()), '', 'R07') {
            foreach ($command in 'Get-DataGatewayCluster', 'Get-DataGatewayClusterDatasource', 'Get-DataGatewayClusterStatus') {
                { & $command -GatewayClusterId $wrong } | Should -Throw -ErrorId "*Argument*,$command" -Because "$command with $wrong"
            }
        }
        (Get-DataGatewayTenantPolicy).Policy | Should -Be 'None'
        Set-DataGatewayTenantPolicy -ResourceGatewayInstallPolicy Restricted
        (Get-DataGatewayTenantPolicy).Policy -in 'Restricted', 'EnterpriseInstallRestricted' | Should -BeTrue
        Set-DataGatewayTenantPolicy -ResourceGatewayInstallPolicy Open
        $errors = @(Get-DataGatewayCluster -GatewayClusterId ([guid]::NewGuid()) -ErrorAction SilentlyContinue 2>&1)
        $errors.Count | Should -Be 0
        Remove-DataGatewayCluster -GatewayClusterId $id -Confirm:$false
    }

    It 'R27 updates a cluster member by member' {
        $id = New-TestCluster 'R27' 'b'
        $members = Get-DataGatewayCluster -GatewayClusterId $id | Select-Object -ExpandProperty MemberGateways
        @($members.Version | Select-Object -Unique).Count | Should -Be 1
        foreach ($word in 'failover', 'RANDOM', 'LeastLoaded') { Set-DataGatewayCluster -GatewayClusterId $id -LoadBalancingSelectorType $word }
        { Set-DataGatewayCluster -GatewayClusterId $id -LoadBalancingSelectorType roundrobin } | Should -Throw '*Failover,Random*'
        foreach ($m in $members) {
            $m | Disable-DataGatewayClusterMember -Wait
            (Get-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $m.Id).RunningRequests | Should -Be 0
            { Update-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $m.Id } | Should -Throw '*Enable-DataGatewayClusterMember*'
            $m | Enable-DataGatewayClusterMember
        }
        Remove-DataGatewayCluster -GatewayClusterId $id -Confirm:$false
    }

    It 'R30 gets clean errors for parameters that do not exist' {
        { Add-DataGatewayClusterMember -ClusterId 'a name' -Name x -RecoveryKey (Get-TestKey) } | Should -Throw -ErrorId 'NamedParameterNotFound,*'
        { Add-DataGatewayClusterUser -ClusterId x -UserEmail y -Permission z } | Should -Throw -ErrorId 'NamedParameterNotFound,*'
        $fresh = Invoke-Fresh "Import-Module '$PSScriptRoot/../Comporta/Comporta.psd1'; try { Add-DataGatewayCluster -Name x } catch { `$_.Exception.Message; exit 7 }"
        $fresh.Status | Should -Be 7
        $fresh.Text | Should -BeLike '*RecoveryKey*'
    }

    It 'R32 takes both names of the name, and no plain text for a secret' {
        $id = (Add-DataGatewayCluster -GatewayName 'R32' -RecoveryKey (Get-TestKey)).GatewayObjectId
        Add-DataGatewayClusterMember -GatewayName 'm2' -RecoveryKey (Get-TestKey) -GatewayClusterId $id | Should -Not -BeNullOrEmpty
        Add-DataGatewayClusterMember -Name 'm3' -RecoveryKey (Get-TestKey) -Cluster $id | Should -Not -BeNullOrEmpty
        { Add-DataGatewayClusterMember -Name 'M2' -RecoveryKey (Get-TestKey) -GatewayClusterId $id } | Should -Throw -ErrorId 'DuplicateGatewayMemberName,*'
        { Add-DataGatewayClusterMember -Name 'm4' -RecoveryKey (Get-Secret 'not-the-key') -GatewayClusterId $id } | Should -Throw -ErrorId 'InvalidRecoveryKey,*'
        foreach ($attempt in { Connect-DataGatewayServiceAccount -ApplicationId x -ClientSecret $plain }, { Add-DataGatewayCluster -Name x -RecoveryKey $plain }) {
            $plain = 'plain-and-secret'
            $caught = $null
            try { & $attempt } catch { $caught = $_ }
            $caught.FullyQualifiedErrorId | Should -BeLike 'ParameterArgumentValidationError,*'
            "$($caught | Out-String)$($caught.Exception)" | Should -Not -BeLike '*plain-and-secret*'
        }
        Remove-DataGatewayCluster -GatewayClusterId $id -Confirm:$false
    }

    It 'R33 says that there is no device code, and serialises what it made' {
        $log = Connect-DataGatewayServiceAccount -ForceDeviceCodeAuthentication:$true *>&1 -ErrorAction Continue
        "$log" | Should -BeLike '*device code is not supported*'
        Connect-TestAdmin | Out-Null
        { Add-DataGatewayCluster -Name 'R33' -RecoveryKey (Get-TestKey) -RegionKey westus3 -OverwriteExistingGateway } | Should -Throw '*westus3*'
        $made = Add-DataGatewayCluster -Name 'R33' -RecoveryKey (Get-TestKey) -OverwriteExistingGateway
        ($made | ConvertTo-Json -Depth 5 | ConvertFrom-Json).GatewayObjectId | Should -Be "$($made.GatewayObjectId)"
        Remove-DataGatewayCluster -Id $made.GatewayObjectId -Confirm:$false
    }

    It 'R35 picks by position, and limits a creator to types' {
        $ids = 'A', 'B', 'C' | ForEach-Object { (Add-DataGatewayCluster -Name "R35 $_" -RecoveryKey (Get-TestKey)).GatewayObjectId }
        foreach ($round in 1, 2) { @(Get-DataGatewayCluster | Where-Object Name -like 'R35*').Id | Should -Be $ids }
        $user = (New-TestPrincipal 'R35').Id
        $dsTypes = New-Object 'System.Collections.Generic.List[Microsoft.PowerBI.ServiceContracts.Api.DatasourceType]'
        $dsTypes.Add('Sql')
        $dsTypes.Add([Microsoft.PowerBI.ServiceContracts.Api.DatasourceType]::PostgreSql)
        foreach ($types in $dsTypes, @('sql', 'PostgreSql'), @(0, 12), @('0', '12')) {
            Add-DataGatewayClusterUser -GatewayClusterId $ids[0] -PrincipalObjectId $user -Role ConnectionCreator -AllowedDataSourceTypes $types
            ((Get-DataGatewayCluster -Id $ids[0]).Permissions | Where-Object Id -eq $user).AllowedDataSourceTypes | Should -Be 'Sql', 'PostgreSql'
        }
        { Add-DataGatewayClusterUser -GatewayClusterId $ids[0] -PrincipalObjectId $user -Role Admin -AllowedDataSourceTypes Sql } | Should -Throw -ErrorId 'InvalidInput,*'
        Add-DataGatewayClusterUser -GatewayClusterId $ids[0] -PrincipalObjectId $user -Role ConnectionCreator -AllowedDataSourceTypes $null
        ((Get-DataGatewayCluster -Id $ids[0]).Permissions | Where-Object Id -eq $user).AllowedDataSourceTypes | Should -Be $null
        Remove-DataGatewayClusterUser -GatewayClusterId $ids[0] -User $user -Confirm:$false
        (Get-DataGatewayCluster -Id $ids[0]).Permissions.Id | Should -Be $stage.AdminId
        $ids | ForEach-Object { Remove-DataGatewayCluster -GatewayClusterId $_ -Confirm:$false }
    }

    It 'R36 stores both rights and reads them back under the same word' {
        $id = (Add-DataGatewayCluster -GatewayName 'R36' -RecoveryKey (Get-TestKey)).GatewayObjectId
        $source = New-TestSource $id
        $user = New-TestPrincipal 'R36' 'r36@example.com'
        foreach ($right in 'Read', 'ReadOverrideEffectiveIdentity') {
            Add-DataGatewayClusterDatasourceUser -GatewayClusterId $id -GatewayClusterDatasourceId $source.Id -DatasourceUserAccessRight $right -Identifier $user.Id
            ($source | Get-DataGatewayClusterDatasourceUser | Where-Object Identifier -eq $user.Id).DatasourceUserAccessRight | Should -BeExactly $right
        }
        Add-DataGatewayClusterDatasourceUser -GatewayClusterId $id -GatewayClusterDatasourceId $source.Id -DatasourceUserAccessRight Read -UserEmailAddress 'r36@example.com'
        { Add-DataGatewayClusterDatasourceUser -GatewayClusterId $id -GatewayClusterDatasourceId $source.Id -DatasourceUserAccessRight Impersonate -Identifier $user.Id } | Should -Throw '*Read, ReadOverrideEffectiveIdentity*'
        Remove-DataGatewayClusterDatasourceUser -GatewayClusterId $id -GatewayClusterDatasourceId $source.Id -UserEmailAddress 'r36@example.com' -Confirm:$false
        @($source | Get-DataGatewayClusterDatasourceUser).Count | Should -Be 1
        Remove-DataGatewayCluster -GatewayClusterId $id -Confirm:$false
    }

    It 'R37 takes a cluster over with its own key and no other' {
        $first = Add-DataGatewayCluster -Name 'R37' -RecoveryKey (Get-TestKey)
        { Add-DataGatewayCluster -Name 'R37' -RecoveryKey (Get-TestKey) } | Should -Throw -ErrorId 'DuplicateGatewayName,*'
        { Add-DataGatewayCluster -Name 'R37' -RecoveryKey (Get-Secret 'another-key') -OverwriteExistingGateway } | Should -Throw -ErrorId 'InvalidRecoveryKey,*'
        (Get-DataGatewayCluster -Id $first.GatewayObjectId).MemberGateways.Name | Should -Be 'R37' -Because 'the one that was refused left it as it was'
        $again = Add-DataGatewayCluster -Name 'R37' -RecoveryKey (Get-TestKey) -OverwriteExistingGateway
        $again.GatewayObjectId | Should -Be $first.GatewayObjectId
        Remove-DataGatewayCluster -Id $again.GatewayObjectId -Confirm:$false
    }

    It 'R40 calls a wrong secret a wrong secret, and a missing role a missing role' {
        { Connect-DataGatewayServiceAccount -ApplicationId $stage.AdminId -ClientSecret (Get-Secret 'AQ') } | Should -Throw 'Invalid client credentials*' -ErrorId 'invalid_client,*'
        { Get-DataGatewayCluster } | Should -Throw -ErrorId 'NotConnected,*' -Because 'a failed login leaves no older one in force'
        Connect-TestAdmin | Out-Null
        $user = New-TestPrincipal 'R40'
        Connect-TestPrincipal $user | Out-Null
        { Get-DataGatewayTenantPolicy } | Should -Throw -ErrorId 'InsufficientPrivileges,*'
        Connect-TestAdmin | Out-Null
    }

    It 'R49 refuses a name in use, on every way to it' {
        $ids = 'R49 a', 'R49 b' | ForEach-Object { (Add-DataGatewayCluster -Name $_ -RecoveryKey (Get-TestKey)).GatewayObjectId }
        { Add-DataGatewayCluster -Name 'r49 A ' -RecoveryKey (Get-TestKey) } | Should -Throw -ErrorId 'DuplicateGatewayName,*'
        { Set-DataGatewayCluster -GatewayClusterId $ids[0] -Name 'R49 b' } | Should -Throw -ErrorId 'DuplicateGatewayName,*'
        Set-DataGatewayCluster -GatewayClusterId $ids[0] -Name 'R49 a'
        $jobs = 1..3 | ForEach-Object {
            Start-ThreadJob -ArgumentList "$PSScriptRoot/../Comporta/Comporta.psd1", $stage.AdminId, (Get-Secret $stage.AdminSecret), (Get-TestKey) {
                Import-Module $args[0]
                [void] (Connect-DataGatewayServiceAccount -ApplicationId $args[1] -ClientSecret $args[2])
                try { "$((Add-DataGatewayCluster -Name 'R49 race' -RecoveryKey $args[3]).GatewayObjectId)" } catch { $_.FullyQualifiedErrorId }
            }
        }
        $answers = $jobs | Receive-Job -Wait -AutoRemoveJob
        @($answers -eq 'DuplicateGatewayName,Add-DataGatewayCluster').Count | Should -Be 2
        $ids += $answers | Where-Object { $_ -as [guid] }
        $ids.Count | Should -Be 3
        $ids | ForEach-Object { Remove-DataGatewayCluster -GatewayClusterId $_ -Confirm:$false }
    }
}
