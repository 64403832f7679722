# From what a caller gives to credentialDetails: one envelope for each member of the cluster.

# Get-CredentialPair returns the names and values of a credential type, in the order in which they stand in the envelope.
function Get-CredentialPair([string] $Type, [pscredential] $Credential, [securestring] $Secret, [string] $Tenant) {
    $pairs = [ordered] @{}
    switch ($Type) {
        { $_ -in 'Basic', 'Windows' } {
            Assert-Given $Credential "$Type credentials take -Credential."
            $pairs.username, $pairs.password = $Credential.UserName, (ConvertFrom-Secret $Credential.Password)
        }
        'ServicePrincipal' {
            Assert-Given $Credential 'ServicePrincipal credentials take -Credential, with the application id as user name.'
            Assert-Given $Tenant 'ServicePrincipal credentials take -CredentialTenantId.'
            $pairs.servicePrincipalClientId, $pairs.servicePrincipalSecret, $pairs.tenantId = $Credential.UserName, (ConvertFrom-Secret $Credential.Password), $Tenant
        }
        { $_ -in 'Key', 'OAuth2', 'SAS' } {
            Assert-Given $Secret "$Type credentials take -Secret."
            $name = @{ Key = 'key'; OAuth2 = 'accessToken'; SAS = 'token' }[$Type]
            $pairs[$name] = ConvertFrom-Secret $Secret
        }
    }
    $pairs
}

function Assert-Given($Value, [string] $Message) {
    if (-not $Value) { throw (New-Object DataGatewayException 'InvalidCredentialDetails', $Message) }
}

# Assert-NoCredentialSetting refuses what is kept with credentials where none come along: it could not be carried out, and must not pass in silence.
function Assert-NoCredentialSetting($Bound) {
    $alone = @('EncryptedConnection', 'PrivacyLevel', 'CredentialTenantId' | Where-Object { $Bound.ContainsKey($_) -and $Bound[$_] })
    if ($alone.Count -eq 0) { return }
    throw (New-Object DataGatewayException 'InvalidCredentialDetails', "-$($alone -join ' and -') cannot be changed alone: encryption and privacy are kept with the credentials. Give -Credential, -Secret or -CredentialType along with it.")
}

# Resolve-CredentialType is the type that was asked for, else the one that fits what was given.
function Resolve-CredentialType([string] $Type, $Credential, $Secret) {
    if ($Type) { return $Type }
    if ($Credential) { return 'Basic' }
    if ($Secret) { return 'Key' }
    'Anonymous'
}

# New-CredentialDetail encrypts credentials for every member of a cluster, each with that member's key. Parameters are those of the command.
function New-CredentialDetail([string] $Scope, [guid] $ClusterId, $Bound) {
    $given = @{ CredentialType = ''; Credential = $null; Secret = $null; CredentialTenantId = '' }
    foreach ($name in @($given.Keys)) { if ($Bound.ContainsKey($name)) { $given[$name] = $Bound[$name] } }
    $type = Resolve-CredentialType $given.CredentialType $given.Credential $given.Secret
    $pairs = Get-CredentialPair $type $given.Credential $given.Secret $given.CredentialTenantId
    $cluster = Invoke-Gateway GET (Get-ClusterPath $Scope $ClusterId)
    $byMember = @{}
    foreach ($member in $cluster.memberGateways) {
        # What is not given stays as it is; the service has the defaults of a new data source.
        $byMember[$member.id] = Select-Bound $Bound @{ EncryptedConnection = 'encryptedConnection'; PrivacyLevel = 'privacyLevel' }
        $byMember[$member.id] += @{
            credentialType = $type; encryptionAlgorithm = 'RSA-OAEP'
            credentials    = Protect-GatewayCredential $pairs $member.publicKey.modulus $member.publicKey.exponent
        }
    }
    $byMember
}
