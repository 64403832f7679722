# The ten functions of the older module OnPremisesDataGatewayHAMgmt, made of Comporta's commands: same names, parameters, texts and objects.

Set-StrictMode -Version Latest

$beside = Join-Path $PSScriptRoot '../../Comporta/Comporta.psd1'
if (Test-Path -LiteralPath $beside) { $comporta = Import-Module $beside -PassThru } else { $comporta = Import-Module Comporta -PassThru }
. (Join-Path $comporta.ModuleBase 'Private/Preference.ps1')

# Selected is the region that Set-OnPremisesDataGatewayRegion chose; empty is all.
$script:Selected = ''

# Test-Login says the older module's words when nobody is logged in.
function Test-Login {
    try { [void] (Get-DataGatewayAccessToken); return $true } catch { Write-Warning 'Please log in first.' }
    $false
}

# Invoke-Old runs a step and turns an expired login into the older module's words.
function Invoke-Old([scriptblock] $Action) {
    try { & $Action } catch {
        if ($_.FullyQualifiedErrorId -notlike 'TokenExpired,*') { throw }
        Write-Warning 'Token expired, please login again.'
    }
}

# Get-Contact reads contact information and machine from an annotation.
function Get-Contact([string] $Annotation) {
    $a = $Annotation | ConvertFrom-Json
    @{ Contact = @($a.gatewayContactInformation) -join ' '; Machine = $a.gatewayMachine; All = $a }
}

# Get-MemberStatusWord is the older word for a state: None is disabled.
function Get-MemberStatusWord([string] $State) {
    if ($State -eq 'Enabled') { return 'Enabled' }
    'None'
}

# ConvertTo-OldGateway is a member in the older shape.
function ConvertTo-OldGateway($Member) {
    $contact = Get-Contact $Member.Annotation
    [pscustomobject] [ordered] @{
        gatewayObjectId = "$($Member.Id)"; gatewayName = $Member.Name; isAnchorGateway = $Member.IsPrimary; gatewayStatus = $Member.Status
        gatewayClusterStatus = Get-MemberStatusWord $Member.State; gatewayVersion = $Member.Version; gatewayVersionStatus = $Member.VersionStatus
        gatewayPublicKey = $Member.PublicKey; expiryDate = $Member.ExpiryDate; gatewayContactInformation = $contact.Contact; gatewayMachine = $contact.Machine
    }
}

# ConvertTo-OldCluster is a cluster in the older shape; an unknown selector is Failover.
function ConvertTo-OldCluster($Cluster) {
    $type = 'Failover'
    if (($Cluster.LoadBalancingSettings | ConvertFrom-Json).selector -eq 1) { $type = 'Random' }
    [pscustomobject] [ordered] @{
        objectId = "$($Cluster.Id)"; name = $Cluster.Name; description = $Cluster.Description; versionStatus = $Cluster.VersionStatus; expiryDate = $Cluster.ExpiryDate
        type = $Cluster.Type; options = $Cluster.Options; loadBalancingSettings = $Cluster.LoadBalancingSettings; loadBalancingType = $type
        permission = ConvertTo-Json -InputObject $Cluster.Permissions -Depth 5 -Compress
        gateways = ConvertTo-Json -InputObject @($Cluster.MemberGateways | ForEach-Object { ConvertTo-OldGateway $_ }) -Depth 5 -Compress
    }
}

function Set-OnPremisesDataGatewayUserAccount {
    <#
    .SYNOPSIS
    Logs in.
    .DESCRIPTION
    An e-mail address cannot log in here: the application in COMPORTA_CLIENT_ID and COMPORTA_CLIENT_SECRET does, at COMPORTA_ENDPOINT. A connection made with
    Connect-DataGatewayServiceAccount is kept.
    .EXAMPLE
    Login-OnPremisesDataGateway -EmailAddress admin@example.com
    #>
    [CmdletBinding()]
    [Alias('Login-OnPremisesDataGateway')]
    param(
        # Taken for compatibility.
        [Parameter(Mandatory)]
        [string] $EmailAddress,

        # Taken for compatibility.
        [string] $GatewayInstallDirectory
    )
    Use-CallerPreference $PSCmdlet
    $connected = $false
    try { $connected = [bool] (Get-DataGatewayAccessToken) } catch { Write-Verbose "No connection yet for $EmailAddress." }
    if (-not $connected) {
        try { $connected = [bool] (Connect-DataGatewayServiceAccount) } catch { Write-Warning "Acquire token failed. $($_.Exception.Message)" }
    }
    if ($connected) { Write-Host "Current backend is: $((Get-DataGatewayRegion | Where-Object IsDefaultPowerBIRegion).BackendUri)" }
}

function Remove-OnPremisesDataGatewayUserAccount {
    <#
    .SYNOPSIS
    Logs out.
    .DESCRIPTION
    Forgets the connection and the chosen region.
    .EXAMPLE
    Logout-OnPremisesDataGateway
    #>
    [CmdletBinding()]
    [Alias('Logout-OnPremisesDataGateway')]
    param()
    Use-CallerPreference $PSCmdlet
    $script:Selected = ''
    Disconnect-DataGatewayServiceAccount
}

