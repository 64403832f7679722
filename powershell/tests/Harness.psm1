# The stage for the tests: a real service, real members, real data sources. Everything stands in one temporary folder and ends with it.

Set-StrictMode -Version Latest
$ErrorActionPreference = 'Stop'

# Patience bounds every wait, in seconds. It is long because the machine may be busy; nothing waits that long when all is well.
$script:Patience = 90
$script:Stage = $null

# Wait-Until waits for a condition.
function Wait-Until([string] $What, [scriptblock] $Condition) {
    $clock = [System.Diagnostics.Stopwatch]::StartNew()
    while (-not (& $Condition)) {
        if ($clock.Elapsed.TotalSeconds -gt $script:Patience) { throw "Waited in vain for: $What" }
        Start-Sleep -Milliseconds 20
    }
}

function Find-Binary {
    if ($env:COMPORTA_TEST_BINARY) { return $env:COMPORTA_TEST_BINARY }
    $path = Join-Path ([System.IO.Path]::GetTempPath()) 'comporta-pester'
    Push-Location (Join-Path $PSScriptRoot '../..')
    try { & go build -o $path ./cmd/comporta } finally { Pop-Location }
    if ($LASTEXITCODE -ne 0) { throw 'comporta does not build' }
    $path
}

# Start-Program starts the binary and waits until its output matches; it returns the process with the match.
function Start-Program([string] $Name, [string[]] $Arguments, [string] $Pattern, [hashtable] $Environment = @{}) {
    $out = Join-Path $script:Stage.Folder "$Name-$([guid]::NewGuid().ToString('n')).out"
    $previous = @{}
    foreach ($key in $Environment.Keys) { $previous[$key] = [Environment]::GetEnvironmentVariable($key); [Environment]::SetEnvironmentVariable($key, $Environment[$key]) }
    try {
        $process = Start-Process -FilePath $script:Stage.Binary -ArgumentList $Arguments -RedirectStandardOutput $out -RedirectStandardError "$out.err" -PassThru
    } finally {
        foreach ($key in $previous.Keys) { Set-Item -LiteralPath "env:$key" -Value $previous[$key] }
    }
    $script:Stage.Processes.Add($process)
    $found = $null
    Wait-Until "$Name says $Pattern" {
        $ended = $process.HasExited
        if ($ended) { $process.WaitForExit() } # what it said last is in the file then
        $text = [string] (Get-Content -LiteralPath $out -Raw)
        if ($text -match $Pattern) { Set-Variable -Name found -Value $Matches -Scope 2; return $true }
        if ($ended) { throw "$Name ended: $text $(Get-Content -LiteralPath "$out.err" -Raw)" }
        $false
    }
    [pscustomobject] @{ Process = $process; Match = $found; Output = $out }
}

# Start-TestService starts a service with an administrator and imports the module; it returns the stage.
function Start-TestService([string[]] $Flags = @()) {
    $folder = Join-Path ([System.IO.Path]::GetTempPath()) ('comporta-pester-' + [guid]::NewGuid().ToString('n'))
    [void] (New-Item -ItemType Directory -Path $folder, (Join-Path $folder 'files'))
    $script:Stage = [pscustomobject] @{ Folder = $folder; Binary = Find-Binary; Processes = New-Object 'System.Collections.Generic.List[object]'; Endpoint = ''; Service = $null
        AdminId = [guid]::NewGuid().ToString(); AdminSecret = 'the-secret-of-the-admin-4711'; Files = Join-Path $folder 'files' }
    $environment = @{ COMPORTA_ADMIN_ID = $script:Stage.AdminId; COMPORTA_ADMIN_SECRET = $script:Stage.AdminSecret }
    $started = Start-Program 'service' (@('serve', '--data', (Join-Path $folder 'state'), '--listen', '127.0.0.1:0') + $Flags) 'listening on (\S+)' $environment
    $script:Stage.Endpoint, $script:Stage.Service = $started.Match[1], $started.Process
    $env:COMPORTA_ENDPOINT = $script:Stage.Endpoint
    Import-Module (Join-Path $PSScriptRoot '../Comporta/Comporta.psd1') -Global
    $script:Stage
}

function Stop-TestService {
    Get-Module Comporta | Remove-Module
    $env:COMPORTA_ENDPOINT = $null
    foreach ($process in $script:Stage.Processes) { if (-not $process.HasExited) { $process.Kill(); $process.WaitForExit() } }
    Remove-Item -LiteralPath $script:Stage.Folder -Recurse -Force
    $script:Stage = $null
}

# Get-Secret makes a SecureString.
function Get-Secret([string] $Text) {
    ConvertTo-SecureString -String $Text -AsPlainText -Force
}

# The recovery key of all test clusters.
function Get-TestKey { Get-Secret 'Überaus-geheimer-Schlüssel-7391' }

# Connect-TestAdmin logs in as the administrator.
function Connect-TestAdmin {
    Connect-DataGatewayServiceAccount -ApplicationId $script:Stage.AdminId -ClientSecret (Get-Secret $script:Stage.AdminSecret)
}

