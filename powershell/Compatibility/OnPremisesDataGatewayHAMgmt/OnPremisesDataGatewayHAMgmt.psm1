# The ten functions of the older module OnPremisesDataGatewayHAMgmt, on the REST surface that it speaks: same names, parameters, texts and objects.
#
# One thing differs on purpose. Where the service refuses or cannot be reached, Microsoft's functions write a warning and the script goes on as if nothing
# had happened; these fail, so that it can tell. The older module's own words, for an unknown id, an empty name, no or an old login, are as they were.

Set-StrictMode -Version Latest

$beside = Join-Path $PSScriptRoot '../../Comporta/Comporta.psd1'
if (Test-Path -LiteralPath $beside) { $comporta = Import-Module $beside -PassThru } else { $comporta = Import-Module Comporta -PassThru }
foreach ($file in 'Preference', 'Json') { . (Join-Path $comporta.ModuleBase "Private/$file.ps1") }

# Selected is the region that Set-OnPremisesDataGatewayRegion chose; empty is all.
$script:Selected = ''

# Test-Login says the older module's words when nobody is logged in.
function Test-Login {
    try { [void] (Get-DataGatewayAccessToken); return $true } catch { Write-Warning 'Please log in first.' }
    $false
}

# Invoke-Old runs a step and turns an expired login into the older module's words. What the step answers is collected first: a failure of the script,
# further down the pipeline, must not pass for one of ours.
function Invoke-Old([scriptblock] $Action) {
    $answer = @()
    try { $answer = @(& $Action) } catch {
        if ($_.FullyQualifiedErrorId -notlike 'TokenExpired,*') { throw }
        Write-Warning 'Token expired, please login again.'
    }
    foreach ($item in $answer) { , $item }
}

# Send-Old sends a request to the surface of the older module and returns the answer's objects.
function Send-Old([string] $Method, [string] $Path, $Body) {
    $text = Invoke-DataGatewayRestMethod -Method $Method -Url "/unifiedgateway/gatewayclusters$Path" -Body $Body -TimeoutSec 300 -Confirm:$false
    if ($text) { ConvertFrom-GatewayJson $text }
}

# Find-OldCluster reads a cluster, and Find-OldGateway one of its members; of an id that is none they say so and return nothing.
function Find-OldCluster([guid] $ClusterObjectId) {
    try { Send-Old Get "/$ClusterObjectId" } catch {
        if ($_.FullyQualifiedErrorId -notlike '*EntityNotFound,*') { throw }
        Write-Host -ForegroundColor Red 'Invalid cluster object Id'
    }
}

function Find-OldGateway([guid] $ClusterObjectId, [guid] $GatewayObjectId) {
    $cluster = Find-OldCluster $ClusterObjectId
    if ($null -eq $cluster) { return }
    $gateway = $cluster.gateways | Where-Object { $_.gatewayObjectId -eq "$GatewayObjectId" }
    if ($gateway) { return $gateway }
    Write-Host -ForegroundColor Red 'Invalid gateway object Id'
}

# Read-OldStatus is a member's status; one that cannot be reached has a status too.
function Read-OldStatus([guid] $ClusterObjectId, [guid] $GatewayObjectId) {
    try { Send-Old Get "/$ClusterObjectId/gateways/$GatewayObjectId/status" } catch {
        if ($_.FullyQualifiedErrorId -notlike 'DM_GWPipeline_Client_GatewayUnreachable,*') { throw }
        [pscustomobject] [ordered] @{ gatewayStatus = 'Unreachable'; gatewayVersion = 'Unknown'; gatewayUpgradeState = 'Unknown' }
    }
}

# ConvertTo-OldGateway shows a member without some of its properties, and with what its annotation says of contact and machine.
function ConvertTo-OldGateway($Gateway, [string[]] $Without) {
    $annotation = ConvertFrom-GatewayJson $Gateway.gatewayAnnotation
    foreach ($name in $Without + 'gatewayAnnotation', 'gatewayStaticCapabilities', 'gatewayLoadBalancingSettings') { $Gateway.PSObject.Properties.Remove($name) }
    Add-Member -InputObject $Gateway -MemberType NoteProperty -Name gatewayContactInformation -Value (@($annotation.gatewayContactInformation) -join ' ')
    Add-Member -InputObject $Gateway -MemberType NoteProperty -Name gatewayMachine -Value $annotation.gatewayMachine -PassThru
}

# ConvertTo-OldCluster shows a cluster without some of its properties, and with the word for its load balancing; an unknown selector is Failover.
function ConvertTo-OldCluster($Cluster, [string[]] $Without) {
    $type = 'Failover'
    if ((ConvertFrom-GatewayJson $Cluster.loadBalancingSettings).selector -eq 1) { $type = 'Random' }
    foreach ($name in $Without) { $Cluster.PSObject.Properties.Remove($name) }
    Add-Member -InputObject $Cluster -MemberType NoteProperty -Name loadBalancingType -Value $type -PassThru
}

