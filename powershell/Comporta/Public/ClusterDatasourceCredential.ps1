function Set-DataGatewayClusterDatasourceCredential {
    <#
    .SYNOPSIS
    Replaces the credentials of a data source.
    .DESCRIPTION
    They are encrypted here for every member of the cluster. The data source keeps its id and users; the next request of every member uses them.
    .EXAMPLE
    Set-DataGatewayClusterDatasourceCredential -GatewayClusterId $id -GatewayClusterDatasourceId $source -Credential (Get-Credential)
    #>
    [CmdletBinding(PositionalBinding = $false, SupportsShouldProcess)]
    param(
        # Taken for compatibility; an id is enough.
        [Comporta.PowerBIUserScope] $Scope = 'Individual',

        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # The data source.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('DatasourceId', 'Datasource')]
        [guid] $GatewayClusterDatasourceId,

        # What kind of credentials these are. Default: Basic with -Credential, Key with -Secret, else Anonymous.
        [ValidateSet('Basic', 'Windows', 'Anonymous', 'Key', 'OAuth2', 'SAS', 'ServicePrincipal')]
        [string] $CredentialType,

        # User name and password (Basic, Windows), or application id and secret (ServicePrincipal).
        [pscredential] $Credential,

        # The key (Key), access token (OAuth2) or token (SAS) (SecureString).
        [ValidateScript({ Assert-Secret $_ })]
        [object] $Secret,

        # The tenant of a ServicePrincipal.
        [string] $CredentialTenantId,

        # Encrypted: TLS with a certificate that members trust. Any: TLS where the data source has it. NotEncrypted: clear text.
        # Left out, it stays as it is; a new data source gets Encrypted.
        [ValidateSet('Encrypted', 'Any', 'NotEncrypted')]
        [string] $EncryptedConnection,

        # Kept for clients that read it.
        [ValidateSet('None', 'Public', 'Organizational', 'Private')]
        [string] $PrivacyLevel
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        if (-not $PSCmdlet.ShouldProcess($GatewayClusterDatasourceId, 'Replace credentials')) { return }
        $bound = $PSBoundParameters
        Invoke-Guarded $PSCmdlet $GatewayClusterDatasourceId {
            $body = @{ credentialDetails = New-CredentialDetail $Scope $GatewayClusterId $bound }
            [void] (Invoke-Gateway PATCH (Get-ClusterPath $Scope $GatewayClusterId "/datasources/$GatewayClusterDatasourceId/credentials") $body)
        }
    }
}
