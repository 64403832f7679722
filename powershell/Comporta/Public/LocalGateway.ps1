function Install-DataGateway {
    <#
    .SYNOPSIS
    Not supported: a member is one program, installed as you install programs.
    .DESCRIPTION
    Put the program comporta on the machine and run "comporta member join" and "comporta member run"; see the help of Add-DataGatewayClusterMember.
    .EXAMPLE
    Add-DataGatewayClusterMember -GatewayClusterId $id -GatewayName second -RecoveryKey $key -StateDirectory ./member
    #>
    [CmdletBinding(PositionalBinding = $false)]
    param(
        # Taken for compatibility.
        [string] $InstallerLocation,

        # Taken for compatibility.
        [Alias('IACCEPTLICENSETERMS')]
        [switch] $AcceptConditions,

        # Taken for compatibility.
        [string] $TargetDirectory
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        Stop-Unsupported $PSCmdlet 'There is no installer to run. Put the program comporta on the machine, run "comporta member join" (or Add-DataGatewayClusterMember -StateDirectory) and "comporta member run".'
    }
}

function Get-DataGatewayAvailableUpdates {
    <#
    .SYNOPSIS
    Not supported: the service does not know of newer versions.
    .DESCRIPTION
    Compare the Version of the members; Get-DataGatewayClusterStatus says in GatewayUpgradeState whether they differ.
    .EXAMPLE
    Get-DataGatewayClusterMember -GatewayClusterId $id | Group-Object Version
    #>
    [CmdletBinding(PositionalBinding = $false)]
    param(
        # Taken for compatibility; an id is enough.
        [Comporta.PowerBIUserScope] $Scope = 'Individual',

        # The cluster.
        [Parameter(ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # The member.
        [Parameter(ValueFromPipelineByPropertyName)]
        [guid] $MemberGatewayId,

        # Taken for compatibility; an id is enough.
        [string] $RegionKey
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        Stop-Unsupported $PSCmdlet 'The service does not know of newer versions. Compare the Version of the members (Get-DataGatewayClusterMember).'
    }
}

function Update-DataGatewayClusterMember {
    <#
    .SYNOPSIS
    Not supported: members are updated as programs are on your machines.
    .DESCRIPTION
    Disable the member with -Wait, replace the program, start it, and enable the member: no request is lost.
    .EXAMPLE
    Disable-DataGatewayClusterMember -GatewayClusterId $id -MemberGatewayId $member -Wait
    #>
    [CmdletBinding(PositionalBinding = $false)]
    param(
        # Taken for compatibility; an id is enough.
        [Comporta.PowerBIUserScope] $Scope = 'Individual',

        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # The member.
        [Parameter(ValueFromPipelineByPropertyName)]
        [guid] $MemberGatewayId,

        # Taken for compatibility.
        [switch] $CheckStatus,

        # Taken for compatibility.
        [string] $TargetVersion,

        # Taken for compatibility; an id is enough.
        [string] $RegionKey
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        Stop-Unsupported $PSCmdlet 'Members are not updated from here. Run Disable-DataGatewayClusterMember -Wait, replace the program comporta on the machine, start it, and run Enable-DataGatewayClusterMember.'
    }
}
