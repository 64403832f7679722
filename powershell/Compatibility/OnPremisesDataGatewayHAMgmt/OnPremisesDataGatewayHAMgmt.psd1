@{
    RootModule           = 'OnPremisesDataGatewayHAMgmt.psm1'
    # The version of Microsoft's module whose commands these are, so that a script's "at least" holds.
    ModuleVersion        = '3000.15.18'
    GUID                 = '2f0d8a1e-9a4b-4f5a-b1d7-6c2e9c7b8d33'
    Author               = 'The Comporta authors'
    Copyright            = 'MIT licence'
    Description          = 'The ten functions of the older module, over Comporta.'
    PowerShellVersion    = '5.1'
    CompatiblePSEditions = @('Core', 'Desktop')
    FunctionsToExport    = @(
        'Get-OnPremisesDataGatewayClusters'
        'Get-OnPremisesDataGatewayStatus'
        'Set-OnPremisesDataGateway'
        'Remove-OnPremisesDataGateway'
        'Set-OnPremisesDataGatewayCluster'
        'Get-OnPremisesDataGatewayRegions'
        'Set-OnPremisesDataGatewayRegion'
        'Set-OnPremisesDataGatewayUserAccount'
        'Remove-OnPremisesDataGatewayUserAccount'
        'Get-OnPremisesDataClusterGateways'
    )
    AliasesToExport      = @(
        'Login-OnPremisesDataGateway'
        'Logout-OnPremisesDataGateway'
    )
    CmdletsToExport      = @()
    VariablesToExport    = @()
}
