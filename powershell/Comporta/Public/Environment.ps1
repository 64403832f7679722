function New-DataGatewayEnvironment {
    <#
    .SYNOPSIS
    Not supported: a service has one address.
    .DESCRIPTION
    Microsoft's module defines clouds with it. Here Connect-DataGatewayServiceAccount -Endpoint says which service is meant.
    .EXAMPLE
    Connect-DataGatewayServiceAccount -Endpoint https://gateway.example.com -ApplicationId $id -ClientSecret $secret
    #>
    [CmdletBinding(PositionalBinding = $false)]
    param(
        # Taken for compatibility.
        [Parameter(ValueFromRemainingArguments)]
        [object[]] $Definition
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        Stop-Unsupported $PSCmdlet 'There are no environments to define. Say which service is meant with Connect-DataGatewayServiceAccount -Endpoint, or COMPORTA_ENDPOINT.'
    }
}
