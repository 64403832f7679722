function Get-DataGatewayClusterMember {
    <#
    .SYNOPSIS
    Lists the members of a cluster, or returns one.
    .DESCRIPTION
    The primary first, then by the time they were added: the order in which Failover takes them. State is what the administrator wants, Status what the
    tunnel shows, RunningRequests, CpuPercent and MemoryPercent how busy the machine is. Draining is what the administrator wants, MachineDraining what the
    machine says of itself: it is going down. The table's column Draining shows either.
    .EXAMPLE
    Get-DataGatewayClusterMember -GatewayClusterId $id | Where-Object Status -ne Live
    .OUTPUTS
    Comporta.MemberGateway
    #>
    [CmdletBinding(PositionalBinding = $false)]
    [OutputType('Comporta.MemberGateway')]
    param(
        # Taken for compatibility; an id is enough.
        [Comporta.PowerBIUserScope] $Scope = 'Individual',

        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # One member.
        [Parameter(ValueFromPipelineByPropertyName)]
        [Alias('MemberId')]
        [guid] $MemberGatewayId,

        # Taken for compatibility; an id is enough.
        [string] $RegionKey
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        $one = $PSBoundParameters.ContainsKey('MemberGatewayId')
        Invoke-Guarded $PSCmdlet $GatewayClusterId {
            if ($one) { return New-MemberObject (Invoke-Gateway GET (Get-ClusterPath $Scope $GatewayClusterId "/memberGateways/$MemberGatewayId")) }
            foreach ($member in (Invoke-Gateway GET (Get-ClusterPath $Scope $GatewayClusterId '/memberGateways')).value) { New-MemberObject $member }
        }
    }
}

function Set-DataGatewayClusterMember {
    <#
    .SYNOPSIS
    Changes a member: name, texts, draining, limits, or makes it the primary.
    .DESCRIPTION
    Changes what is given; what is left out or null stays. Limits set on a member win over the cluster's.
    .EXAMPLE
    Set-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $member -ConcurrentOperationLimit 10
    .EXAMPLE
    Set-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $member -Primary
    #>
    [CmdletBinding(PositionalBinding = $false, SupportsShouldProcess)]
    param(
        # Taken for compatibility; an id is enough.
        [Comporta.PowerBIUserScope] $Scope = 'Individual',

        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # The member.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [guid] $MemberGatewayId,

        # The new name (text), 1 to 200 characters, unique in the cluster.
        [object] $Name,

        # The description (text).
        [object] $Description,

        # What clients keep with a member: the text of a JSON object.
        [object] $Annotation,

        # Draining: takes no new request and finishes the running ones, without being disabled.
        [Nullable[bool]] $Draining,

        # CPU limit of the whole machine in percent, 0 to 100; 0 is off.
        [Nullable[int]] $CPUUtilizationPercentageThreshold,

        # Memory limit of the whole machine in percent, 0 to 100; 0 is off.
        [Nullable[int]] $MemoryUtilizationPercentageThreshold,

        # Over how many minutes CPU and memory are averaged, 1 to 60.
        [Nullable[int]] $ResourceUtilizationAggregationTimeInMinutes,

        # How many requests the member runs at once; 0 is off.
        [Nullable[int]] $ConcurrentOperationLimit,

        # Take the member's own limits away first, so that the cluster's apply.
        [switch] $ResetLimits,

        # Make it the primary, the member that Failover tries first.
        [switch] $Primary
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        if (-not $PSCmdlet.ShouldProcess($MemberGatewayId, 'Change member')) { return }
        $bound = $PSBoundParameters
        Invoke-Guarded $PSCmdlet $MemberGatewayId {
            $path = Get-ClusterPath $Scope $GatewayClusterId "/memberGateways/$MemberGatewayId"
            $body = Select-Bound $bound ($script:LimitNames + @{ Draining = 'draining' })
            Add-Text $body @{ name = $Name; description = $Description; annotation = $Annotation }
            if ($body.Count -gt 0) { [void] (Invoke-Gateway PATCH $path $body) }
            if ($Primary) { [void] (Invoke-Gateway POST "$path/promote") }
        }
    }
}

