# What the commands do that Microsoft's module has not, and how all of them behave: errors, objects, secrets.

BeforeDiscovery {
    $noPostgres = -not $env:COMPORTA_TEST_POSTGRES
}

BeforeAll {
    Set-StrictMode -Version Latest
    Import-Module (Join-Path $PSScriptRoot 'Harness.psm1') -Force
    $stage = Start-TestService
    Connect-TestAdmin | Out-Null
    $id = New-TestCluster 'Behaviour' 'second'
    $source = New-TestSource $id
    $of = @{ GatewayClusterId = $id; GatewayClusterDatasourceId = $source.Id }
    $example = Join-Path $PSScriptRoot '../examples/TwoMemberCluster.ps1'
}

AfterAll { Stop-TestService }

Describe 'Members, routes, limits' {
    It 'routes around a disabled member and says why' {
        $plan = Test-DataGatewayRoute -GatewayClusterId $id -GatewayClusterDatasourceId $source.Id
        $plan.Available, $plan.Members.Count, $plan.Members[0].Position | Should -Be $true, 2, 1
        Disable-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $id
        (Test-DataGatewayRoute -GatewayClusterId $id).Members | Where-Object MemberGatewayId -eq $id | ForEach-Object Reason | Should -Be 'disabled'
        Invoke-DataGatewayQuery @of -Query 'select 1' -InformationVariable served | Out-Null
        $served.MessageData.GatewayName | Should -Be 'second'
        Get-DataGatewayClusterMember -GatewayClusterId $id | Enable-DataGatewayClusterMember
        (Test-DataGatewayRoute -GatewayClusterId $id).Members.Reason | Should -Be 'available', 'available'
    }

    It 'sets limits on the cluster and on a member, and takes them away' {
        Set-DataGatewayCluster -GatewayClusterId $id -ConcurrentOperationLimit 7 -CPUUtilizationPercentageThreshold 90 -QueueTimeoutSeconds 5
        $c = Get-DataGatewayCluster -GatewayClusterId $id
        $c.ConcurrentOperationLimit, $c.CPUUtilizationPercentageThreshold, $c.QueueTimeoutSeconds | Should -Be 7, 90, 5
        Set-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $id -ConcurrentOperationLimit 3 -Description 'first of two'
        Wait-Until 'the member has its limit' { (Get-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $id).ConcurrentOperationLimit -eq 3 }
        Set-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $id -ResetLimits
        Set-DataGatewayCluster -GatewayClusterId $id -ResetLimits -QueueTimeoutSeconds 0
        (Get-DataGatewayCluster -GatewayClusterId $id).ConcurrentOperationLimit | Should -Be 40
        { Set-DataGatewayCluster -GatewayClusterId $id -CPUUtilizationPercentageThreshold 101 } | Should -Throw '*101*'
    }

    It 'promotes, drains, renames' {
        $second = Get-DataGatewayClusterMember -GatewayClusterId $id | Where-Object Name -eq 'second'
        Set-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $second.Id -Primary -Name 'zweite' -Draining $true
        $second = Get-DataGatewayClusterMember -GatewayClusterId $id | Select-Object -First 1
        $second.Name, $second.IsPrimary, $second.Draining | Should -Be 'zweite', $true, $true
        $second | Set-DataGatewayClusterMember -Name 'second' -Draining $false
        Set-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $id -Primary
        { Remove-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $id -Confirm:$false } | Should -Throw -ErrorId 'CannotDeletePrimaryGatewayIfClusterMemberExists,*'
    }

    It 'changes the recovery key, and restores a member with the new one' {
        $other = (Add-DataGatewayCluster -Name 'Recovery' -RecoveryKey (Get-TestKey)).ClusterId
        { Set-DataGatewayClusterRecoveryKey -GatewayClusterId $other -CurrentRecoveryKey (Get-Secret 'wrong-key') -NewRecoveryKey (Get-Secret 'new-key-new') } | Should -Throw -ErrorId 'InvalidRecoveryKey,*'
        Set-DataGatewayClusterRecoveryKey -GatewayClusterId $other -CurrentRecoveryKey (Get-TestKey) -NewRecoveryKey (Get-Secret 'new-key-new')
        { Restore-DataGatewayClusterMember -GatewayClusterId $other -MemberGatewayId $other -RecoveryKey (Get-TestKey) } | Should -Throw -ErrorId 'InvalidRecoveryKey,*'
        Add-TestProgram
        $state = Join-Path $stage.Folder 'restored'
        $restored = Restore-DataGatewayClusterMember -GatewayClusterId $other -MemberGatewayId $other -RecoveryKey (Get-Secret 'new-key-new') -StateDirectory $state
        $restored.Joined, $restored.MemberGatewayId, $restored.EnrolmentToken | Should -Be $true, $other, $null
        $env:COMPORTA_RECOVERY_KEY | Should -BeNullOrEmpty
        (Get-DataGatewayClusterMember -GatewayClusterId $other).Enrolled | Should -BeTrue
        Remove-DataGatewayCluster -GatewayClusterId $other -Confirm:$false
    }

    It 'joins this machine whatever the shell has set for other commands of ours, and whatever the names are' {
        Add-TestProgram
        $given = @{ COMPORTA_CLUSTER = 'other'; COMPORTA_NEW_CLUSTER = 'other'; COMPORTA_DESCRIPTION = 'other'; COMPORTA_LOG_FORMAT = 'no such'; COMPORTA_RECOVERY_KEY = 'another-key'; COMPORTA_RECOVERY_KEY_FILE = '/nowhere' }
        $given.Keys | ForEach-Object { Set-Item -LiteralPath "env:$_" -Value $given[$_] }
        Push-Location $stage.Folder
        try {
            foreach ($name in '-dash', '--help', 'quote " and back\', '"') {
                $joined = Add-DataGatewayClusterMember -GatewayClusterId $id -GatewayName $name -RecoveryKey (Get-TestKey) -StateDirectory "-my state/$([guid]::NewGuid())\"
                $joined.Joined, $joined.Name | Should -Be $true, $name
                Get-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $joined.MemberGatewayId | ForEach-Object { $_.Name; $_.Enrolled } | Should -Be $name, $true
                Remove-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $joined.MemberGatewayId -Confirm:$false
            }
            @(Get-ChildItem -LiteralPath '-my state').Count | Should -Be 4
            { Add-DataGatewayClusterMember -GatewayClusterId $id -GatewayName 'nowhere' -RecoveryKey (Get-TestKey) -StateDirectory '/dev/null/x' } | Should -Throw '*could not join: *not a directory*' -ErrorId 'JoinFailed,*'
            foreach ($name in $given.Keys) { [Environment]::GetEnvironmentVariable($name) | Should -Be $given[$name] -Because 'it is the caller''s' }
        } finally {
            Pop-Location
            $given.Keys | ForEach-Object { Remove-Item -LiteralPath "env:$_" }
        }
        Get-DataGatewayClusterMember -GatewayClusterId $id | Where-Object Name -eq 'nowhere' | Remove-DataGatewayClusterMember -Confirm:$false
    }

    It 'moves a data source only with new credentials' {
        $moving = New-DataGatewayClusterDatasource -GatewayClusterId $id -DatasourceName 'moving' -DatasourceType PostgreSql -EncryptedConnection NotEncrypted -ConnectionDetails @{ server = '127.0.0.1:1'; database = 'x' } -Credential (New-Object pscredential 'u', (Get-Secret 'p'))
        $one = @{ GatewayClusterId = $id; GatewayClusterDatasourceId = $moving.Id }
        $there = '{"server":"127.0.0.1:2","database":"x"}'
        { Set-DataGatewayClusterDatasource @one -ConnectionDetails $there -ErrorAction Stop } | Should -Throw '*credentialDetails*'
        Set-DataGatewayClusterDatasource @one -ConnectionDetails $there -Credential (New-Object pscredential 'u', (Get-Secret 'q')) -EncryptedConnection NotEncrypted
        (Get-DataGatewayClusterDatasource @one).ConnectionDetails | Should -BeExactly $there
        Remove-DataGatewayClusterDatasource @one -Confirm:$false
    }

    It 'keeps encryption and privacy when the password is replaced, and takes them along with credentials only' {
        $kept = New-DataGatewayClusterDatasource -GatewayClusterId $id -DatasourceName 'kept' -DatasourceType PostgreSql -EncryptedConnection NotEncrypted -PrivacyLevel Private -ConnectionDetails @{ server = '127.0.0.1:1'; database = 'x' } -Credential (New-Object pscredential 'u', (Get-Secret 'p'))
        $one = @{ GatewayClusterId = $id; GatewayClusterDatasourceId = $kept.Id }
        function Get-Setting { Invoke-DataGatewayRestMethod "/v1/connections/$($kept.Id)" | ConvertFrom-Json | ForEach-Object { $_.credentialDetails.connectionEncryption; $_.privacyLevel; $_.credentialDetails.credentialType } }
        Set-DataGatewayClusterDatasourceCredential @one -Credential (New-Object pscredential 'u', (Get-Secret 'q'))
        Get-Setting | Should -Be 'NotEncrypted', 'Private', 'Basic'
        Set-DataGatewayClusterDatasource @one -Credential (New-Object pscredential 'u', (Get-Secret 'r'))
        Get-Setting | Should -Be 'NotEncrypted', 'Private', 'Basic'
        foreach ($alone in @{ EncryptedConnection = 'Any' }, @{ PrivacyLevel = 'Public' }, @{ CredentialTenantId = 'x' }, @{ EncryptedConnection = 'Any'; DatasourceName = 'other' }) {
            { Set-DataGatewayClusterDatasource @one @alone } | Should -Throw '*kept with the credentials*-Credential*' -ErrorId 'InvalidCredentialDetails,Set-DataGatewayClusterDatasource'
        }
        Set-DataGatewayClusterDatasource @one -Annotation 'x' -CredentialTenantId $null -Credential $null
        Get-Setting | Should -Be 'NotEncrypted', 'Private', 'Basic' -Because 'null leaves a setting as it is'
        (Get-DataGatewayClusterDatasource @one).DatasourceName | Should -Be 'kept' -Because 'what is refused is refused whole'
        Set-DataGatewayClusterDatasource @one -EncryptedConnection Any -Credential (New-Object pscredential 'u', (Get-Secret 's'))
        Get-Setting | Should -Be 'Any', 'Private', 'Basic'
        Remove-DataGatewayClusterDatasource @one -Confirm:$false
    }

    It 'gives another right and leaves the role, unless -Role is given' {
        $user = New-TestPrincipal 'Owner' 'owner@example.com'
        function Get-Role { Get-DataGatewayClusterDatasourceUser @of | Where-Object Identifier -eq $user.Id | ForEach-Object { "$($_.Role) $($_.DatasourceUserAccessRight)" } }
        Add-DataGatewayClusterDatasourceUser @of -DatasourceUserAccessRight Read -Identifier $user.Id
        Get-Role | Should -Be 'User Read' -Because 'who has none becomes a User'
        Add-DataGatewayClusterDatasourceUser @of -DatasourceUserAccessRight Read -Identifier $user.Id -Role Owner
        Add-DataGatewayClusterDatasourceUser @of -DatasourceUserAccessRight ReadOverrideEffectiveIdentity -Identifier $user.Id
        Get-Role | Should -Be 'Owner ReadOverrideEffectiveIdentity'
        Add-DataGatewayClusterDatasourceUser @of -DatasourceUserAccessRight Read -UserEmailAddress 'owner@example.com'
        Get-Role | Should -Be 'Owner Read'
        Add-DataGatewayClusterDatasourceUser @of -DatasourceUserAccessRight Read -Identifier $user.Id -Role UserWithReshare
        Get-Role | Should -Be 'UserWithReshare Read'
        Remove-DataGatewayClusterDatasourceUser @of -UserId $user.Id -Confirm:$false
    }

    It 'takes enumerations as Microsoft''s module does: by number, by what begins one name only, by value' {
        $entities = 'Microsoft.DataMovement.Powershell.GatewayClient.Gateways.Entities'
        foreach ($scope in 1, '1', 'Org', 'organization') { (Get-DataGatewayCluster -Scope $scope).Id | Should -Contain $id }
        foreach ($wrong in 2, 'x', '', $null) { { Get-DataGatewayCluster -Scope $wrong } | Should -Throw -ErrorId 'ParameterArgumentTransformationError,*' }
        $policy = { (Get-DataGatewayTenantPolicy).ResourceGatewayInstallPolicy }
        foreach ($restricted in 2, 'Restr', ("$entities.PolicyType" -as [type])::Restricted) {
            Set-DataGatewayTenantPolicy -ResourceGatewayInstallPolicy $restricted
            & $policy | Should -Be 'Restricted'
            Set-DataGatewayTenantPolicy -ResourceGatewayInstallPolicy 1 -PersonalGatewayInstallPolicy None
            & $policy | Should -Be 'Open'
        }
        (Get-DataGatewayTenantPolicy -Scope Org).TenantObjectId | Should -Not -BeNullOrEmpty
        { Get-DataGatewayTenantPolicy -Scope 0 } | Should -Throw -Because 'a policy is the tenant''s'

        $user = New-TestPrincipal 'Enumerations'
        Set-DataGatewayInstaller -Operation None -GatewayType Resource
        Set-DataGatewayInstaller -PrincipalObjectIds $user.Id -Operation None -GatewayType 0
        @(Get-DataGatewayInstaller -GatewayTypeParameter Resource).Count | Should -Be 0
        { Set-DataGatewayInstaller -Operation Add -GatewayType Resource } | Should -Throw '*-PrincipalObjectIds*' -ErrorId 'InvalidInput,Set-DataGatewayInstaller'
        Set-DataGatewayInstaller -Users $user.Id -Operation 1 -GatewayType Res
        Set-DataGatewayInstaller -Users $user.Id -Operation Add -GatewayType Personal
        (Get-DataGatewayInstaller -GatewayTypeParameter 0).GatewayType | Should -Be 'Resource'
        @(Get-DataGatewayInstaller -Scope 1).Count | Should -Be 2
        foreach ($type in 'Resource', 1) { Set-DataGatewayInstaller -Users $user.Id -Operation Rem -GatewayType $type }
        Get-DataGatewayInstaller | Should -BeNullOrEmpty

        $types = @([Microsoft.DataMovement.Powershell.GatewayClient.Gateways.Entities.DataSourceType]::Sql, 'Postgre', 'UIFlow', 'AzureDataLakeStorage')
        $types += [Microsoft.DataMovement.Powershell.GatewayClient.Gateways.Entities.DataSourceType]::SapErp
        Add-DataGatewayClusterUser -GatewayClusterId $id -PrincipalObjectId $user.Id -AllowedDataSourceTypes $types -Role ConnectionCreatorWithReshare
        $given = (Get-DataGatewayCluster -GatewayClusterId $id).Permissions | Where-Object Id -eq $user.Id
        $given.Role | Should -Be 'ConnectionCreatorWithReshare'
        $given.AllowedDataSourceTypes | Should -Be 'Sql', 'PostgreSql', 'UIFlow', 'AzureDataLakeStorage', 'SapErp'
        { Add-DataGatewayClusterUser -GatewayClusterId $id -PrincipalObjectId $user.Id -AllowedDataSourceTypes S -Role ConnectionCreator } | Should -Throw -ErrorId 'UnsupportedDatasourceType,*'
        Add-DataGatewayClusterUser -GatewayClusterId $id -PrincipalObjectId $user.Id -Role ("$entities.GatewayPrincipalRole" -as [type])::Admin
        ((Get-DataGatewayCluster -GatewayClusterId $id).Permissions | Where-Object Id -eq $user.Id).Role | Should -Be 'Admin'
        foreach ($wrong in 0, 2, 'Conn', @('Admin', 'ConnectionCreator')) { { Add-DataGatewayClusterUser -GatewayClusterId $id -PrincipalObjectId $user.Id -Role $wrong } | Should -Throw -ErrorId 'ParameterArgumentTransformationError,*' }
        Remove-DataGatewayClusterUser -GatewayClusterId $id -PrincipalObjectId $user.Id
        foreach ($right in 9, 'ReadO', 'readoverrideeffectiveidentity') {
            Add-DataGatewayClusterDatasourceUser @of -DatasourceUserAccessRight $right -Identifier $user.Id
            (Get-DataGatewayClusterDatasourceUser @of | Where-Object Identifier -eq $user.Id).DatasourceUserAccessRight | Should -Be 'ReadOverrideEffectiveIdentity'
            Add-DataGatewayClusterDatasourceUser @of -DatasourceUserAccessRight 1 -Identifier $user.Id
            (Get-DataGatewayClusterDatasourceUser @of | Where-Object Identifier -eq $user.Id).DatasourceUserAccessRight | Should -Be 'Read'
        }
        Remove-DataGatewayClusterDatasourceUser @of -UserId $user.Id -Confirm:$false
        (Connect-DataGatewayServiceAccount -Environment 0 -Credential (New-Object pscredential $stage.AdminId, (Get-Secret $stage.AdminSecret))).Environment | Should -BeExactly 'Public'
    }

    It 'takes every word for signing on that the service takes' {
        foreach ($word in 'Kerberos', 'KerberosDirectQueryAndRefresh', 'AzureActiveDirectory', 'SAML', 'None') {
            Set-DataGatewayClusterDatasource @of -SingleSignOnType $word
            (Get-DataGatewayClusterDatasource @of).SingleSignOnType | Should -Be $word
        }
        $made = New-DataGatewayClusterDatasource -GatewayClusterId $id -DatasourceName 'signs on' -DatasourceType Web -ConnectionDetails @{ url = 'https://example.com' } -SingleSignOnType KerberosDirectQueryAndRefresh
        $made.SingleSignOnType | Should -Be 'KerberosDirectQueryAndRefresh'
        $made | Remove-DataGatewayClusterDatasource -Confirm:$false
    }

    It 'replaces credentials; the next query uses them' {
        Set-DataGatewayClusterDatasourceCredential @of -Credential (New-Object pscredential 'Zoë', (Get-Secret 'pässwörd-✓')) -EncryptedConnection NotEncrypted
        (Invoke-DataGatewayQuery @of -Query 'select 1 as one').one | Should -Be 1
        Set-DataGatewayClusterDatasource @of -DatasourceName 'renamed' -Annotation 'note'
        $d = Get-DataGatewayClusterDatasource @of
        $d.DatasourceName, $d.Annotation, $d.CredentialType, $d.ClusterName | Should -Be 'renamed', 'note', 'Basic', 'Behaviour'
        { Set-DataGatewayClusterDatasourceCredential @of -CredentialType Key } | Should -Throw '*-Secret*'
    }
}