function Get-OnPremisesDataGatewayRegions {
    <#
    .SYNOPSIS
    Lists the regions.
    .DESCRIPTION
    All are served by one address.
    .EXAMPLE
    Get-OnPremisesDataGatewayRegions
    #>
    [CmdletBinding()]
    param()
    Use-CallerPreference $PSCmdlet
    if (-not (Test-Login)) { return }
    Invoke-Old { Get-DataGatewayRegion | ForEach-Object { $_.Region } }
}

function Set-OnPremisesDataGatewayRegion {
    <#
    .SYNOPSIS
    Chooses the region whose clusters are listed.
    .DESCRIPTION
    Without a region: all of them.
    .EXAMPLE
    Set-OnPremisesDataGatewayRegion -Region home
    #>
    [CmdletBinding(SupportsShouldProcess)]
    param(
        # Its name or key.
        [string] $Region
    )
    Use-CallerPreference $PSCmdlet
    if (-not (Test-Login) -or -not $PSCmdlet.ShouldProcess($Region, 'Choose region')) { return }
    $found = Get-DataGatewayRegion | Where-Object { -not $Region -or $_.Region -eq $Region -or $_.RegionKey -eq $Region } | Select-Object -First 1
    if (-not $found) { Write-Warning 'Invalid region.'; return }
    $script:Selected = ''
    if ($Region) { $script:Selected = $found.RegionKey }
    Write-Host "Current backend is: $($found.BackendUri)"
}

function Get-OnPremisesDataGatewayClusters {
    <#
    .SYNOPSIS
    Lists the clusters in which you have a role.
    .DESCRIPTION
    gateways and permission are JSON texts, as in the older module.
    .EXAMPLE
    Get-OnPremisesDataGatewayClusters | ForEach-Object { $_.gateways | ConvertFrom-Json }
    #>
    [CmdletBinding()]
    param()
    Use-CallerPreference $PSCmdlet
    if (-not (Test-Login)) { return }
    Invoke-Old { Get-DataGatewayCluster -RegionKey $script:Selected | ForEach-Object { ConvertTo-OldCluster $_ } }
}

function Get-OnPremisesDataClusterGateways {
    <#
    .SYNOPSIS
    Lists the members of a cluster with their status.
    .DESCRIPTION
    The primary (anchor) first.
    .EXAMPLE
    Get-OnPremisesDataClusterGateways -ClusterObjectId $id
    #>
    [CmdletBinding()]
    param(
        # The cluster.
        [Parameter(Mandatory)]
        [guid] $ClusterObjectId
    )
    Use-CallerPreference $PSCmdlet
    if (-not (Test-Login)) { return }
    Invoke-Old {
        Get-DataGatewayClusterMember -GatewayClusterId $ClusterObjectId | ForEach-Object {
            $status = Get-OldStatus $_
            [pscustomobject] [ordered] @{
                gatewayId = "$($_.Id)"; gatewayObjectId = "$($_.Id)"; gatewayName = $_.Name; isAnchorGateway = $_.IsPrimary; gatewayStatus = $status.gatewayStatus
                gatewayVersion = $status.gatewayVersion; gatewayUpgradeState = $status.gatewayUpgradeState; gatewayClusterStatus = Get-MemberStatusWord $_.State
                gatewayMachine = (Get-Contact $_.Annotation).Machine
            }
        }
    }
}

# Get-OldStatus is a member's status in the older words.
function Get-OldStatus($Member) {
    $version, $upgrade = 'Unknown', 'Unknown'
    if ($Member.Status -eq 'Live') { $version, $upgrade = $Member.Version, 'UpToDate' }
    [pscustomobject] [ordered] @{ gatewayStatus = $Member.Status; gatewayVersion = $version; gatewayUpgradeState = $upgrade }
}

function Get-OnPremisesDataGatewayStatus {
    <#
    .SYNOPSIS
    Says whether a member can be reached.
    .DESCRIPTION
    A member that cannot is Unreachable, with version and upgrade state Unknown.
    .EXAMPLE
    Get-OnPremisesDataGatewayStatus -ClusterObjectId $id -GatewayObjectId $member
    #>
    [CmdletBinding()]
    param(
        # The cluster.
        [Parameter(Mandatory)]
        [guid] $ClusterObjectId,

        # The member.
        [Parameter(Mandatory)]
        [guid] $GatewayObjectId
    )
    Use-CallerPreference $PSCmdlet
    if (-not (Test-Login)) { return }
    Invoke-Old { Get-OldStatus (Get-DataGatewayClusterMember -GatewayClusterId $ClusterObjectId -MemberGatewayId $GatewayObjectId) }
}