# New-TestPrincipal makes an application and returns its id and secret.
function New-TestPrincipal([string] $Name, [string] $Email = '', [switch] $TenantAdmin) {
    $made = Invoke-DataGatewayRestMethod -Url /v2.0/myorg/principals -Method Post -Body @{ principalType = 'App'; displayName = $Name; emailAddress = $Email; tenantAdmin = [bool] $TenantAdmin } | ConvertFrom-Json
    if (-not $made.PSObject.Properties['clientSecret'] -or -not $made.clientSecret) {
        $secret = Invoke-DataGatewayRestMethod -Url "/v2.0/myorg/principals/$($made.id)/secrets" -Method Post -Body @{ label = 'test' } | ConvertFrom-Json
        $made | Add-Member -NotePropertyName clientSecret -NotePropertyValue $secret.clientSecret -Force
    }
    [pscustomobject] @{ Id = $made.id; Secret = (Get-Secret $made.clientSecret) }
}

# Connect-TestPrincipal logs in as another application.
function Connect-TestPrincipal($Principal) {
    Connect-DataGatewayServiceAccount -ApplicationId $Principal.Id -ClientSecret $Principal.Secret
}

# New-TestCluster makes a cluster with running members and returns its id; the primary bears the cluster's name.
function New-TestCluster([string] $Name, [string[]] $Members = @()) {
    $cluster = Add-DataGatewayCluster -GatewayName $Name -RecoveryKey (Get-TestKey)
    Start-TestMember $cluster | Out-Null
    foreach ($member in $Members) { Start-TestMember (Add-DataGatewayClusterMember -GatewayClusterId $cluster.ClusterId -GatewayName $member -RecoveryKey (Get-TestKey)) | Out-Null }
    Wait-Until "members of $Name are live" { -not (@((Get-DataGatewayCluster -GatewayClusterId $cluster.ClusterId).MemberGateways.Status) -ne 'Live') }
    $cluster.ClusterId
}

# Start-TestMember joins with an invitation and runs the member; it returns the process.
function Start-TestMember($Invitation) {
    $id = $Invitation.MemberGatewayId
    $token, $state = (Join-Path $script:Stage.Folder "$id.token"), (Join-Path $script:Stage.Folder "member-$id")
    [System.IO.File]::WriteAllText($token, $Invitation.EnrolmentToken)
    $joined = Start-Program "join-$id" @('member', 'join', '--server', $script:Stage.Endpoint, '--state', $state, '--enrolment-token-file', $token) 'member id' @{ COMPORTA_RECOVERY_KEY = 'Überaus-geheimer-Schlüssel-7391' }
    Wait-Until "join of $id ends" { $joined.Process.HasExited }
    (Start-Program "member-$id" @('member', 'run', '--state', $state, '--allow-folder', $script:Stage.Files) 'online').Process |
        Add-Member -NotePropertyName MemberGatewayId -NotePropertyValue $id -PassThru
}

# Add-TestProgram puts the program on PATH, under its own name.
function Add-TestProgram {
    $bin = Join-Path $script:Stage.Folder 'bin'
    [void] (New-Item -ItemType Directory -Path $bin -Force)
    [void] (New-Item -ItemType SymbolicLink -Path (Join-Path $bin 'comporta') -Target $script:Stage.Binary -Force)
    $env:PATH = $bin + [System.IO.Path]::PathSeparator + $env:PATH
}

# New-TestSource registers a new, empty SQLite database.
function New-TestSource($ClusterId, [string] $Name = 'db') {
    $path = Join-Path $script:Stage.Files ([guid]::NewGuid().ToString('n') + '.sqlite')
    [System.IO.File]::WriteAllBytes($path, [byte[]] @())
    New-DataGatewayClusterDatasource -GatewayClusterId $ClusterId -DatasourceName $Name -DatasourceType Extension -EncryptedConnection NotEncrypted `
        -ConnectionDetails ([ordered] @{ kind = 'SQLite'; path = $path }) -Credential (New-Object pscredential 'reader', (Get-Secret 'p4ss-of-the-source'))
}

# New-TestPostgres registers the PostgreSQL server of the tests.
function New-TestPostgres($ClusterId, [string] $Name = 'pg') {
    New-DataGatewayClusterDatasource -GatewayClusterId $ClusterId -DatasourceName $Name -DatasourceType PostgreSql -EncryptedConnection NotEncrypted `
        -ConnectionDetails @{ server = $env:COMPORTA_TEST_POSTGRES; database = 'postgres' } -Credential (New-Object pscredential 'postgres', (Get-Secret 'not-asked-for'))
}

# Invoke-Fresh runs a script in a PowerShell of its own, as automation does, and returns its output and exit status.
function Invoke-Fresh([string] $Script, [string[]] $Flags = @('-NonInteractive')) {
    $file = Join-Path $script:Stage.Folder ([guid]::NewGuid().ToString('n') + '.ps1')
    Set-Content -LiteralPath $file -Value $Script -Encoding utf8
    $output = '' | & pwsh -NoProfile @Flags -File $file 2>&1 | ForEach-Object { "$_" }
    [pscustomobject] @{ Text = ($output -join "`n"); Status = $LASTEXITCODE }
}

Export-ModuleMember -Function *