function Enable-DataGatewayClusterMember {
    <#
    .SYNOPSIS
    Enables a member.
    .DESCRIPTION
    It takes requests again at once.
    .EXAMPLE
    Get-DataGatewayClusterMember -GatewayClusterId $id | Enable-DataGatewayClusterMember
    #>
    [CmdletBinding(PositionalBinding = $false, SupportsShouldProcess)]
    param(
        # Taken for compatibility; an id is enough.
        [Comporta.PowerBIUserScope] $Scope = 'Individual',

        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # The member.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [guid] $MemberGatewayId
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        if (-not $PSCmdlet.ShouldProcess($MemberGatewayId, 'Enable member')) { return }
        Invoke-Guarded $PSCmdlet $MemberGatewayId {
            [void] (Invoke-Gateway PATCH (Get-ClusterPath $Scope $GatewayClusterId "/memberGateways/$MemberGatewayId") @{ enabled = $true })
        }
    }
}

function Disable-DataGatewayClusterMember {
    <#
    .SYNOPSIS
    Disables a member, for maintenance or an update.
    .DESCRIPTION
    From the moment it returns the member gets no new request; the running ones finish. With -Wait it returns when none is running any more.
    .EXAMPLE
    Disable-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $member -Wait
    #>
    [CmdletBinding(PositionalBinding = $false, SupportsShouldProcess)]
    param(
        # Taken for compatibility; an id is enough.
        [Comporta.PowerBIUserScope] $Scope = 'Individual',

        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # The member.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [guid] $MemberGatewayId,

        # Wait until the member runs no request.
        [switch] $Wait,

        # How long to wait, in seconds. When it is over the command fails; the member stays disabled.
        [ValidateRange(1, 86400)]
        [int] $TimeoutSec = 1800
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        if (-not $PSCmdlet.ShouldProcess($MemberGatewayId, 'Disable member')) { return }
        Invoke-Guarded $PSCmdlet $MemberGatewayId {
            $path = Get-ClusterPath $Scope $GatewayClusterId "/memberGateways/$MemberGatewayId"
            [void] (Invoke-Gateway PATCH $path @{ enabled = $false })
            if ($Wait) { Wait-Idle $path $TimeoutSec }
        }
    }
}

# Wait-Idle waits until a member runs no request.
function Wait-Idle([string] $Path, [int] $Seconds) {
    $clock = [System.Diagnostics.Stopwatch]::StartNew()
    while (($running = (Invoke-Gateway GET $Path).runningRequests) -gt 0) {
        if ($clock.Elapsed.TotalSeconds -ge $Seconds) {
            throw (New-Object DataGatewayException 'MemberBusy', "The member is disabled, and still runs $running requests after $Seconds seconds.")
        }
        Write-Progress -Activity 'Waiting for running requests' -Status "$running left"
        Start-Sleep -Milliseconds 250
    }
    Write-Progress -Activity 'Waiting for running requests' -Completed
}

function Add-DataGatewayClusterMember {
    <#
    .SYNOPSIS
    Adds a member to a cluster.
    .DESCRIPTION
    Returns an enrolment token, good for one hour and one machine. On the machine, run "comporta member join --server URL --state DIR
    --enrolment-token-file FILE"; with -StateDirectory this machine joins at once. The member serves every data source of the cluster.
    .EXAMPLE
    Add-DataGatewayClusterMember -GatewayClusterId $id -GatewayName second -RecoveryKey $key
    .OUTPUTS
    Comporta.Invitation
    #>
    [CmdletBinding(PositionalBinding = $false, SupportsShouldProcess)]
    [OutputType('Comporta.Invitation')]
    param(
        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # The cluster's recovery key (SecureString).
        [Parameter(Mandatory)]
        [ValidateScript({ Assert-Secret $_ })]
        [object] $RecoveryKey,

        # The member's name, unique in the cluster.
        [Parameter(Mandatory)]
        [Alias('Name')]
        [string] $GatewayName,

        # Ready the member of that name for a rebuilt machine, under its old id.
        [switch] $OverwriteExistingGateway,

        # Taken for compatibility; an id is enough.
        [string] $RegionKey,

        # Join this machine and keep the member's keys in this folder. It takes the program comporta on PATH.
        [string] $StateDirectory
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        if (-not $PSCmdlet.ShouldProcess($GatewayName, 'Add member')) { return }
        Invoke-Guarded $PSCmdlet $GatewayClusterId {
            Add-GatewayMachine $GatewayClusterId $GatewayName $RecoveryKey $StateDirectory -Overwrite:$OverwriteExistingGateway
        }
    }
}

