# From the service's JSON to the objects that scripts read. Every property is there on every object, null where there is nothing, and
# each call makes new objects: scripts add properties to what they get.

# New-ClusterObject makes a GatewayCluster.
function New-ClusterObject($Json) {
    $id = [guid] $Json.id
    [pscustomobject] @{
        PSTypeName                                  = 'Comporta.GatewayCluster'
        Id                                          = $id
        Name                                        = $Json.name
        Description                                 = $Json.description
        Status                                      = $Json.status
        Region                                      = $Json.region
        Type                                        = $Json.type
        Department                                  = $Json.department
        ContactInformation                          = $Json.contactInformation
        Permissions                                 = [object[]] @(foreach ($p in $Json.permissions) { New-PermissionObject $p $id })
        DataSourceIds                               = [guid[]] @($Json.dataSourceIds)
        Datasources                                 = [object[]] @(foreach ($d in $Json.dataSourceIds) { [pscustomobject] @{ Id = [guid] $d; ClusterId = $id } })
        MemberGateways                              = [object[]] @(foreach ($m in $Json.memberGateways) { New-MemberObject $m })
        Options                                     = [pscustomobject] @{ CloudDatasourceRefresh = $Json.options.CloudDatasourceRefresh; CustomConnectors = $Json.options.CustomConnectors }
        LoadBalancingSelectorType                   = $Json.loadBalancingSelectorType
        LoadBalancingSettings                       = $Json.loadBalancingSettings
        StaticCapabilities                          = $Json.staticCapabilities
        VersionStatus                               = $Json.versionStatus
        ExpiryDate                                  = $Json.expiryDate
        Annotation                                  = $Json.annotation
        PublicKey                                   = [pscustomobject] @{ Exponent = $Json.publicKey.exponent; Modulus = $Json.publicKey.modulus }
        PrimaryMemberId                             = [guid] $Json.primaryMemberId
        CPUUtilizationPercentageThreshold           = $Json.cpuUtilizationPercentageThreshold
        MemoryUtilizationPercentageThreshold        = $Json.memoryUtilizationPercentageThreshold
        ResourceUtilizationAggregationTimeInMinutes = $Json.resourceUtilizationAggregationTimeInMinutes
        ConcurrentOperationLimit                    = $Json.concurrentOperationLimit
        QueueTimeoutSeconds                         = $Json.queueTimeoutSeconds
        CreatedDateTime                             = ConvertTo-GatewayTime $Json.createdDateTime
    }
}

# New-MemberObject makes a MemberGateway. It carries the ids under the names of the parameters, so that it pipes into the commands.
function New-MemberObject($Json) {
    [pscustomobject] @{
        PSTypeName                                  = 'Comporta.MemberGateway'
        Id                                          = [guid] $Json.id
        Name                                        = $Json.name
        Description                                 = $Json.description
        Status                                      = $Json.status
        State                                       = $Json.state
        Region                                      = $Json.region
        Type                                        = $Json.type
        Version                                     = $Json.version
        VersionStatus                               = $Json.versionStatus
        ExpiryDate                                  = $Json.expiryDate
        Annotation                                  = $Json.annotation
        ClusterId                                   = [guid] $Json.clusterId
        PublicKey                                   = Format-KeyText $Json.publicKey
        IsPrimary                                   = $Json.isPrimary
        Draining                                    = $Json.draining
        MachineDraining                             = $Json.machineDraining
        Enrolled                                    = $Json.enrolled
        RunningRequests                             = $Json.runningRequests
        CpuPercent                                  = $Json.load.cpuPercent
        MemoryPercent                               = $Json.load.memoryPercent
        CPUUtilizationPercentageThreshold           = $Json.cpuUtilizationPercentageThreshold
        MemoryUtilizationPercentageThreshold        = $Json.memoryUtilizationPercentageThreshold
        ResourceUtilizationAggregationTimeInMinutes = $Json.resourceUtilizationAggregationTimeInMinutes
        ConcurrentOperationLimit                    = $Json.concurrentOperationLimit
        LastSeenDateTime                            = ConvertTo-GatewayTime $Json.lastSeenDateTime
        CreatedDateTime                             = ConvertTo-GatewayTime $Json.createdDateTime
        NodeId                                      = $null
        OnPremGatewayUpdateStatus                   = $null
        LastGatewayUpdateStatusCheckTime            = $null
        GatewayClusterId                            = [guid] $Json.clusterId
        MemberGatewayId                             = [guid] $Json.id
    }
}

# Format-KeyText is a member's public key as the text that Microsoft's module shows: base64 of XML.
function Format-KeyText($Key) {
    $xml = '<RSAParameters><Exponent>' + $Key.exponent + '</Exponent><Modulus>' + $Key.modulus + '</Modulus></RSAParameters>'
    [Convert]::ToBase64String([System.Text.Encoding]::UTF8.GetBytes($xml))
}

# New-PermissionObject makes a Permission.
function New-PermissionObject($Json, [guid] $ClusterId) {
    [pscustomobject] @{
        PSTypeName             = 'Comporta.Permission'
        Id                     = $Json.id
        PrincipalType          = $Json.principalType
        PrincipalDisplayName   = $Json.principalDisplayName
        PrincipalEmail         = $Json.principalEmail
        TenantId               = $Json.tenantId
        Role                   = $Json.role
        AllowedDataSourceTypes = $Json.allowedDataSourceTypes
        AllowedDataSources     = $Json.allowedDataSources
        ClusterId              = $ClusterId
        GatewayClusterId       = $ClusterId
        PrincipalObjectId      = $Json.id
    }
}