Describe 'Errors' {
    It 'is a terminating error by itself, with code, message, request and category' {
        $caught = $null
        try { Get-DataGatewayCluster -GatewayClusterId ([guid]::NewGuid()) } catch { $caught = $_ }
        $caught.FullyQualifiedErrorId | Should -Be 'PowerBIEntityNotFound,Get-DataGatewayCluster'
        $caught.CategoryInfo.Category | Should -Be 'ObjectNotFound'
        $caught.Exception.Code, $caught.Exception.StatusCode | Should -Be 'PowerBIEntityNotFound', 404
        $caught.Exception.Message | Should -BeLike "*(PowerBIEntityNotFound, request $($caught.Exception.RequestId))"
        $caught.Exception.Message | Should -Not -BeLike '*One or more*'
        $caught.ErrorDetails.Message | Should -Be $caught.Exception.Message
        $Error[0].Exception.Message | Should -Be $caught.Exception.Message
    }

    It 'stands in $Error once, and sets $? like any command' {
        $before = $Error.Count
        Get-DataGatewayCluster -GatewayClusterId ([guid]::NewGuid()) -ErrorAction SilentlyContinue -ErrorVariable mine | Should -BeNullOrEmpty
        $ok = $true
        Get-DataGatewayCluster -GatewayClusterId ([guid]::NewGuid()) -ErrorAction SilentlyContinue; $ok = $?
        $ok | Should -BeFalse
        $mine.Count | Should -Be 1
        $Error.Count - $before | Should -Be 2
        $unknown = [guid]::NewGuid()
        @($unknown, $id | ForEach-Object { Get-DataGatewayCluster -GatewayClusterId $_ -ErrorAction Ignore }).Count | Should -Be 1
    }

    It 'goes on with the next statement in a script, and ends it under Stop' {
        $head = "`$env:COMPORTA_ENDPOINT = '$($stage.Endpoint)'; Import-Module '$PSScriptRoot/../Comporta/Comporta.psd1';"
        # A mandatory parameter that is missing is such an error too, and no question that waits for ever.
        $on = Invoke-Fresh "$head Get-DataGatewayCluster; 'went on'; try { Get-DataGatewayClusterStatus } catch { `$_.FullyQualifiedErrorId }; try { Add-DataGatewayClusterUser -Cluster $id -Role Admin } catch { `$_.FullyQualifiedErrorId }"
        # Output and errors come over two pipes, so their order is open.
        foreach ($said in 'not logged in', 'went on', 'MissingMandatoryParameter,Get-DataGatewayClusterStatus', 'MissingMandatoryParameter,Add-DataGatewayClusterUser') { $on.Text | Should -BeLike "*$said*" }
        $stop = Invoke-Fresh "$head `$ErrorActionPreference = 'Stop'; Get-DataGatewayCluster; 'went on'"
        $stop.Text | Should -Not -BeLike '*went on*'
        $stop.Status | Should -Be 1
        (Invoke-Fresh "$head Connect-DataGatewayServiceAccount" @()).Text | Should -BeLike '*nobody is there to be asked*'
    }

    It 'describes what went wrong' {
        try { Set-DataGatewayCluster -GatewayClusterId $id -Name '' } catch { $record = $_ }
        $about = $record | Resolve-DataGatewayError
        $about.Response | Should -BeLike 'Bad Request (400): {"error"*'
        $about.RequestMethod, $about.RequestUri | Should -Be 'PATCH', "$($stage.Endpoint)/v2.0/myorg/me/gatewayClusters/$id"
        $about.ResponseDate | Should -Not -BeNullOrEmpty
        $about.PSObject.Properties.Name | Should -Contain 'InvocationInfo'
        try { throw 'other' } catch { $record = $_ }
        (Resolve-DataGatewayError -Error $record).Message | Should -Be 'other'
    }

    It 'says how to reach a service that is not there, and refuses other addresses' {
        { Connect-DataGatewayServiceAccount -Endpoint 'http://127.0.0.1:1' -ApplicationId x -ClientSecret (Get-Secret 'never-shown') } | Should -Throw '*cannot be reached: Connection refused*'
        { Connect-DataGatewayServiceAccount -Endpoint 'ftp://x' -ApplicationId x -ClientSecret (Get-Secret 'never-shown') } | Should -Throw '*https://gateway.example.com*'
        { Connect-DataGatewayServiceAccount -ApplicationId x -CertificateThumbprint y } | Should -Throw '*certificate*'
        Connect-TestAdmin | Out-Null
        { Invoke-DataGatewayRestMethod -Url 'https://elsewhere.example.com/x' } | Should -Throw '*Only addresses of*'
        { Invoke-DataGatewayRestMethod -Url '//elsewhere.example.com/x' } | Should -Throw '*Only addresses of*'
        { Invoke-DataGatewayRestMethod -Url /v2.0/myorg/gatewayClusterDatasources } | Should -Throw -ErrorId 'EndpointNotFound,*'
    }

    It 'shows no secret, neither in objects nor in errors' {
        $text = @(Connect-TestAdmin; $Error; $Error | Resolve-DataGatewayError; Get-DataGatewayClusterDatasource -Cluster $id; Get-DataGatewayAuditEvent) | Format-List -Property * -Force | Out-String -Width 4000
        foreach ($secret in $stage.AdminSecret, 'geheimer-Schl', 'p4ss-of-the-source', 'never-shown') { $text | Should -Not -BeLike "*$secret*" }
    }
}

