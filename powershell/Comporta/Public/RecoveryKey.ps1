function Set-DataGatewayClusterRecoveryKey {
    <#
    .SYNOPSIS
    Changes the recovery key of a cluster.
    .DESCRIPTION
    Members that are joined go on working; machines that join later need the new key. Ten wrong tries in a row lock joining for a minute.
    .EXAMPLE
    Set-DataGatewayClusterRecoveryKey -GatewayClusterId $id -CurrentRecoveryKey $old -NewRecoveryKey $new
    #>
    [CmdletBinding(PositionalBinding = $false, SupportsShouldProcess)]
    param(
        # The cluster.
        [Parameter(Mandatory, ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # The key that holds now (SecureString).
        [Parameter(Mandatory)]
        [ValidateScript({ Assert-Secret $_ })]
        [object] $CurrentRecoveryKey,

        # The key from now on, at least 8 characters. Keep it: nobody can find it again (SecureString).
        [Parameter(Mandatory)]
        [ValidateScript({ Assert-Secret $_ })]
        [object] $NewRecoveryKey
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        if (-not $PSCmdlet.ShouldProcess($GatewayClusterId, 'Change recovery key')) { return }
        Invoke-Guarded $PSCmdlet $GatewayClusterId {
            $body = @{ currentRecoveryKey = ConvertFrom-Secret $CurrentRecoveryKey; newRecoveryKey = ConvertFrom-Secret $NewRecoveryKey }
            Invoke-Gateway POST (Get-ClusterPath Individual $GatewayClusterId '/recoveryKey') $body
        }
    }
}
