function Get-DataGatewayClusterDatasource {
    <#
    .SYNOPSIS
    Lists the data sources of a cluster, or returns one.
    .DESCRIPTION
    Those that you may see, oldest first, with their users. Whether one works is a question for Get-DataGatewayClusterDatasourceStatus.
    .EXAMPLE
    Get-DataGatewayCluster | Get-DataGatewayClusterDatasource
    .OUTPUTS
    Comporta.GatewayClusterDatasource
    #>
    [CmdletBinding(PositionalBinding = $false)]
    [OutputType('Comporta.GatewayClusterDatasource')]
    param(
        # Taken for compatibility; an id is enough.
        [Comporta.PowerBIUserScope] $Scope = 'Individual',

        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # One data source.
        [Parameter(ValueFromPipelineByPropertyName)]
        [Alias('DatasourceId', 'Datasource')]
        [guid] $GatewayClusterDatasourceId
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        $one = $PSBoundParameters.ContainsKey('GatewayClusterDatasourceId')
        $name = $null
        $found = Invoke-Guarded $PSCmdlet $GatewayClusterId {
            if ($one) { Invoke-Gateway GET (Get-ClusterPath $Scope $GatewayClusterId "/datasources/$GatewayClusterDatasourceId") }
            else { (Invoke-Gateway GET (Get-ClusterPath $Scope $GatewayClusterId '/datasources?$expand=users')).value }
        }
        if ($found) { $name = Invoke-Guarded $PSCmdlet $GatewayClusterId { (Invoke-Gateway GET (Get-ClusterPath $Scope $GatewayClusterId)).name } }
        Write-Converted @($found) 'Reading data sources' { param($d) New-DatasourceObject $d $name }
    }
}

function Get-DataGatewayDatasource {
    <#
    .SYNOPSIS
    Lists the data sources of all clusters.
    .DESCRIPTION
    Those that you may see, cluster by cluster.
    .EXAMPLE
    Get-DataGatewayDatasource | Group-Object DatasourceType
    .OUTPUTS
    Comporta.GatewayClusterDatasource
    #>
    [CmdletBinding(PositionalBinding = $false)]
    [OutputType('Comporta.GatewayClusterDatasource')]
    param(
        # Individual: the clusters in which you have a role. Organization: all of them.
        [Comporta.PowerBIUserScope] $Scope = 'Individual',

        # Only the clusters of this region. Default: of all regions.
        [string] $RegionKey
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        $clusters = @(Invoke-Guarded $PSCmdlet $null { Get-DataGatewayCluster -Scope $Scope -RegionKey $RegionKey -ErrorAction Stop })
        foreach ($cluster in $clusters) {
            Invoke-Guarded $PSCmdlet $cluster.Id { Get-DataGatewayClusterDatasource -Scope $Scope -GatewayClusterId $cluster.Id -ErrorAction Stop }
        }
    }
}

function New-DataGatewayClusterDatasource {
    <#
    .SYNOPSIS
    Registers a data source on a cluster.
    .DESCRIPTION
    The credentials are encrypted here, with the cluster's public key: only its members can open them, the service cannot. You become its Owner. It does
    not connect; ask Get-DataGatewayClusterDatasourceStatus for that.
    .EXAMPLE
    New-DataGatewayClusterDatasource -GatewayClusterId $id -DatasourceName Sales -DatasourceType PostgreSql -ConnectionDetails @{ server = 'db:5432'; database = 'sales' } -Credential (Get-Credential)
    .OUTPUTS
    Comporta.GatewayClusterDatasource
    #>
    [CmdletBinding(PositionalBinding = $false, SupportsShouldProcess)]
    [OutputType('Comporta.GatewayClusterDatasource')]
    param(
        # Taken for compatibility; an id is enough.
        [Comporta.PowerBIUserScope] $Scope = 'Individual',

        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # Its name, unique in the cluster.
        [Parameter(Mandatory)]
        [string] $DatasourceName,

        # Its type: Sql, PostgreSql, MySql, Extension (SQLite), Web, OData, File or Folder.
        [Parameter(Mandatory)]
        [string] $DatasourceType,

        # Where it is: a table such as @{ server = 'db:5432'; database = 'sales' }, or the same as a JSON text. SQLite: kind and path. Web and OData: url.
        # File and Folder: path.
        [Parameter(Mandatory)]
        [object] $ConnectionDetails,

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
        [string] $PrivacyLevel,

        # How users sign on.
        [ValidateSet('None', 'Kerberos', 'AzureActiveDirectory', 'SAML', 'KerberosDirectQueryAndRefresh')]
        [string] $SingleSignOnType,

        # What clients keep with it.
        [string] $Annotation
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        if (-not $PSCmdlet.ShouldProcess($DatasourceName, 'Register data source')) { return }
        $bound = $PSBoundParameters
        Invoke-Guarded $PSCmdlet $GatewayClusterId {
            $details = $ConnectionDetails
            if ($details -isnot [string]) { $details = ConvertTo-Json -InputObject $details -Compress }
            $body = Select-Bound $bound @{ DatasourceName = 'datasourceName'; DatasourceType = 'datasourceType'; SingleSignOnType = 'singleSignOnType'; Annotation = 'datasourceAnnotation' }
            $body.connectionDetails = $details
            $body.credentialDetails = New-CredentialDetail $Scope $GatewayClusterId $bound
            $made = Invoke-Gateway POST (Get-ClusterPath $Scope $GatewayClusterId '/datasources') $body
            New-DatasourceObject $made (Invoke-Gateway GET (Get-ClusterPath $Scope $GatewayClusterId)).name
        }
    }
}