# ConvertTo-OldList makes of a listed cluster what the list shows: its members and permissions are JSON texts.
function ConvertTo-OldList($Cluster) {
    $shown = ConvertTo-OldCluster $Cluster 'annotation', 'publicKey', 'keyword', 'metadata', 'gatewayId'
    $gateways = @(foreach ($gateway in $shown.gateways) { ConvertTo-OldGateway $gateway })
    $shown.gateways = ConvertTo-Json -InputObject $gateways -Depth 5 -Compress
    $shown.permission = ConvertTo-Json -InputObject @($shown.permission) -Depth 5 -Compress
    $shown
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
    gateways and permission are JSON texts, as in the older module. A failure is an error here, where Microsoft's warns and returns nothing.
    .EXAMPLE
    Get-OnPremisesDataGatewayClusters | ForEach-Object { $_.gateways | ConvertFrom-Json }
    #>
    [CmdletBinding()]
    param()
    Use-CallerPreference $PSCmdlet
    if (-not (Test-Login)) { return }
    Invoke-Old {
        $list = Send-Old Get
        if ($script:Selected) {
            $here = @(Get-DataGatewayCluster -RegionKey $script:Selected | ForEach-Object { "$($_.Id)" })
            $list = $list | Where-Object { $_.objectId -in $here }
        }
        foreach ($cluster in $list) { ConvertTo-OldList $cluster }
    }
}

function Get-OnPremisesDataClusterGateways {
    <#
    .SYNOPSIS
    Lists the members of a cluster with their status.
    .DESCRIPTION
    The primary (anchor) first. Of an id that is no cluster's it says so and returns nothing; any other failure is an error.
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
        $cluster = Find-OldCluster $ClusterObjectId
        if ($null -eq $cluster) { return }
        foreach ($gateway in $cluster.gateways) {
            $status = Read-OldStatus $ClusterObjectId $gateway.gatewayObjectId
            [pscustomobject] [ordered] @{
                gatewayId = $gateway.gatewayId; gatewayObjectId = $gateway.gatewayObjectId; gatewayName = $gateway.gatewayName; isAnchorGateway = $gateway.isAnchorGateway
                gatewayStatus = $status.gatewayStatus; gatewayVersion = $status.gatewayVersion; gatewayUpgradeState = $status.gatewayUpgradeState
                gatewayClusterStatus = $gateway.gatewayClusterStatus; gatewayMachine = (ConvertFrom-GatewayJson $gateway.gatewayAnnotation).gatewayMachine
            }
        }
    }
}

function Get-OnPremisesDataGatewayStatus {
    <#
    .SYNOPSIS
    Says whether a member can be reached.
    .DESCRIPTION
    A member that cannot is Unreachable, with version and upgrade state Unknown. Of ids that are none it says so and returns nothing, where Microsoft's
    warns; any other failure is an error.
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
    Invoke-Old { if (Find-OldGateway $ClusterObjectId $GatewayObjectId) { Read-OldStatus $ClusterObjectId $GatewayObjectId } }
}

function Set-OnPremisesDataGateway {
    <#
    .SYNOPSIS
    Enables, disables or renames a member, or changes whom to ask about it.
    .DESCRIPTION
    Changes what is given. None disables, Enabled enables. A change that fails is an error, where Microsoft's warns and returns nothing; but with
    -GatewayContactInformation ids that are none are said to be so, and nothing is changed.
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
    $change = @{}
    if ($PSBoundParameters.ContainsKey('MemberStatus')) { $change.clusterMemberStatus = $MemberStatus }
    if ($PSBoundParameters.ContainsKey('Name')) { $change.gatewayName = $Name }
    $contact = $PSBoundParameters.ContainsKey('GatewayContactInformation')
    Invoke-Old {
        if ($contact) {
            $gateway = Find-OldGateway $ClusterObjectId $GatewayObjectId
            if ($null -eq $gateway) { return }
            $annotation = ConvertFrom-GatewayJson $gateway.gatewayAnnotation
            $annotation.gatewayContactInformation = @($GatewayContactInformation)
            $change.gatewayAnnotation = ConvertTo-Json -InputObject $annotation -Depth 5 -Compress
        }
        ConvertTo-OldGateway (Send-Old Patch "/$ClusterObjectId/gateways/$GatewayObjectId" $change) 'gatewayStatus'
    }
}

function Remove-OnPremisesDataGateway {
    <#
    .SYNOPSIS
    Removes a member.
    .DESCRIPTION
    A member that is not there counts as removed. The primary goes last. A failure is an error, where Microsoft's warns.
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
        try { Send-Old Delete "/$ClusterObjectId/gateways/$GatewayObjectId" } catch {
            if ($_.FullyQualifiedErrorId -notlike '*EntityNotFound,*') { throw }
        }
    }
}

function Set-OnPremisesDataGatewayCluster {
    <#
    .SYNOPSIS
    Changes a cluster's name, description or load balancing.
    .DESCRIPTION
    Changes what is given, and returns the cluster with gateways and permission as objects. A failure is an error, where Microsoft's warns and returns
    nothing.
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
    if ($PSBoundParameters.ContainsKey('Name')) { $change.name = $Name }
    if ($PSBoundParameters.ContainsKey('Description')) { $change.description = $Description }
    if ($PSBoundParameters.ContainsKey('LoadBalancingType')) { $change.loadBalancingSettings = @{ Failover = '{"selector":0}'; Random = '{"selector":1}' }[$LoadBalancingType] }
    Invoke-Old { ConvertTo-OldCluster (Send-Old Patch "/$ClusterObjectId" $change) 'annotation' }
}

Export-ModuleMember -Function '*-OnPremisesData*' -Alias '*-OnPremisesDataGateway'
