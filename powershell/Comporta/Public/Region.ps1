function Get-DataGatewayRegion {
    <#
    .SYNOPSIS
    Lists the regions.
    .DESCRIPTION
    All are served by the one address of the service; clusters of all regions are listed unless -RegionKey says otherwise.
    .EXAMPLE
    (Get-DataGatewayRegion | Where-Object IsDefaultPowerBIRegion).RegionKey
    .OUTPUTS
    Comporta.GatewayRegion
    #>
    [CmdletBinding(PositionalBinding = $false)]
    [OutputType('Comporta.GatewayRegion')]
    param()
    begin { Use-CallerPreference $PSCmdlet }
    process {
        Invoke-Guarded $PSCmdlet $null {
            foreach ($r in (Invoke-Gateway GET '/v2.0/myorg/gatewayRegions').value) {
                [pscustomobject] @{ PSTypeName = 'Comporta.GatewayRegion'; RegionKey = $r.regionKey; Region = $r.region; BackendUri = $r.backendUri
                    IsDefaultPowerBIRegion = $r.isDefaultPowerBIRegion }
            }
        }
    }
}
