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

    It 'R22 patches the whole object back, and reads the connection types' {
        $whole = (Send GET "/v1/gateways/$id").Json
        $whole.allowCustomConnectors = $true
        $patched = Send PATCH "/v1/gateways/$id" $whole
        $patched.Status | Should -Be 200
        (Get-DataGatewayCluster -GatewayClusterId $id).Options.CustomConnectors | Should -BeTrue
        (Send GET "/v1/connections/supportedConnectionTypes?gatewayId=$id").Json.value.type | Should -Contain 'PostgreSQL'
    }

    It 'R24 R25 creates and patches a data source over v1 with one envelope, and shares it' {
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
        $user = New-TestPrincipal 'R25' 'r25@example.com'
        (Send POST "$one/users" @{ datasourceAccessRight = 'Read' }).Status | Should -Be 400
        (Send POST "$one/users" @{ datasourceAccessRight = 'Read'; identifier = $user.Id; principalType = 'App' }).Status | Should -Be 200
        (Send DELETE "$one/users/r25@example.com").Status | Should -Be 200
        (Send DELETE $one).Status | Should -Be 200
    }

    It 'R28 falls back cleanly from a wrong version prefix' {
        $wrong = Send GET '/v1.0/myorg/gatewayClusters'
        $wrong.Status | Should -Be 404
        $wrong.Json.error.code | Should -Not -BeNullOrEmpty
    }
}
