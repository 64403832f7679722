# Cases from the field that speak REST instead of commands, done from PowerShell with the connection's token; each bears the number of its case.

BeforeAll {
    Set-StrictMode -Version Latest
    Import-Module (Join-Path $PSScriptRoot 'Harness.psm1') -Force
    $stage = Start-TestService
    Connect-TestAdmin | Out-Null
    $id = New-TestCluster 'Rest'
    $source = New-TestSource $id
    $orphan = (Add-DataGatewayCluster -Name 'Orphan' -RecoveryKey (Get-TestKey)).ClusterId
    Remove-DataGatewayClusterUser -GatewayClusterId $orphan -PrincipalObjectId $stage.AdminId -Confirm:$false

    # Send sends a request as a script does, and returns status, headers and JSON.
    function Send([string] $Method, [string] $Path, $Body) {
        $request = @{ Method = $Method; Uri = $stage.Endpoint + $Path; Headers = (Get-DataGatewayAccessToken); SkipHttpErrorCheck = $true; ContentType = 'application/json' }
        if ($null -ne $Body) { $request.Body = ConvertTo-Json -InputObject $Body -Depth 10 }
        $answer = Invoke-WebRequest @request
        $json = $null
        if ($answer.Content) { $json = "$($answer.Content)" | ConvertFrom-Json -AsHashtable }
        @{ Status = [int] $answer.StatusCode; Headers = $answer.Headers; Text = "$($answer.Content)"; Json = $json }
    }
}

AfterAll { Stop-TestService }