Describe 'Objects' {
    It 'counts 0, 1 and many, groups, exports, and makes fresh objects' {
        @(Get-DataGatewayClusterDatasource -GatewayClusterId $id -ErrorAction Stop | Where-Object DatasourceName -eq 'none').Count | Should -Be 0
        $one = Get-DataGatewayCluster
        $one.Count | Should -Be 1
        $one | Add-Member -NotePropertyName Extra -NotePropertyValue 1
        (Get-DataGatewayCluster).PSObject.Properties['Extra'] | Should -BeNullOrEmpty
        ($one.MemberGateways | Group-Object State).Name | Should -Be 'Enabled'
        $csv = Join-Path $stage.Folder 'members.csv'
        foreach ($round in 1, 2) { Get-DataGatewayClusterMember -GatewayClusterId $id | Export-Csv -LiteralPath $csv -Append }
        @(Import-Csv -LiteralPath $csv).Count | Should -Be 4
        $json = $one | ConvertTo-Json -Depth 5 | ConvertFrom-Json
        $json.MemberGateways[0].Id | Should -BeExactly "$id"
        $one.MemberGateways[0] | ConvertTo-Json -WarningVariable cut -WarningAction SilentlyContinue | Should -Not -BeNullOrEmpty
        $cut | Should -BeNullOrEmpty
        $xml = [xml] [System.Text.Encoding]::UTF8.GetString([Convert]::FromBase64String($one.MemberGateways[0].PublicKey))
        $xml.SelectSingleNode('//RSAParameters/Modulus').InnerText | Should -Be $one.PublicKey.Modulus
    }

    It 'shows good tables' {
        Get-DataGatewayCluster | Out-String -Width 200 | Should -Match 'Name\s+Status\s+Members.*\n.*\n.*Behaviour\s+Live\s+2'
        Get-DataGatewayClusterMember -GatewayClusterId $id | Out-String -Width 80 | Should -Match 'Draining\s+RunningRequests'
        $member = Get-DataGatewayClusterMember -GatewayClusterId $id | Select-Object -First 1
        $member.Draining, $member.MachineDraining | Should -Be $false, $false
        foreach ($who in 'Draining', 'MachineDraining') {
            $fresh = $member.PSObject.Copy()
            $fresh.$who = $true
            $fresh | Out-String -Width 200 | Should -Match "Enabled\s+Live\s+True\s+True\s" -Because "$who is true"
        }
        Add-DataGatewayClusterMember -GatewayClusterId $id -GatewayName third -RecoveryKey (Get-TestKey) -OutVariable made | Out-String -Width 200 | Should -Not -Match 'EnrolmentToken'
        $made[0].EnrolmentToken | Should -Not -BeNullOrEmpty
        Remove-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $made[0].MemberGatewayId -Confirm:$false
    }

    It 'changes nothing under -WhatIf' {
        $before = @(Get-DataGatewayAuditEvent).Count
        Remove-DataGatewayCluster -GatewayClusterId $id -WhatIf
        Set-DataGatewayCluster -GatewayClusterId $id -Name x -WhatIf
        Add-DataGatewayCluster -Name x -RecoveryKey (Get-TestKey) -WhatIf
        Get-DataGatewayCluster | Disable-DataGatewayClusterMember -MemberGatewayId $id -WhatIf
        function Remove-Old { [CmdletBinding(SupportsShouldProcess)] param() Get-DataGatewayCluster | Where-Object Name -eq 'Behaviour' | Remove-DataGatewayCluster }
        Remove-Old -WhatIf
        (Get-DataGatewayCluster).Id | Should -Be $id
        @(Get-DataGatewayAuditEvent).Count | Should -Be $before
    }

    It 'removes without asking where nobody is there to be asked, as old scripts expect, and asks where somebody is' {
        # The tests run in a shell that nobody answers.
        $other = (Add-DataGatewayCluster -Name 'Removal' -RecoveryKey (Get-TestKey)).ClusterId
        $doomed = New-TestSource $other 'doomed'
        { Remove-DataGatewayClusterDatasource -GatewayClusterId $other -GatewayClusterDatasourceId $doomed.Id -Confirm } | Should -Throw '*NonInteractive*' -Because '-Confirm asks in any case'
        & (Get-Module Comporta) { function script:Test-Interactive { $true } }
        try {
            { Get-DataGatewayClusterDatasource -Cluster $other | Remove-DataGatewayClusterDatasource } | Should -Throw '*NonInteractive*' -Because 'it asks'
        } finally { Import-Module (Join-Path $PSScriptRoot '../Comporta/Comporta.psd1') -Global -Force; Connect-TestAdmin | Out-Null }
        @(Get-DataGatewayClusterDatasource -Cluster $other).Count | Should -Be 1
        Get-DataGatewayClusterDatasource -Cluster $other | Remove-DataGatewayClusterDatasource -WhatIf
        @(Get-DataGatewayClusterDatasource -Cluster $other).Count | Should -Be 1
        Get-DataGatewayClusterDatasource -Cluster $other | Remove-DataGatewayClusterDatasource
        @(Get-DataGatewayClusterDatasource -Cluster $other).Count | Should -Be 0
        Get-DataGatewayCluster -Id $other | Remove-DataGatewayCluster
        Get-DataGatewayCluster | Where-Object Name -eq 'Removal' | Should -BeNullOrEmpty
    }

    It 'leaves unchanged what is null, and takes no list for one text' {
        Set-DataGatewayCluster -GatewayClusterId $id -ConcurrentOperationLimit 9 -LoadBalancingSelectorType LeastLoaded -Description 'kept'
        $none = @{ ConcurrentOperationLimit = $null; CPUUtilizationPercentageThreshold = $null; QueueTimeoutSeconds = $null; LoadBalancingSelectorType = [string] $null; Description = $null }
        Set-DataGatewayCluster -GatewayClusterId $id -Department 'x' @none
        Set-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $id -ConcurrentOperationLimit $null -Draining $null -Description 'y'
        Set-DataGatewayClusterDatasource @of -SingleSignOnType $null -Annotation 'z'
        $c = Get-DataGatewayCluster -GatewayClusterId $id
        $c.ConcurrentOperationLimit, $c.LoadBalancingSelectorType, $c.Description | Should -Be 9, 'LeastLoaded', 'kept'
        { Set-DataGatewayCluster -GatewayClusterId $id -Name @('two', 'names') } | Should -Throw -ErrorId 'InvalidInput,*'
        { Set-DataGatewayCluster -GatewayClusterId $id -LoadBalancingSelectorType @('Failover', 'Random') } | Should -Throw
        { Set-DataGatewayClusterDatasource @of -SingleSignOnType magic } | Should -Throw '*None,Kerberos,AzureActiveDirectory,SAML*' -ErrorId 'InvalidInput,*'
        foreach ($wrong in @{ QueueTimeoutSeconds = -1 }, @{ ResourceUtilizationAggregationTimeInMinutes = 61 }, @{ ConcurrentOperationLimit = -1 }) {
            { Set-DataGatewayCluster -GatewayClusterId $id @wrong } | Should -Throw "*$($wrong.Keys)*must be between*" -ErrorId 'InvalidInput,*'
        }
        Set-DataGatewayCluster -GatewayClusterId $id -ResetLimits -LoadBalancingSelectorType Failover
        (Get-DataGatewayCluster -GatewayClusterId $id).Name | Should -Be 'Behaviour'
    }

    It 'lists the audit log over its pages, with filters' {
        $all = @(Get-DataGatewayAuditEvent)
        $all[0].At | Should -BeOfType [datetime]
        $renamed = Get-DataGatewayAuditEvent -GatewayClusterId $id -Action cluster.update -Since (Get-Date).AddHours(-1) -Until (Get-Date).AddHours(1)
        @($renamed).Count | Should -BeGreaterThan 0
        $renamed.Action | Select-Object -Unique | Should -Be 'cluster.update'
        @(Get-DataGatewayAuditEvent -Since (Get-Date).AddHours(1)).Count | Should -Be 0
    }

    It 'completes ids by name, and stays silent when nobody is connected' {
        $line = 'Get-DataGatewayCluster -GatewayClusterId Beh'
        (TabExpansion2 $line $line.Length).CompletionMatches.CompletionText | Should -Be "$id"
        $line = "Get-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId sec"
        (TabExpansion2 $line $line.Length).CompletionMatches.ListItemText | Should -BeLike 'second*'
        foreach ($pair in @{ "Get-DataGatewayClusterDatasource -Cluster $id -Datasource " = "$($source.Id)"; 'Get-DataGatewayCluster -RegionKey h' = 'home'
                'Set-DataGatewayCluster -LoadBalancingSelectorType dist' = 'DistributeEvenly'; 'Get-DataGatewayCluster -Scope O' = 'Organization' }.GetEnumerator()) {
            (TabExpansion2 $pair.Key $pair.Key.Length).CompletionMatches.CompletionText | Should -Contain $pair.Value -Because $pair.Key
        }
        $before = $Error.Count
        Disconnect-DataGatewayServiceAccount
        $line = 'Get-DataGatewayCluster -GatewayClusterId Beh'
        @((TabExpansion2 $line $line.Length).CompletionMatches | Where-Object CompletionText -eq "$id").Count | Should -Be 0
        $Error.Count | Should -Be $before
        Connect-TestAdmin | Out-Null
    }
}