# New-ClusterStatusObject makes a GatewayClusterStatusResponse. Its messages are plain texts.
function New-ClusterStatusObject($Json, [guid] $ClusterId) {
    [pscustomobject] @{
        PSTypeName                 = 'Comporta.GatewayClusterStatus'
        ClusterStatus              = $Json.clusterStatus
        GatewayStaticCapabilities  = $Json.gatewayStaticCapabilities
        GatewayVersion             = $Json.gatewayVersion
        GatewayUpgradeState        = $Json.gatewayUpgradeState
        MemberGatewayErrorMessages = [string[]] @($Json.memberGatewayErrorMessages)
        MemberGatewayErrors        = [object[]] @(foreach ($e in $Json.memberGatewayErrors) {
                [pscustomobject] @{ MemberGatewayId = [guid] $e.memberGatewayId; GatewayName = $e.gatewayName; ErrorCode = $e.errorCode; ErrorMessage = $e.errorMessage } })
        ClusterId                  = $ClusterId
    }
}

# New-DatasourceObject makes a GatewayClusterDatasource. Credentials are never in it.
function New-DatasourceObject($Json, [string] $ClusterName) {
    $users = [object[]] @(foreach ($u in $Json.users) { New-DatasourceUserObject $u $Json.clusterId $Json.id })
    [pscustomobject] @{
        PSTypeName                 = 'Comporta.GatewayClusterDatasource'
        Id                         = [guid] $Json.id
        ClusterId                  = [guid] $Json.clusterId
        ClusterName                = $ClusterName
        DatasourceName             = $Json.datasourceName
        DatasourceType             = $Json.datasourceType
        ConnectionDetails          = $Json.connectionDetails
        CredentialType             = $Json.credentialType
        CredentialDetails          = $null
        Key                        = $null
        Users                      = $users
        DatasourceUsers            = $users
        DatasourceErrorDetails     = [object[]] @(foreach ($e in $Json.datasourceErrorDetails) {
                [pscustomobject] @{ GatewayName = $e.gatewayName; ErrorCode = $e.errorCode; ErrorMessage = $e.errorMessage } })
        SingleSignOnType           = $Json.singleSignOnType
        SingleSignOnEnabled        = $Json.singleSignOnType -ne 'None'
        OnPremGatewayRequired      = $Json.onPremGatewayRequired
        Annotation                 = $Json.datasourceAnnotation
        CreatedDateTime            = ConvertTo-GatewayTime $Json.createdDateTime
        GatewayClusterId           = [guid] $Json.clusterId
        GatewayClusterDatasourceId = [guid] $Json.id
    }
}

# New-DatasourceUserObject makes a UserAccessRightEntry.
function New-DatasourceUserObject($Json, $ClusterId, $DatasourceId) {
    [pscustomobject] @{
        PSTypeName                 = 'Comporta.UserAccessRightEntry'
        DatasourceUserAccessRight  = $Json.datasourceAccessRight
        PrincipalType              = $Json.principalType
        DisplayName                = $Json.displayName
        Identifier                 = $Json.identifier
        UserEmailAddress           = $Json.emailAddress
        GroupUserAccessRight       = $null
        Role                       = $Json.role
        GatewayClusterId           = [guid] $ClusterId
        GatewayClusterDatasourceId = [guid] $DatasourceId
        UserId                     = $Json.identifier
    }
}

# New-InvitationObject makes what Add-... and Restore-... return.
function New-InvitationObject($Json) {
    [pscustomobject] @{
        PSTypeName         = 'Comporta.Invitation'
        GatewayObjectId    = [guid] $Json.gatewayObjectId
        Name               = $Json.name
        ClusterId          = [guid] $Json.clusterId
        MemberGatewayId    = [guid] $Json.memberGatewayId
        Joined             = $false
        EnrolmentToken     = $Json.enrolmentToken
        EnrolmentExpiresAt = ConvertTo-GatewayTime $Json.enrolmentExpiresAt
    }
}

# New-ProfileObject makes the PowerBIProfile of a connection.
function New-ProfileObject($Session) {
    [pscustomobject] @{
        PSTypeName  = 'Comporta.Profile'
        Environment = $Session.Environment
        TenantId    = Get-Property $Session.Claims 'tid'
        UserName    = $Session.ApplicationId
        LoginType   = 'ServicePrincipal'
        Endpoint    = $Session.Endpoint
    }
}

# Write-Converted turns a list into objects one by one, with progress where it is long.
function Write-Converted([object[]] $List, [string] $Activity, [scriptblock] $Convert) {
    $shown = $List.Count -ge 500
    for ($i = 0; $i -lt $List.Count; $i++) {
        if ($shown -and $i % 250 -eq 0) { Write-Progress -Activity $Activity -Status "$i of $($List.Count)" -PercentComplete (100 * $i / $List.Count) }
        & $Convert $List[$i]
    }
    if ($shown) { Write-Progress -Activity $Activity -Completed }
}