Describe 'REST scripts' {
    It 'R13 ingests the tenant, orphans too, which v1 hides' {
        $all = (Send GET '/v2.0/myorg/gatewayclusters?$expand=permissions,memberGateways').Json.value
        $all.id | Should -Contain "$orphan"
        , ($all | Where-Object { $_.id -eq "$orphan" }).permissions | Should -BeOfType [array]
        ($all | Where-Object { $_.id -eq "$orphan" }).permissions.Count | Should -Be 0
        ($all | Where-Object { $_.id -eq "$id" }).permissions[0].Keys | Should -Contain 'principalDisplayName'
        (Send GET '/v1.0/myorg/gateways').Json.value.id | Should -Be "$id"
        (Send GET "/v2.0/myorg/gatewayclusters/$id/datasources?`$expand=users").Json.value[0].users[0].identifier | Should -Be $stage.AdminId
        $unknown = Send GET '/v2.0/myorg/gatewayClusterDatasources'
        $unknown.Status | Should -BeIn 404, 501
        $unknown.Json.error.code | Should -Not -BeNullOrEmpty
        $one = Get-DataGatewayCluster -Scope Organization -GatewayClusterId $orphan
        , $one.Permissions | Should -BeOfType [array]
        $one.Permissions.Count | Should -Be 0
    }

    It 'R14 collects a fleet' {
        foreach ($path in '/v2.0/myorg/me/gatewayClusters?$expand=memberGateways', '/v2.0/myorg/GATEWAYCLUSTERS?$expand=memberGateways') {
            $item = (Send GET $path).Json.value | Where-Object { $_.id -eq "$id" }
            $item.options.Keys | Sort-Object | Should -BeExactly 'CloudDatasourceRefresh', 'CustomConnectors'
            $item.memberGateways[0].annotation | ConvertFrom-Json | ForEach-Object gatewayMachine | Should -Not -BeNullOrEmpty
        }
    }

    It 'R16 reads with types, and digs out why a data source fails' {
        $item = (Send GET '/v2.0/myorg/gatewayclusters?$expand=permissions,memberGateways&$skip=0').Json.value[0]
        $item.loadBalancingSettings | Should -BeOfType [string]
        $item.staticCapabilities | Should -BeOfType [long]
        $broken = New-DataGatewayClusterDatasource -GatewayClusterId $id -DatasourceName 'R16' -DatasourceType PostgreSql -EncryptedConnection NotEncrypted -ConnectionDetails '{"server":"127.0.0.1:1","database":"x"}' -Credential (New-Object pscredential 'u', (Get-Secret 'p'))
        $broken.ConnectionDetails | Should -BeExactly '{"server":"127.0.0.1:1","database":"x"}'
        $status = Send GET "/v2.0/myorg/gatewayClusters/$id/datasources/$($broken.Id)/status"
        $status.Status | Should -Be 400
        ($status.Json.error.'pbi.error'.details | Where-Object { $_.code -eq 'DM_ErrorDetailNameCode_UnderlyingErrorMessage' }).detail.value | Should -BeLike '*refused*'
        $broken | Remove-DataGatewayClusterDatasource -Confirm:$false
    }

    It 'R19 walks members of every gateway, with a slash at the end' {
        $found = foreach ($gateway in (Send GET '/v1/gateways/').Json.value) {
            (Send GET "/v1/gateways/$($gateway.id)/members").Json.value | Where-Object { $_.id -eq "$id" }
        }
        @($found).Count | Should -Be 1
        $found.version | Should -Not -BeNullOrEmpty
    }

    It 'R21 finds by name, then by id, twice the same' {
        $read = { $byName = @((Send GET '/v1/gateways').Json.value | Where-Object { $_.displayName -ceq 'Rest' })[0].id; (Send GET "/v1/gateways/$byName").Text }
        & $read | Should -BeExactly (& $read)
        $missing = Send GET "/v1/gateways/$([guid]::NewGuid())"
        $missing.Status, $missing.Json.errorCode | Should -Be 404, 'EntityNotFound'
    }

    It 'R18 takes keys in parentheses, nulls for what stays, and numbers for words' {
        $one = (Send GET "/v2.0/myorg/me/gatewayclusters($id)?`$expand=permissions,memberGateways").Json
        $one.id, $one.memberGateways[0].id | Should -Be "$id", "$id"
        (Send GET "/v2.0/myorg/me/gatewayclusters($id)/status").Json.clusterStatus | Should -Be 'Live'
        $patch = @{ name = $null; department = 'Field'; description = $null; contactInformation = $null; allowCloudDatasourceRefresh = $null; allowCustomConnectors = $null; loadBalancingSelectorType = $null }
        (Send PATCH "/v2.0/myorg/me/gatewayclusters($id)" $patch).Status | Should -BeIn 200, 204
        $after = Get-DataGatewayCluster -GatewayClusterId $id
        $after.Name, $after.Department, $after.LoadBalancingSelectorType | Should -Be 'Rest', 'Field', 'Failover'
        $user = New-TestPrincipal 'R18'
        $made = Send POST "/v2.0/myorg/me/gatewayClusters/$id/permissions" @{ id = $user.Id; allowedDataSourceTypes = @(0, 12); role = 'ConnectionCreator' }
        $made.Status | Should -BeIn 200, 201, 204
        ((Get-DataGatewayCluster -GatewayClusterId $id).Permissions | Where-Object Id -eq $user.Id).AllowedDataSourceTypes | Should -Be 'Sql', 'PostgreSql'
        $gone = Send DELETE "/v2.0/myorg/me/gatewayClusters/$id/permissions/$($user.Id)"
        $gone.Status, $gone.Text | Should -Be 200, ''
        (Send GET '/v2.0/myorg/gatewayPolicy').Json.policy | Should -Be 'None'
        @((Send GET '/v2.0/myorg/gatewayInstallers?$filter=type%20eq%20%27Resource%27').Json.value).Count | Should -Be 0
    }

    It 'R22 makes a connection with an envelope for each member, as a command line does, and takes it away' {
        $api = @{ Headers = (Get-DataGatewayAccessToken); ContentType = 'application/json; charset=utf-8' }
        $gateway = Invoke-RestMethod @api -Uri "$($stage.Endpoint)/v1/gateways/$id"
        $gateway.type | Should -Be 'OnPremises'
        $types = (Invoke-RestMethod @api -Uri "$($stage.Endpoint)/v1/connections/supportedConnectionTypes?gatewayId=$id").value
        ($types | Where-Object type -eq 'PostgreSQL').creationMethods.parameters.name | Should -Be 'server', 'database'
        $envelopes = foreach ($member in (Invoke-RestMethod @api -Uri "$($stage.Endpoint)/v1/gateways/$id/members").value) {
            $envelope = & (Get-Module Comporta) { param($k) Protect-GatewayCredential ([ordered] @{ username = 'postgres'; password = 'pässwörd' }) $k.modulus $k.exponent } $member.publicKey
            @{ gatewayId = $member.id; encryptedCredentials = $envelope }
        }
        $server = $env:COMPORTA_TEST_POSTGRES
        if (-not $server) { $server = '127.0.0.1:5432' }
        $body = @{
            connectivityType = 'OnPremisesGateway'; gatewayId = "$id"; displayName = 'R22 – verkoop'; privacyLevel = 'Organizational'
            connectionDetails = @{ type = 'PostgreSQL'; creationMethod = 'PostgreSQL'; parameters = @(
                    @{ dataType = 'Text'; name = 'server'; value = $server }, @{ dataType = 'Text'; name = 'database'; value = 'postgres' }) }
            credentialDetails = @{ singleSignOnType = 'None'; connectionEncryption = 'NotEncrypted'; skipTestConnection = $false
                credentials = @{ credentialType = 'Basic'; values = @($envelopes) } }
        }
        $made = Invoke-RestMethod @api -Method Post -Uri "$($stage.Endpoint)/v1/connections" -Body (ConvertTo-Json $body -Depth 10) -StatusCodeVariable status
        $status, $made.displayName, $made.gatewayId | Should -Be 201, 'R22 – verkoop', "$id"
        ConvertTo-Json $made -Depth 10 | Should -Not -BeLike '*encryptedCredentials*'
        # The same thing under the commands' name.
        $seen = Get-DataGatewayClusterDatasource -GatewayClusterId $id -GatewayClusterDatasourceId $made.id
        $seen.DatasourceName, $seen.DatasourceType | Should -Be 'R22 – verkoop', 'PostgreSql'
        if ($env:COMPORTA_TEST_POSTGRES) { ($seen | Invoke-DataGatewayQuery 'select current_user as me').me | Should -Be 'postgres' }
        { Invoke-RestMethod @api -Method Post -Uri "$($stage.Endpoint)/v1/connections" -Body (ConvertTo-Json $body -Depth 10) } | Should -Throw -ExceptionType ([Microsoft.PowerShell.Commands.HttpResponseException])
        (Invoke-RestMethod @api -Uri "$($stage.Endpoint)/v1/connections").value.id | Should -Contain $made.id

        $user = New-TestPrincipal 'R22'
        $roles = "$($stage.Endpoint)/v1/gateways/$id/roleAssignments"
        [void] (Invoke-RestMethod @api -Method Post -Uri $roles -Body (ConvertTo-Json @{ principal = @{ id = $user.Id; type = 'ServicePrincipal' }; role = 'ConnectionCreator' }))
        [void] (Invoke-RestMethod @api -Method Patch -Uri "$roles/$($user.Id)" -Body '{"role":"ConnectionCreatorWithResharing"}')
        ((Invoke-RestMethod @api -Uri $roles).value | Where-Object id -eq $user.Id).role | Should -Be 'ConnectionCreatorWithResharing'
        ((Get-DataGatewayCluster -GatewayClusterId $id).Permissions | Where-Object Id -eq $user.Id).Role | Should -Be 'ConnectionCreatorWithReshare'
        foreach ($address in "$roles/$($user.Id)", "$($stage.Endpoint)/v1/connections/$($made.id)") {
            $gone = Invoke-WebRequest @api -Method Delete -Uri $address
            [int] $gone.StatusCode, $gone.RawContentLength | Should -Be 200, 0
        }
        { Get-DataGatewayClusterDatasource -GatewayClusterId $id -GatewayClusterDatasourceId $made.id } | Should -Throw -ErrorId 'PowerBIEntityNotFound,*'
    }

    It 'R22 patches the whole object back, and reads the connection types' {
        $whole = (Send GET "/v1/gateways/$id").Json
        $whole.allowCustomConnectors = $true
        $patched = Send PATCH "/v1/gateways/$id" $whole
        $patched.Status | Should -Be 200
        (Get-DataGatewayCluster -GatewayClusterId $id).Options.CustomConnectors | Should -BeTrue
        (Send GET "/v1/connections/supportedConnectionTypes?gatewayId=$id").Json.value.type | Should -Contain 'PostgreSQL'
    }

    It 'R24 encrypts with the published key, creates and patches a data source over v1, and is told of a flipped bit' {
        $key = (Send GET "/v1.0/myorg/gateways/$id").Json.publicKey
        $envelope = & (Get-Module Comporta) { param($k) Protect-GatewayCredential ([ordered] @{ username = 'u'; password = 'ü' }) $k.modulus $k.exponent } $key
        $details = @{ credentialType = 'Basic'; credentials = $envelope; encryptedConnection = 'NotEncrypted'; encryptionAlgorithm = 'RSA-OAEP'; privacyLevel = 'None' }
        $path = Join-Path $stage.Files 'r24.sqlite'
        [System.IO.File]::WriteAllBytes($path, [byte[]] @())
        $made = Send POST "/v1.0/myorg/gateways/$id/datasources" @{ dataSourceType = 'Extension'; dataSourceName = 'R24'; credentialDetails = $details
            connectionDetails = (ConvertTo-Json -Compress -InputObject ([ordered] @{ kind = 'SQLite'; path = $path })) }
        $made.Status | Should -Be 201
        $one = "/v1.0/myorg/gateways/$id/datasources/$($made.Json.id)"
        (Send PATCH $one @{ credentialDetails = $details }).Status | Should -Be 200
        $last = $envelope.Length - 12
        $flipped = $envelope.Substring(0, $last) + $(if ($envelope[$last] -ceq 'A') { 'B' } else { 'A' }) + $envelope.Substring($last + 1)
        $details.credentials = $flipped
        [void] (Send PATCH $one @{ credentialDetails = $details })
        { Get-DataGatewayClusterDatasourceStatus -GatewayClusterId $id -GatewayClusterDatasourceId $made.Json.id } | Should -Throw '*cannot be opened*'
        (Send GET "/v1.0/myorg/gateways/$([guid]::NewGuid())").Status | Should -Be 404 -Because 'that is how the sample knows a cloud gateway'
        (Invoke-WebRequest "$($stage.Endpoint)/v1.0/myorg/gateways/$id" -SkipHttpErrorCheck).StatusCode | Should -Be 401
        (Send DELETE $one).Status | Should -Be 200
    }

    It 'R25 lists, shares and deletes over v1 with the codes that a typed client expects' {
        $one = "/v1.0/myorg/gateways/$id/datasources/$($source.Id)"
        (Send GET '/v1.0/myorg/gateways').Json.value.name | Should -Be 'Rest'
        (Send GET "/v1.0/myorg/gateways/$id/datasources").Json.value.id | Should -Contain "$($source.Id)"
        $status = Send GET "$one/status"
        $status.Status, $status.Text | Should -Be 200, ''
        $user = New-TestPrincipal 'R25' 'r25@example.com'
        (Send POST "$one/users" @{ datasourceAccessRight = 'Read' }).Status | Should -Be 400
        (Send POST "$one/users" @{ datasourceAccessRight = 'Read'; identifier = $user.Id; principalType = 'App' }).Status | Should -Be 200
        (Send GET "$one/users").Json.value.identifier | Should -Contain $user.Id
        (Send DELETE "$one/users/r25@example.com").Status | Should -Be 200
        (Send POST "$one/users" @{ datasourceAccessRight = 'ReadOverrideEffectiveIdentity'; emailAddress = 'r25@example.com' }).Status | Should -Be 200
        (Send DELETE "$one/users/$($user.Id)").Status | Should -Be 200
        @((Send GET "$one/users").Json.value).Count | Should -Be 1
    }

    It 'R28 falls back cleanly from a wrong version prefix' {
        $wrong = Send GET '/v1.0/myorg/gatewayClusters'
        $wrong.Status | Should -Be 404
        $wrong.Json.error.code | Should -Not -BeNullOrEmpty
        $key = (Send GET "/v1.0/myorg/gateways/$id").Json.publicKey
        $envelope = & (Get-Module Comporta) { param($k) Protect-GatewayCredential ([ordered] @{ username = 'u'; password = 'p' }) $k.modulus $k.exponent } $key
        $body = @{ dataSourceType = 'PostgreSql'; dataSourceName = 'R28'; connectionDetails = '{"server":"db.example.com","database":"x"}'
            credentialDetails = @{ credentialType = 'Basic'; credentials = $envelope; encryptedConnection = 'Encrypted'; encryptionAlgorithm = 'RSA-OAEP'; privacyLevel = 'None' } }
        $answer = Send POST "/v1.0/myorg/gatewayClusters/$id/datasources" $body
        if ($answer.Status -eq 404) { $answer = Send POST "/v1.0/myorg/gateways/$id/datasources" $body }
        $answer.Status | Should -Be 201
        (Send DELETE "/v1.0/myorg/gateways/$id/datasources/$($answer.Json.id)").Status | Should -Be 200
    }
}