Describe 'Tokens' {
    It 'gives the token as a header that others use' {
        (Invoke-RestMethod "$($stage.Endpoint)/v2.0/myorg/me/gatewayClusters" -Headers (Get-DataGatewayAccessToken)).value.id | Should -Be "$id"
        Get-DataGatewayAccessToken -AsString | Should -Match '^Bearer \S+$'
    }

    It 'renews a token that the service does not take any more' {
        & (Get-Module Comporta) { $script:Session.Token = ConvertTo-Secret 'a.worthless.token' }
        (Get-DataGatewayCluster).Id | Should -Be $id
    }

    It 'renews a token before its end' {
        $first = Get-DataGatewayAccessToken -AsString
        & (Get-Module Comporta) { $script:Session.RenewAt = [datetime]::UtcNow.AddSeconds(-1) }
        Get-DataGatewayAccessToken -AsString | Should -Not -Be $first
    }
}

Describe 'Older module and example' {
    It 'R17 does with the ten functions what scripts did' {
        Import-Module (Join-Path $PSScriptRoot '../Compatibility/OnPremisesDataGatewayHAMgmt/OnPremisesDataGatewayHAMgmt.psd1') -Force
        $env:COMPORTA_CLIENT_ID, $env:COMPORTA_CLIENT_SECRET = $stage.AdminId, $stage.AdminSecret
        try {
            Logout-OnPremisesDataGateway
            Get-OnPremisesDataGatewayClusters -WarningVariable warned -WarningAction SilentlyContinue | Should -BeNullOrEmpty
            "$warned" | Should -Be 'Please log in first.'
            Login-OnPremisesDataGateway -EmailAddress admin@example.com 6>&1 | Should -BeLike "Current backend is: $($stage.Endpoint)*"
            $cluster = Get-OnPremisesDataGatewayClusters
            $cluster.objectId, $cluster.loadBalancingType | Should -Be "$id", 'Failover'
            ($cluster.gateways | ConvertFrom-Json)[0].isAnchorGateway | Should -BeTrue
            $member = (Get-OnPremisesDataClusterGateways -ClusterObjectId $id)[1]
            $member.gatewayStatus, $member.gatewayClusterStatus | Should -Be 'Live', 'Enabled'
            $changed = Set-OnPremisesDataGateway -ClusterObjectId $id -GatewayObjectId $member.gatewayObjectId -MemberStatus None -GatewayContactInformation 'ops@example.com'
            $changed.gatewayClusterStatus, $changed.gatewayContactInformation, $changed.gatewayName | Should -Be 'None', 'ops@example.com', 'second'
            (Set-OnPremisesDataGateway -ClusterObjectId $id -GatewayObjectId $member.gatewayObjectId -MemberStatus Enabled).gatewayClusterStatus | Should -Be 'Enabled'
            Set-OnPremisesDataGateway -ClusterObjectId $id -GatewayObjectId $member.gatewayObjectId -Name ' ' -WarningVariable warned -WarningAction SilentlyContinue
            "$warned" | Should -Be 'Gateway name cannot be empty.'
            (Set-OnPremisesDataGatewayCluster -ClusterObjectId $id -LoadBalancingType Random).loadBalancingType | Should -Be 'Random'
            (Set-OnPremisesDataGatewayCluster -ClusterObjectId $id -LoadBalancingType Failover -Description 'old way').description | Should -Be 'old way'
            Remove-OnPremisesDataGateway -ClusterObjectId $id -GatewayObjectId ([guid]::NewGuid())
            (Get-OnPremisesDataGatewayStatus -ClusterObjectId $id -GatewayObjectId $member.gatewayObjectId).gatewayUpgradeState | Should -Be 'UpToDate'
            Get-OnPremisesDataGatewayRegions | Should -Be 'Home'
            Set-OnPremisesDataGatewayRegion -Region nowhere -WarningVariable warned -WarningAction SilentlyContinue
            "$warned" | Should -Be 'Invalid region.'
            foreach ($region in 'Home', '') {
                Set-OnPremisesDataGatewayRegion -Region $region 6>&1 | Should -BeLike "Current backend is: $($stage.Endpoint)*"
                (Get-OnPremisesDataGatewayClusters).objectId | Should -Contain "$id"
            }
            $absent = (Add-DataGatewayClusterMember -GatewayClusterId $id -GatewayName 'absent' -RecoveryKey (Get-TestKey)).MemberGatewayId
            $status = Get-OnPremisesDataGatewayStatus -ClusterObjectId $id -GatewayObjectId $absent
            $status.gatewayStatus, $status.gatewayVersion, $status.gatewayUpgradeState | Should -Be 'Unreachable', 'Unknown', 'Unknown'
            Remove-OnPremisesDataGateway -ClusterObjectId $id -GatewayObjectId $absent
            (Get-OnPremisesDataClusterGateways -ClusterObjectId $id).gatewayName | Should -Be 'Behaviour', 'second'
            { Remove-OnPremisesDataGateway -ClusterObjectId $id -GatewayObjectId $id } | Should -Throw -ErrorId 'CannotDeletePrimaryGatewayIfClusterMemberExists,*'
        } finally {
            $env:COMPORTA_CLIENT_ID, $env:COMPORTA_CLIENT_SECRET = $null, $null
            Connect-TestAdmin | Out-Null
        }
    }

    Context 'shapes and words of the older module' {
        BeforeAll {
            Import-Module (Join-Path $PSScriptRoot '../Compatibility/OnPremisesDataGatewayHAMgmt/OnPremisesDataGatewayHAMgmt.psd1') -Force
            # What the surface of the older module answers.
            function Read-Wire { (Invoke-DataGatewayRestMethod /unifiedgateway/gatewayclusters | ConvertFrom-Json) | Where-Object objectId -eq "$id" }
            function Get-Name($Object) { $Object.PSObject.Properties.Name }
            $member = Get-DataGatewayClusterMember -GatewayClusterId $id | Where-Object Name -eq 'second'
            $one = @{ ClusterObjectId = $id; GatewayObjectId = $member.Id }
            $unknown = [guid]::NewGuid()
        }

        It 'lists clusters with members and permissions as JSON texts of the wire''s own names' {
            $listed, $wire = (Get-OnPremisesDataGatewayClusters | Where-Object objectId -eq "$id"), (Read-Wire)
            Get-Name $listed | Should -BeExactly (@(Get-Name $wire | Where-Object { $_ -notin 'annotation', 'publicKey', 'keyword', 'metadata', 'gatewayId' }) + 'loadBalancingType')
            $gateways, $permission = ($listed.gateways | ConvertFrom-Json), ($listed.permission | ConvertFrom-Json)
            Get-Name $gateways[0] | Should -BeExactly (@(Get-Name $wire.gateways[0] | Where-Object { $_ -notin 'gatewayAnnotation', 'gatewayStaticCapabilities', 'gatewayLoadBalancingSettings' }) + 'gatewayContactInformation', 'gatewayMachine')
            $gateways.gatewayName, $gateways[0].gatewayId, $gateways[0].gatewayPublicKey | Should -Be $wire.gateways.gatewayName, 0, $wire.gateways[0].gatewayPublicKey
            ($gateways[0].gatewayPublicKey | ConvertFrom-Json).modulus | Should -Be (Get-DataGatewayCluster -GatewayClusterId $id).PublicKey.Modulus
            Get-Name $permission[0] | Should -BeExactly (Get-Name $wire.permission[0])
            $permission[0].id, $permission[0].principalType | Should -Be $stage.AdminId, 'App'
        }

        It 'returns a changed cluster with members and permissions as objects, and a changed member as it is on the wire' {
            $changed = Set-OnPremisesDataGatewayCluster -ClusterObjectId $id -LoadBalancingType Random
            Get-Name $changed | Should -BeExactly (@(Get-Name (Read-Wire) | Where-Object { $_ -ne 'annotation' }) + 'loadBalancingType')
            $changed.gateways.gatewayName, $changed.permission[0].id, $changed.loadBalancingType | Should -Be (Read-Wire).gateways.gatewayName, $stage.AdminId, 'Random'
            (Set-OnPremisesDataGatewayCluster -ClusterObjectId $id -Description '').loadBalancingType | Should -Be 'Random' -Because 'what is not given stays'
            (Set-OnPremisesDataGatewayCluster -ClusterObjectId $id -LoadBalancingType Failover).loadBalancingType | Should -Be 'Failover'
            $gateway = Set-OnPremisesDataGateway @one -GatewayContactInformation 'ops@example.com'
            Get-Name $gateway | Should -BeExactly (@(Get-Name (Read-Wire).gateways[0] | Where-Object { $_ -notin 'gatewayStatus', 'gatewayAnnotation', 'gatewayStaticCapabilities', 'gatewayLoadBalancingSettings' }) + 'gatewayContactInformation', 'gatewayMachine')
            $gateway.gatewayContactInformation, $gateway.gatewayMachine | Should -Be 'ops@example.com', ($member.Annotation | ConvertFrom-Json).gatewayMachine
        }

        It 'lists members with the number that the wire has for gatewayId, the primary first' {
            $rows = Get-OnPremisesDataClusterGateways -ClusterObjectId $id
            Get-Name $rows[0] | Should -BeExactly 'gatewayId', 'gatewayObjectId', 'gatewayName', 'isAnchorGateway', 'gatewayStatus', 'gatewayVersion', 'gatewayUpgradeState', 'gatewayClusterStatus', 'gatewayMachine'
            $rows.gatewayId | Should -Be 0, 0
            $rows[0].gatewayId -is [string] | Should -BeFalse
            $rows.gatewayObjectId | Should -Be "$id", "$($member.Id)"
            Set-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $member.Id -Primary
            try { (Get-OnPremisesDataClusterGateways -ClusterObjectId $id).isAnchorGateway | Should -Be $true, $false } finally { Set-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $id -Primary }
        }

        It 'says the status in the service''s words, also that there is a newer version' {
            (Get-OnPremisesDataGatewayStatus @one | ConvertTo-Json -Compress) | Should -Be (Invoke-DataGatewayRestMethod "/unifiedgateway/gatewayclusters/$id/gateways/$($member.Id)/status").Trim()
            # Members of two versions would take two programs: here the service's answer is made up.
            & (Get-Module Comporta) {
                $script:Real = ${function:Read-AnswerText}
                function script:Read-AnswerText([hashtable] $Answer) { (& $script:Real $Answer).Replace('"UpToDate"', '"NewVersionAvailable"') }
            }
            try {
                (Get-OnPremisesDataGatewayStatus @one).gatewayUpgradeState | Should -Be 'NewVersionAvailable'
                (Get-OnPremisesDataClusterGateways -ClusterObjectId $id).gatewayUpgradeState | Should -Be 'NewVersionAvailable', 'NewVersionAvailable'
            } finally { & (Get-Module Comporta) { ${function:script:Read-AnswerText} = $script:Real } }
        }

        It 'says of unknown ids that they are, and returns nothing' {
            $calls = @(
                @{ Says = 'Invalid cluster object Id'; Run = { Get-OnPremisesDataClusterGateways -ClusterObjectId $unknown } }
                @{ Says = 'Invalid cluster object Id'; Run = { Get-OnPremisesDataGatewayStatus -ClusterObjectId $unknown -GatewayObjectId $member.Id } }
                @{ Says = 'Invalid gateway object Id'; Run = { Get-OnPremisesDataGatewayStatus -ClusterObjectId $id -GatewayObjectId $unknown } }
                @{ Says = 'Invalid cluster object Id'; Run = { Set-OnPremisesDataGateway -ClusterObjectId $unknown -GatewayObjectId $id -GatewayContactInformation 'x' } }
                @{ Says = 'Invalid gateway object Id'; Run = { Set-OnPremisesDataGateway -ClusterObjectId $id -GatewayObjectId $unknown -GatewayContactInformation 'x' -MemberStatus None } }
            )
            foreach ($call in $calls) {
                & $call.Run 6>$null | Should -BeNullOrEmpty
                $said = & $call.Run 6>&1
                "$said" | Should -Be $call.Says
                $said.MessageData.ForegroundColor | Should -Be 'Red'
            }
            # A change that was not made is an error: the script goes on with it otherwise.
            { Set-OnPremisesDataGateway -ClusterObjectId $id -GatewayObjectId $unknown -MemberStatus None } | Should -Throw -ErrorId '*EntityNotFound,*'
            { Set-OnPremisesDataGatewayCluster -ClusterObjectId $unknown -Name 'x' } | Should -Throw -ErrorId '*EntityNotFound,*'
        }

        It 'does not take a failure of the script for its own' {
            foreach ($command in { Get-OnPremisesDataGatewayClusters }, { Get-OnPremisesDataClusterGateways -ClusterObjectId $id }, { Get-OnPremisesDataGatewayStatus @one }, { Get-OnPremisesDataGatewayRegions }) {
                $record = New-Object System.Management.Automation.ErrorRecord (New-Object System.Exception 'mine'), 'TokenExpired,Mine', 'NotSpecified', $null
                { & $command | ForEach-Object { throw $record } } | Should -Throw 'mine' -Because "$command"
            }
        }
    }

    It 'runs the example of README' -Skip:$noPostgres {
        Add-TestProgram
        $given = @{ Endpoint = $stage.Endpoint; ApplicationId = $stage.AdminId; ClientSecret = (Get-Secret $stage.AdminSecret); Server = $env:COMPORTA_TEST_POSTGRES; Database = 'postgres'
            DatabaseLogin = (New-Object pscredential 'postgres', (Get-Secret 'not-asked-for')); UserId = (New-TestPrincipal 'Reader').Id }
        $output = & $example @given -Folder (Join-Path $stage.Folder 'my members')
        $output[0].database, $output[1].still_here, $output[2] | Should -Be 'postgres', 1, 'served by first'
        Get-DataGatewayCluster | Where-Object Name -eq 'Sales example' | Should -BeNullOrEmpty
    }

    It 'ends the example of README when a member does not run' {
        Add-TestProgram
        $env:COMPORTA_LOG_FORMAT = 'no such' # joining does not see it, running does
        try {
            { & $example -Endpoint $stage.Endpoint -ApplicationId $stage.AdminId -ClientSecret (Get-Secret $stage.AdminSecret) -Folder (Join-Path $stage.Folder 'ended') } | Should -Throw '*A member ended: *log-format*'
        } finally { Remove-Item -LiteralPath env:COMPORTA_LOG_FORMAT }
        Get-DataGatewayCluster | Where-Object Name -eq 'Sales example' | Remove-DataGatewayCluster -Confirm:$false
    }
}
