function Connect-DataGatewayServiceAccount {
    <#
    .SYNOPSIS
    Logs in to a Comporta service.
    .DESCRIPTION
    Gets an access token for an application (service principal) and keeps the connection for the other commands, which renew the token by themselves.
    The address comes from -Endpoint or the environment variable COMPORTA_ENDPOINT. Without -ApplicationId, the application comes from -Credential, from
    COMPORTA_CLIENT_ID and COMPORTA_CLIENT_SECRET, or from a prompt where somebody is there to answer it. Secrets stay in memory only.
    .EXAMPLE
    Connect-DataGatewayServiceAccount -Endpoint https://gateway.example.com -ApplicationId $id -ClientSecret (Read-Host -AsSecureString)
    .EXAMPLE
    $env:COMPORTA_ENDPOINT = 'https://gateway.example.com'; Connect-DataGatewayServiceAccount -Credential (Get-Credential)
    .OUTPUTS
    Comporta.Profile
    #>
    [CmdletBinding(PositionalBinding = $false, DefaultParameterSetName = 'User')]
    [Alias('Login-DataGateway', 'Login-DataGatewayServiceAccount', 'Add-DataGatewayServiceAccount', 'Set-DataGatewayServiceAccount')]
    [OutputType('Comporta.Profile')]
    param(
        # The application's id.
        [Parameter(Mandatory, ParameterSetName = 'ServicePrincipal')]
        [Parameter(Mandatory, ParameterSetName = 'ServicePrincipalCertificate')]
        [string] $ApplicationId,

        # The application's secret (SecureString).
        [Parameter(Mandatory, ParameterSetName = 'ServicePrincipal')]
        [ValidateScript({ Assert-Secret $_ })]
        [object] $ClientSecret,

        # Taken for compatibility; logging in with a certificate is not supported.
        [Parameter(Mandatory, ParameterSetName = 'ServicePrincipalCertificate')]
        [string] $CertificateThumbprint,

        # The tenant, as part of the login address. A service has one tenant, so any value will do.
        [Parameter(ParameterSetName = 'ServicePrincipal')]
        [Parameter(ParameterSetName = 'ServicePrincipalCertificate')]
        [Alias('TenantId')]
        [string] $Tenant,

        # The application's id as user name and its secret as password.
        [Parameter(ParameterSetName = 'User')]
        [pscredential] $Credential,

        # Taken for compatibility; logging in with a device code is not supported.
        [Parameter(ParameterSetName = 'User')]
        [switch] $ForceDeviceCodeAuthentication,

        # Taken for compatibility and shown in the profile; it changes nothing.
        [Comporta.PowerBIEnvironmentType] $Environment = 'Public',

        # The address of the service, such as https://gateway.example.com. Default: COMPORTA_ENDPOINT.
        [string] $Endpoint
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        $script:Session = $null # a login that fails must not leave the one before it in force
        if ($PSCmdlet.ParameterSetName -eq 'ServicePrincipalCertificate') {
            return Stop-Unsupported $PSCmdlet 'Logging in with a certificate is not supported. Use -ApplicationId and -ClientSecret.'
        }
        if ($ForceDeviceCodeAuthentication) {
            return Stop-Unsupported $PSCmdlet 'Logging in with a device code is not supported. Use -ApplicationId and -ClientSecret.'
        }
        Invoke-Guarded $PSCmdlet $Endpoint {
            $session = @{ Endpoint = Resolve-Endpoint $Endpoint; Environment = "$Environment"; ApplicationId = $ApplicationId; ClientSecret = $ClientSecret
                Tenant = $Tenant; Token = $null; RenewAt = [datetime]::MinValue; Claims = $null }
            if (-not $ApplicationId) { $session.ApplicationId, $session.ClientSecret = Find-ClientCredential $Credential }
            Update-Token $session
            $script:Session = $session
            New-ProfileObject $session
        }
    }
}

function Disconnect-DataGatewayServiceAccount {
    <#
    .SYNOPSIS
    Logs out.
    .DESCRIPTION
    Forgets the connection and its secrets. Without a connection it does nothing.
    .EXAMPLE
    Disconnect-DataGatewayServiceAccount
    #>
    [CmdletBinding(PositionalBinding = $false)]
    [Alias('Logout-DataGateway', 'Logout-DataGatewayServiceAccount', 'Remove-DataGatewayServiceAccount')]
    param()
    begin { Use-CallerPreference $PSCmdlet }
    process {
        $script:Session = $null
    }
}

# Find-ClientCredential finds id and secret where no parameter gave them.
function Find-ClientCredential([pscredential] $Credential) {
    if (-not $Credential -and $env:COMPORTA_CLIENT_ID -and $env:COMPORTA_CLIENT_SECRET) {
        return $env:COMPORTA_CLIENT_ID, (ConvertTo-Secret $env:COMPORTA_CLIENT_SECRET)
    }
    if (-not $Credential -and (Test-Interactive)) {
        $Credential = Get-Credential -Message 'Application id (user name) and secret (password)'
    }
    if (-not $Credential) {
        throw (New-Object DataGatewayException 'NoCredential', 'Give -ApplicationId and -ClientSecret, or set COMPORTA_CLIENT_ID and COMPORTA_CLIENT_SECRET: nobody is there to be asked.')
    }
    return $Credential.UserName, $Credential.Password
}

# Test-Unattended reports whether to remove without asking: nobody is there to answer, and the caller said neither -Confirm nor $ConfirmPreference.
# Microsoft's commands do not ask, so a script that runs at night does not say -Confirm:$false.
function Test-Unattended($Bound) {
    -not $Bound.ContainsKey('Confirm') -and $ConfirmPreference -eq 'High' -and -not (Test-Interactive)
}

# Test-Interactive reports whether a prompt would be answered; in a remote session the caller's own machine asks.
function Test-Interactive {
    if ($Host.Name -eq 'ServerRemoteHost') { return $true }
    if ([System.Console]::IsInputRedirected -or -not [System.Environment]::UserInteractive) { return $false }
    -not (@([System.Environment]::GetCommandLineArgs()) -match '^-noni')
}
