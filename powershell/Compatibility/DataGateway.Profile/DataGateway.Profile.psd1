@{
    RootModule           = 'DataGateway.Profile.psm1'
    # The version of Microsoft's module whose commands these are, so that a script's "at least" holds.
    ModuleVersion        = '3000.318.6'
    GUID                 = 'd4b7f0de-41f3-4f0f-9f9b-0c1a6d6c2a77'
    Author               = 'The Comporta authors'
    Copyright            = 'MIT licence'
    Description          = 'For scripts that import DataGateway.Profile: the commands of Comporta under that name.'
    PowerShellVersion    = '5.1'
    CompatiblePSEditions = @('Core', 'Desktop')
    FunctionsToExport    = @(
        'Connect-DataGatewayServiceAccount'
        'Disconnect-DataGatewayServiceAccount'
        'Get-DataGatewayAccessToken'
        'Resolve-DataGatewayError'
        'New-DataGatewayEnvironment'
        'Invoke-DataGatewayRestMethod'
    )
    AliasesToExport      = @(
        'Login-DataGateway'
        'Login-DataGatewayServiceAccount'
        'Add-DataGatewayServiceAccount'
        'Set-DataGatewayServiceAccount'
        'Logout-DataGateway'
        'Logout-DataGatewayServiceAccount'
        'Remove-DataGatewayServiceAccount'
    )
    CmdletsToExport      = @()
    VariablesToExport    = @()
}
