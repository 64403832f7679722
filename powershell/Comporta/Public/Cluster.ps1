function Get-DataGatewayCluster {
    <#
    .SYNOPSIS
    Lists gateway clusters, or returns one.
    .DESCRIPTION
    The clusters in which you have a role, oldest first, with their members and permissions; with -Scope Organization every cluster, which takes a
    TenantAdmin. The list is complete and of one moment.
    .EXAMPLE
    Get-DataGatewayCluster | Select-Object -ExpandProperty MemberGateways
    .EXAMPLE
    Get-DataGatewayCluster -GatewayClusterId $id -Scope Organization
    .OUTPUTS
    Comporta.GatewayCluster
    #>
    [CmdletBinding(PositionalBinding = $false)]
    [OutputType('Comporta.GatewayCluster')]
    param(
        # Individual: the clusters in which you have a role. Organization: all of them.
        [Comporta.PowerBIUserScope] $Scope = 'Individual',

        # Only the clusters of this region. Default: of all regions.
        [string] $RegionKey,

        # The id of one cluster.
        [Parameter(ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        $one = $PSBoundParameters.ContainsKey('GatewayClusterId')
        $found = Invoke-Guarded $PSCmdlet $GatewayClusterId {
            if ($one) { return Invoke-Gateway GET (Get-ClusterPath $Scope $GatewayClusterId) }
            $region = Resolve-Region $RegionKey
            $list = (Invoke-Gateway GET ((Get-ScopePath $Scope) + '/gatewayClusters?$expand=permissions,memberGateways') -TimeoutSeconds 300).value
            if ($region) { $list = $list | Where-Object -Property region -EQ -Value $region }
            $list
        }
        Write-Converted @($found) 'Reading clusters' { param($c) New-ClusterObject $c }
    }
}

# Resolve-Region checks a region key against what the service has; nothing for none given.
function Resolve-Region([string] $RegionKey) {
    if (-not $RegionKey) { return }
    $keys = @((Invoke-Gateway GET '/v2.0/myorg/gatewayRegions').value | ForEach-Object { $_.regionKey })
    foreach ($key in $keys) { if ($key -eq $RegionKey) { return $key } }
    throw (New-Object DataGatewayException 'InvalidInput', "There is no region ""$RegionKey"". The regions are: $($keys -join ', ').")
}

function Set-DataGatewayCluster {
    <#
    .SYNOPSIS
    Changes a cluster: name, texts, load balancing, limits.
    .DESCRIPTION
    Changes what is given; what is left out or null stays. Limits hold for every member that has none of its own.
    .EXAMPLE
    Set-DataGatewayCluster -GatewayClusterId $id -LoadBalancingSelectorType Random -ConcurrentOperationLimit 20
    #>
    [CmdletBinding(PositionalBinding = $false, SupportsShouldProcess)]
    param(
        # Taken for compatibility; an id is enough.
        [Comporta.PowerBIUserScope] $Scope = 'Individual',

        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # The new name (text), 1 to 200 characters.
        [object] $Name,

        # The department (text).
        [object] $Department,

        # The description (text).
        [object] $Description,

        # Whom to ask about the cluster (text).
        [object] $ContactInformation,

        # Kept for clients that read it.
        [Nullable[bool]] $AllowCloudDatasourceRefresh,

        # Kept for clients that read it.
        [Nullable[bool]] $AllowCustomConnectors,

        # Failover: the primary first. Random (Fabric: DistributeEvenly): any member. LeastLoaded: the less busy of two.
        [object] $LoadBalancingSelectorType,

        # CPU limit of the whole machine in percent, 0 to 100; 0 is off.
        [Nullable[int]] $CPUUtilizationPercentageThreshold,

        # Memory limit of the whole machine in percent, 0 to 100; 0 is off.
        [Nullable[int]] $MemoryUtilizationPercentageThreshold,

        # Over how many minutes CPU and memory are averaged, 1 to 60.
        [Nullable[int]] $ResourceUtilizationAggregationTimeInMinutes,

        # How many requests a member runs at once; 0 is off.
        [Nullable[int]] $ConcurrentOperationLimit,

        # How many seconds a request waits for a place when all members run as many as they may; 0 refuses at once.
        [Nullable[int]] $QueueTimeoutSeconds,

        # Take all limits of the cluster away first.
        [switch] $ResetLimits,

        # Taken for compatibility; an id is enough.
        [string] $RegionKey
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        if (-not $PSCmdlet.ShouldProcess($GatewayClusterId, 'Change cluster')) { return }
        $bound = $PSBoundParameters
        Invoke-Guarded $PSCmdlet $GatewayClusterId {
            $body = Select-Bound $bound ($script:LimitNames + @{ AllowCloudDatasourceRefresh = 'allowCloudDatasourceRefresh'
                    AllowCustomConnectors = 'allowCustomConnectors'; QueueTimeoutSeconds = 'queueTimeoutSeconds' })
            Add-Word $body 'LoadBalancingSelectorType' $LoadBalancingSelectorType
            Add-Text $body @{ name = $Name; department = $Department; description = $Description; contactInformation = $ContactInformation }
            [void] (Invoke-Gateway PATCH (Get-ClusterPath $Scope $GatewayClusterId) $body)
        }
    }
}

# LimitNames are the limits of clusters and members, from parameter to property.
$script:LimitNames = @{
    CPUUtilizationPercentageThreshold = 'cpuUtilizationPercentageThreshold'; MemoryUtilizationPercentageThreshold = 'memoryUtilizationPercentageThreshold'
    ResourceUtilizationAggregationTimeInMinutes = 'resourceUtilizationAggregationTimeInMinutes'; ConcurrentOperationLimit = 'concurrentOperationLimit'; ResetLimits = 'resetLimits'
}

# Add-Text adds texts to a request. A [string] parameter cannot tell null from "", and null must mean "unchanged", so these are objects.
# Two texts where one belongs are a slip, mostly two objects where one was expected.
function Add-Text([hashtable] $Body, [hashtable] $Texts) {
    foreach ($name in $Texts.Keys) {
        if ($Texts[$name] -is [array]) { throw (New-Object DataGatewayException 'InvalidInput', "$name takes one text, not $($Texts[$name].Count).") }
        if ($null -ne $Texts[$name]) { $Body[$name] = [string] $Texts[$name] }
    }
}

# Words are those that a setting takes; a null, or a string variable that holds none, leaves it unchanged, which a ValidateSet does not let through.
$script:Words = @{
    LoadBalancingSelectorType = 'Failover', 'Random', 'DistributeEvenly', 'LeastLoaded'
    SingleSignOnType          = 'None', 'Kerberos', 'AzureActiveDirectory', 'SAML', 'KerberosDirectQueryAndRefresh'
}

# Add-Word adds the word of a setting to a request.
function Add-Word([hashtable] $Body, [string] $Name, [string] $Word) {
    if (-not $Word) { return }
    if ($Word -notin $script:Words[$Name]) {
        throw (New-Object DataGatewayException 'InvalidInput', "-$Name takes one of $($script:Words[$Name] -join ','), not ""$Word"".")
    }
    $Body[$Name.Substring(0, 1).ToLowerInvariant() + $Name.Substring(1)] = $Word
}

function Add-DataGatewayCluster {
    <#
    .SYNOPSIS
    Makes a cluster and its first member.
    .DESCRIPTION
    Returns the cluster's id as GatewayObjectId and an enrolment token, good for one hour and one machine. On the machine, run
    "comporta member join --server URL --state DIR --enrolment-token-file FILE"; with -StateDirectory this machine joins at once.
    You become the cluster's Admin. Keep the recovery key: nobody can find it again.
    .EXAMPLE
    (Add-DataGatewayCluster -Name Sales -RecoveryKey (Read-Host -AsSecureString)).GatewayObjectId
    .EXAMPLE
    Add-DataGatewayCluster -Name Sales -RecoveryKey $key -StateDirectory /var/lib/comporta-member/state
    .OUTPUTS
    Comporta.Invitation
    #>
    [CmdletBinding(PositionalBinding = $false, SupportsShouldProcess)]
    [OutputType('Comporta.Invitation')]
    param(
        # The secret with which machines join, at least 8 characters (SecureString).
        [Parameter(Mandatory)]
        [ValidateScript({ Assert-Secret $_ })]
        [object] $RecoveryKey,

        # The cluster's name, not used by another cluster.
        [Parameter(Mandatory)]
        [Alias('Name')]
        [string] $GatewayName,

        # The cluster's region. Default: the home region.
        [string] $RegionKey,

        # Take over the cluster of that name, if the recovery key is its own: ids, data sources and rights stay.
        [switch] $OverwriteExistingGateway,

        # The first member's name. Default: the cluster's name.
        [string] $MemberName,

        # The cluster's description.
        [string] $Description,

        # Join this machine and keep the member's keys in this folder. It takes the program comporta on PATH.
        [string] $StateDirectory
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        if (-not $PSCmdlet.ShouldProcess($GatewayName, 'Make cluster')) { return }
        $bound = $PSBoundParameters
        Invoke-Guarded $PSCmdlet $GatewayName {
            if ($StateDirectory) { $program = Find-MemberProgram }
            $body = Select-Bound $bound @{ GatewayName = 'name'; RegionKey = 'region'; OverwriteExistingGateway = 'overwriteExistingGateway'
                MemberName = 'memberName'; Description = 'description' }
            $body.recoveryKey = ConvertFrom-Secret $RecoveryKey
            $invitation = New-InvitationObject (Invoke-Gateway POST '/v2.0/myorg/me/gatewayClusters' $body)
            if ($StateDirectory) { Complete-Invitation $invitation $program $StateDirectory $RecoveryKey -Overwrite:$OverwriteExistingGateway }
            $invitation
        }
    }
}

function Remove-DataGatewayCluster {
    <#
    .SYNOPSIS
    Removes a cluster with its members, data sources and permissions.
    .DESCRIPTION
    Removes everything in one step; members are cut off at once. It cannot be undone.
    .EXAMPLE
    Remove-DataGatewayCluster -GatewayClusterId $id -Confirm:$false
    #>
    [CmdletBinding(PositionalBinding = $false, SupportsShouldProcess, ConfirmImpact = 'High')]
    param(
        # Taken for compatibility; an id is enough.
        [Comporta.PowerBIUserScope] $Scope = 'Individual',

        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # Taken for compatibility; an id is enough.
        [string] $RegionKey
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        if (Test-Unattended $PSBoundParameters) { $ConfirmPreference = 'None' }
        if (-not $PSCmdlet.ShouldProcess($GatewayClusterId, 'Remove cluster')) { return }
        Invoke-Guarded $PSCmdlet $GatewayClusterId { Invoke-Gateway DELETE (Get-ClusterPath $Scope $GatewayClusterId) }
    }
}
