function Get-DataGatewayAccessToken {
    <#
    .SYNOPSIS
    Returns the access token of the connection.
    .DESCRIPTION
    Returns a table with the header Authorization, for Invoke-RestMethod -Headers, or that header's text. The token is renewed when its end is near.
    Without a connection it fails; scripts use it to find out whether they are logged in.
    .EXAMPLE
    Invoke-RestMethod "$env:COMPORTA_ENDPOINT/v1.0/myorg/gateways" -Headers (Get-DataGatewayAccessToken)
    .OUTPUTS
    System.Collections.Hashtable, or System.String with -AsString
    #>
    [CmdletBinding(PositionalBinding = $false)]
    [OutputType([hashtable], [string])]
    param(
        # Return the text "Bearer ..." instead of a table.
        [switch] $AsString
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        $header = Invoke-Guarded $PSCmdlet $null { 'Bearer ' + (Get-Token) }
        if (-not $header -or $AsString) { return $header }
        @{ Authorization = $header }
    }
}