function Set-DataGatewayClusterDatasource {
    <#
    .SYNOPSIS
    Changes a data source.
    .DESCRIPTION
    Changes what is given; what is left out or null stays. Credentials have a command of their own, but a data source that moves takes new ones with it, so
    that nobody has the stored password sent to a machine of his own. Encryption and privacy are kept with the credentials, and change with them only.
    .EXAMPLE
    Set-DataGatewayClusterDatasource -GatewayClusterId $id -GatewayClusterDatasourceId $source -DatasourceName Sales
    .EXAMPLE
    Set-DataGatewayClusterDatasource -GatewayClusterId $id -GatewayClusterDatasourceId $source -ConnectionDetails @{ server = 'db2:5432'; database = 'sales' } -Credential (Get-Credential)
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

        # What clients keep with it (text).
        [object] $Annotation,

        # The new name (text), unique in the cluster.
        [object] $DatasourceName,

        # How users sign on: None, Kerberos, KerberosDirectQueryAndRefresh, AzureActiveDirectory or SAML.
        [object] $SingleSignOnType,

        # Where it is: a table or a JSON text. A new place takes new credentials.
        [object] $ConnectionDetails,

        # With a new place: what kind of credentials these are. Default: Basic with -Credential, Key with -Secret.
        [ValidateSet('Basic', 'Windows', 'Anonymous', 'Key', 'OAuth2', 'SAS', 'ServicePrincipal')]
        [string] $CredentialType,

        # With a new place: user name and password (Basic, Windows), or application id and secret (ServicePrincipal).
        [pscredential] $Credential,

        # With a new place: the key (Key), access token (OAuth2) or token (SAS) (SecureString).
        [ValidateScript({ Assert-Secret $_ })]
        [object] $Secret,

        # The tenant of a ServicePrincipal.
        [string] $CredentialTenantId,

        # Encrypted: TLS with a certificate that members trust. Any: TLS where the data source has it. NotEncrypted: clear text.
        # Left out, it stays as it is. It takes the credentials along.
        [ValidateSet('Encrypted', 'Any', 'NotEncrypted')]
        [string] $EncryptedConnection,

        # Kept for clients that read it. It takes the credentials along.
        [ValidateSet('None', 'Public', 'Organizational', 'Private')]
        [string] $PrivacyLevel
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        if (-not $PSCmdlet.ShouldProcess($GatewayClusterDatasourceId, 'Change data source')) { return }
        $bound = $PSBoundParameters
        Invoke-Guarded $PSCmdlet $GatewayClusterDatasourceId {
            $details = $ConnectionDetails
            if ($details -and $details -isnot [string]) { $details = ConvertTo-Json -InputObject $details -Compress }
            $body = @{}
            Add-Word $body 'SingleSignOnType' $SingleSignOnType
            Add-Text $body @{ datasourceName = $DatasourceName; datasourceAnnotation = $Annotation; connectionDetails = $details }
            if ($Credential -or $Secret -or $CredentialType) { $body.credentialDetails = New-CredentialDetail $Scope $GatewayClusterId $bound }
            else { Assert-NoCredentialSetting $bound }
            [void] (Invoke-Gateway PATCH (Get-ClusterPath $Scope $GatewayClusterId "/datasources/$GatewayClusterDatasourceId") $body)
        }
    }
}

function Remove-DataGatewayClusterDatasource {
    <#
    .SYNOPSIS
    Removes a data source.
    .DESCRIPTION
    Its users lose their rights with it. It cannot be undone.
    .EXAMPLE
    Get-DataGatewayClusterDatasource -Cluster $id | Remove-DataGatewayClusterDatasource -Confirm:$false
    #>
    [CmdletBinding(PositionalBinding = $false, SupportsShouldProcess, ConfirmImpact = 'High')]
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
        [guid] $GatewayClusterDatasourceId
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        if (Test-Unattended $PSBoundParameters) { $ConfirmPreference = 'None' }
        if (-not $PSCmdlet.ShouldProcess($GatewayClusterDatasourceId, 'Remove data source')) { return }
        Invoke-Guarded $PSCmdlet $GatewayClusterDatasourceId { Invoke-Gateway DELETE (Get-ClusterPath $Scope $GatewayClusterId "/datasources/$GatewayClusterDatasourceId") }
    }
}
