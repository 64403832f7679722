# The connection to one service. Secrets are kept as SecureStrings, in memory only.

$script:Session = $null

# RenewBefore is how long before its end a token is renewed.
$script:RenewBefore = [timespan]::FromMinutes(2)

# Get-Session returns the connection, or throws NotConnected.
function Get-Session {
    if ($null -eq $script:Session) {
        $failure = New-Object DataGatewayException 'NotConnected', 'You are not logged in. Run Connect-DataGatewayServiceAccount first.'
        $failure.StatusCode = 401
        throw $failure
    }
    $script:Session
}

# Resolve-Endpoint checks the address of the service: the parameter, else the environment.
function Resolve-Endpoint([string] $Endpoint) {
    $text = $Endpoint
    if (-not $text) { $text = $env:COMPORTA_ENDPOINT }
    if (-not $text) {
        throw (New-Object DataGatewayException 'NoEndpoint', 'Which service? Give -Endpoint https://gateway.example.com, or set COMPORTA_ENDPOINT.')
    }
    $uri = $null
    if (-not [uri]::TryCreate($text, [System.UriKind]::Absolute, [ref] $uri) -or $uri.Scheme -notin 'http', 'https' -or $uri.UserInfo -or $uri.Query) {
        throw (New-Object DataGatewayException 'NoEndpoint', 'The endpoint must be an address such as https://gateway.example.com.')
    }
    if ($uri.Scheme -eq 'http' -and -not $uri.IsLoopback) {
        Write-Warning "$($uri.Host) is spoken to in clear text: others on the way can read the secret. Use https."
    }
    $uri.AbsoluteUri.TrimEnd('/')
}

# Assert-Secret refuses a plain text where a secret belongs. Secret parameters are objects checked by it: were they of type SecureString,
# PowerShell's own binding error would show the text.
function Assert-Secret($Value) {
    if ($Value -is [securestring]) { return $true }
    throw 'A secret must be a SecureString: use Read-Host -AsSecureString, or ConvertTo-SecureString.'
}

# ConvertFrom-Secret opens a SecureString for the moment of its use.
function ConvertFrom-Secret([securestring] $Secret) {
    $pointer = [System.Runtime.InteropServices.Marshal]::SecureStringToGlobalAllocUnicode($Secret)
    try {
        [System.Runtime.InteropServices.Marshal]::PtrToStringUni($pointer, $Secret.Length)
    } finally {
        [System.Runtime.InteropServices.Marshal]::ZeroFreeGlobalAllocUnicode($pointer)
    }
}

function ConvertTo-Secret([string] $Text) {
    $secret = New-Object System.Security.SecureString
    foreach ($c in $Text.ToCharArray()) { $secret.AppendChar($c) }
    $secret.MakeReadOnly()
    $secret
}

# Update-Token gets a new access token with the session's id and secret.
function Update-Token($Session) {
    $form = 'grant_type=client_credentials&scope=' + [uri]::EscapeDataString('https://analysis.windows.net/powerbi/api/.default') +
        '&client_id=' + [uri]::EscapeDataString($Session.ApplicationId) + '&client_secret=' + [uri]::EscapeDataString((ConvertFrom-Secret $Session.ClientSecret))
    $path = '/oauth2/v2.0/token'
    if ($Session.Tenant) { $path = '/' + [uri]::EscapeDataString($Session.Tenant) + $path }
    $request = @{ Method = 'POST'; Uri = $Session.Endpoint + $path; Body = [System.Text.Encoding]::UTF8.GetBytes($form)
        ContentType = 'application/x-www-form-urlencoded'; Accept = 'application/json'; TimeoutSeconds = 60; Token = '' }
    $answer = ConvertFrom-GatewayJson (Read-AnswerText (Send-Request $request))
    $Session.Token = ConvertTo-Secret $answer.access_token
    $Session.RenewAt = [datetime]::UtcNow.AddSeconds($answer.expires_in) - (Get-RenewalMargin $answer.expires_in)
    $Session.Claims = Read-TokenClaim $answer.access_token
}

# Get-RenewalMargin: two minutes, less for tokens that do not live long.
function Get-RenewalMargin([double] $Lifetime) {
    [timespan]::FromSeconds([Math]::Min($script:RenewBefore.TotalSeconds, $Lifetime / 4))
}

# Read-TokenClaim reads a token's claims. They are shown only, so the signature does not matter here.
function Read-TokenClaim([string] $Token) {
    $part = $Token.Split('.')[1].Replace('-', '+').Replace('_', '/')
    $padded = $part.PadRight($part.Length + (4 - $part.Length % 4) % 4, '=')
    ConvertFrom-GatewayJson ([System.Text.Encoding]::UTF8.GetString([Convert]::FromBase64String($padded)))
}

# Get-Token returns the access token, renewed when its end is near.
function Get-Token([switch] $Renew) {
    $session = Get-Session
    if ($Renew -or [datetime]::UtcNow -ge $session.RenewAt) { Update-Token $session }
    ConvertFrom-Secret $session.Token
}