function Set-OnPremisesDataGateway {
    <#
    .SYNOPSIS
    Enables, disables or renames a member, or changes whom to ask about it.
    .DESCRIPTION
    Changes what is given. None disables, Enabled enables.
    .EXAMPLE
    Set-OnPremisesDataGateway -ClusterObjectId $id -GatewayObjectId $member -MemberStatus None
    #>
    [CmdletBinding(SupportsShouldProcess)]
    param(
        # The cluster.
        [Parameter(Mandatory)]
        [guid] $ClusterObjectId,

        # The member.
        [Parameter(Mandatory)]
        [guid] $GatewayObjectId,

        # None: disabled. Enabled: enabled.
        [ValidateSet('None', 'Enabled')]
        [string] $MemberStatus,

        # Whom to ask about it.
        [string] $GatewayContactInformation,

        # The new name.
        [string] $Name
    )
    Use-CallerPreference $PSCmdlet
    if (-not (Test-Login)) { return }
    if ($PSBoundParameters.ContainsKey('Name') -and -not $Name.Trim()) { Write-Warning 'Gateway name cannot be empty.'; return }
    if (-not $PSCmdlet.ShouldProcess($GatewayObjectId, 'Change member')) { return }
    $bound, $member = $PSBoundParameters, @{ GatewayClusterId = $ClusterObjectId; MemberGatewayId = $GatewayObjectId; ErrorAction = 'Stop'; Confirm = $false }
    Invoke-Old {
        $change = @{}
        if ($bound.ContainsKey('Name')) { $change.Name = $Name }
        if ($bound.ContainsKey('GatewayContactInformation')) {
            $annotation = (Get-Contact (Get-DataGatewayClusterMember -GatewayClusterId $ClusterObjectId -MemberGatewayId $GatewayObjectId).Annotation).All
            $annotation.gatewayContactInformation = @($GatewayContactInformation)
            $change.Annotation = ConvertTo-Json -InputObject $annotation -Depth 5 -Compress
        }
        if ($change.Count -gt 0) { Set-DataGatewayClusterMember @member @change }
        if ($MemberStatus -eq 'None') { Disable-DataGatewayClusterMember @member }
        if ($MemberStatus -eq 'Enabled') { Enable-DataGatewayClusterMember @member }
        ConvertTo-OldGateway (Get-DataGatewayClusterMember -GatewayClusterId $ClusterObjectId -MemberGatewayId $GatewayObjectId) | Select-Object -Property * -ExcludeProperty gatewayStatus
    }
}

function Remove-OnPremisesDataGateway {
    <#
    .SYNOPSIS
    Removes a member.
    .DESCRIPTION
    A member that is not there counts as removed. The primary goes last.
    .EXAMPLE
    Remove-OnPremisesDataGateway -ClusterObjectId $id -GatewayObjectId $member
    #>
    [CmdletBinding(SupportsShouldProcess)]
    param(
        # The cluster.
        [Parameter(Mandatory)]
        [guid] $ClusterObjectId,

        # The member.
        [Parameter(Mandatory)]
        [guid] $GatewayObjectId
    )
    Use-CallerPreference $PSCmdlet
    if (-not (Test-Login) -or -not $PSCmdlet.ShouldProcess($GatewayObjectId, 'Remove member')) { return }
    Invoke-Old {
        try { Remove-DataGatewayClusterMember -GatewayClusterId $ClusterObjectId -MemberGatewayId $GatewayObjectId -Confirm:$false } catch {
            if ($_.FullyQualifiedErrorId -notlike '*EntityNotFound,*') { throw }
        }
    }
}

function Set-OnPremisesDataGatewayCluster {
    <#
    .SYNOPSIS
    Changes a cluster's name, description or load balancing.
    .DESCRIPTION
    Changes what is given.
    .EXAMPLE
    Set-OnPremisesDataGatewayCluster -ClusterObjectId $id -LoadBalancingType Random
    #>
    [CmdletBinding(SupportsShouldProcess)]
    param(
        # The cluster.
        [Parameter(Mandatory)]
        [guid] $ClusterObjectId,

        # The new name.
        [string] $Name,

        # The description.
        [string] $Description,

        # Failover: the primary first. Random: any member.
        [ValidateSet('Failover', 'Random')]
        [string] $LoadBalancingType
    )
    Use-CallerPreference $PSCmdlet
    if (-not (Test-Login)) { return }
    if ($PSBoundParameters.ContainsKey('Name') -and -not $Name.Trim()) { Write-Warning 'Cluster name cannot be empty.'; return }
    if (-not $PSCmdlet.ShouldProcess($ClusterObjectId, 'Change cluster')) { return }
    $change = @{}
    foreach ($pair in @{ Name = 'Name'; Description = 'Description'; LoadBalancingType = 'LoadBalancingSelectorType' }.GetEnumerator()) {
        if ($PSBoundParameters.ContainsKey($pair.Key)) { $change[$pair.Value] = $PSBoundParameters[$pair.Key] }
    }
    Invoke-Old {
        Set-DataGatewayCluster -GatewayClusterId $ClusterObjectId @change -Confirm:$false
        ConvertTo-OldCluster (Get-DataGatewayCluster -GatewayClusterId $ClusterObjectId)
    }
}

Export-ModuleMember -Function '*-OnPremisesData*' -Alias '*-OnPremisesDataGateway'