# Add-GatewayMachine makes a member, or readies an existing one for another machine, and joins this machine if that is wanted.
function Add-GatewayMachine([guid] $ClusterId, [string] $Name, [securestring] $RecoveryKey, [string] $StateDirectory, [switch] $Overwrite) {
    if ($StateDirectory) { $program = Find-MemberProgram }
    $body = @{ name = $Name; recoveryKey = ConvertFrom-Secret $RecoveryKey; overwriteExistingGateway = [bool] $Overwrite }
    $invitation = New-InvitationObject (Invoke-Gateway POST (Get-ClusterPath Individual $ClusterId '/memberGateways') $body)
    if ($StateDirectory) { Complete-Invitation $invitation $program $StateDirectory $RecoveryKey -Overwrite:$Overwrite }
    $invitation
}

function Restore-DataGatewayClusterMember {
    <#
    .SYNOPSIS
    Readies a member for a rebuilt machine.
    .DESCRIPTION
    The member keeps its id. Returns an enrolment token for the new machine; the old one works until the new one has joined. With -StateDirectory this
    machine takes the member over at once.
    .EXAMPLE
    Restore-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $member -RecoveryKey $key
    .OUTPUTS
    Comporta.Invitation
    #>
    [CmdletBinding(PositionalBinding = $false, SupportsShouldProcess)]
    [OutputType('Comporta.Invitation')]
    param(
        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # The member.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [guid] $MemberGatewayId,

        # The cluster's recovery key (SecureString).
        [Parameter(Mandatory)]
        [ValidateScript({ Assert-Secret $_ })]
        [object] $RecoveryKey,

        # Join this machine and keep the member's keys in this folder. It takes the program comporta on PATH.
        [string] $StateDirectory,

        # Taken for compatibility; an id is enough.
        [string] $RegionKey
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        if (-not $PSCmdlet.ShouldProcess($MemberGatewayId, 'Restore member')) { return }
        Invoke-Guarded $PSCmdlet $MemberGatewayId {
            $member = Invoke-Gateway GET (Get-ClusterPath Individual $GatewayClusterId "/memberGateways/$MemberGatewayId")
            Add-GatewayMachine $GatewayClusterId $member.name $RecoveryKey $StateDirectory -Overwrite
        }
    }
}

function Remove-DataGatewayClusterMember {
    <#
    .SYNOPSIS
    Removes a member from its cluster.
    .DESCRIPTION
    The member is cut off at once. The primary goes last, and the cluster goes with it.
    .EXAMPLE
    Remove-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $member
    #>
    [CmdletBinding(PositionalBinding = $false, SupportsShouldProcess, ConfirmImpact = 'High')]
    param(
        # Taken for compatibility; an id is enough.
        [Comporta.PowerBIUserScope] $Scope = 'Individual',

        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # The member.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [guid] $MemberGatewayId,

        # Taken for compatibility; an id is enough.
        [string] $RegionKey
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        if (Test-Unattended $PSBoundParameters) { $ConfirmPreference = 'None' }
        if (-not $PSCmdlet.ShouldProcess($MemberGatewayId, 'Remove member')) { return }
        Invoke-Guarded $PSCmdlet $MemberGatewayId { Invoke-Gateway DELETE (Get-ClusterPath $Scope $GatewayClusterId "/memberGateways/$MemberGatewayId") }
    }
}
