# The clients' envelope for data source credentials: RSA-OAEP over fresh AES and HMAC keys, then AES-256-CBC with an HMAC-SHA256.
# Only a cluster's members can open it.

# KeyBits is the range of keys taken: a smaller one is not safe, a larger one no cluster has.
$script:MinKeyBits, $script:MaxKeyBits = 2048, 8192

# Protect-GatewayCredential makes the envelope. Pairs is an ordered table of names and values; the key's parts are base64 of big-endian bytes.
function Protect-GatewayCredential([System.Collections.IDictionary] $Pairs, [string] $Modulus, [string] $Exponent) {
    $list = [object[]] @(foreach ($name in $Pairs.Keys) { [ordered] @{ name = $name; value = [string] $Pairs[$name] } })
    $text = ConvertTo-GatewayJson @{ credentialData = $list }
    $keys = New-Object byte[] 98
    try {
        $random = Get-RandomByte 96
        $keys[0], $keys[1] = 0, 1 # the lengths' codes: 32 and 64 bytes
        [array]::Copy($random, 0, $keys, 2, 96)
        $block = Protect-KeyBlock $keys $Modulus $Exponent
        $record = New-CipherRecord $text $random[0..31] $random[32..95]
        [Convert]::ToBase64String($block) + [Convert]::ToBase64String($record)
    } finally {
        foreach ($secret in $text, $keys, $random) { if ($null -ne $secret) { [array]::Clear($secret, 0, $secret.Length) } }
    }
}

function Get-RandomByte([int] $Count) {
    $bytes = New-Object byte[] $Count
    $generator = [System.Security.Cryptography.RandomNumberGenerator]::Create()
    try { $generator.GetBytes($bytes) } finally { $generator.Dispose() }
    , $bytes
}

# Protect-KeyBlock encrypts the keys with RSA-OAEP, SHA-256 in both places.
function Protect-KeyBlock([byte[]] $Keys, [string] $Modulus, [string] $Exponent) {
    $public = New-Object System.Security.Cryptography.RSAParameters
    $public.Modulus, $public.Exponent = [Convert]::FromBase64String($Modulus), [Convert]::FromBase64String($Exponent)
    $bits = $public.Modulus.Length * 8
    if ($bits -lt $script:MinKeyBits -or $bits -gt $script:MaxKeyBits) {
        throw (New-Object DataGatewayException 'InvalidCredentialDetails', "The cluster's public key has $bits bits; $script:MinKeyBits to $script:MaxKeyBits are taken.")
    }
    if ($PSVersionTable.PSEdition -eq 'Core') { $rsa = [System.Security.Cryptography.RSA]::Create() }
    else { $rsa = New-Object System.Security.Cryptography.RSACng } # the default of .NET Framework knows SHA-1 only
    try {
        $rsa.ImportParameters($public)
        , $rsa.Encrypt($Keys, [System.Security.Cryptography.RSAEncryptionPadding]::OaepSHA256)
    } finally { $rsa.Dispose() }
}

# New-CipherRecord encrypts, then authenticates identifiers, IV and ciphertext: identifiers, tag, IV, ciphertext.
function New-CipherRecord([byte[]] $Text, [byte[]] $Encryption, [byte[]] $Authentication) {
    $aes = [System.Security.Cryptography.Aes]::Create()
    $mac = New-Object System.Security.Cryptography.HMACSHA256 (, $Authentication)
    try {
        $aes.Mode, $aes.Padding = 'CBC', 'PKCS7'
        $aes.Key, $aes.IV = $Encryption, (Get-RandomByte 16)
        $encryptor = $aes.CreateEncryptor()
        $body = $encryptor.TransformFinalBlock($Text, 0, $Text.Length)
        $identifiers = [byte[]] (0, 0)
        $tag = $mac.ComputeHash([byte[]] ($identifiers + $aes.IV + $body))
        , [byte[]] ($identifiers + $tag + $aes.IV + $body)
    } finally {
        $aes.Dispose()
        $mac.Dispose()
    }
}
