function Invoke-DataGatewayRestMethod {
    <#
    .SYNOPSIS
    Sends any request to the service and returns the answer's text.
    .DESCRIPTION
    For what has no command of its own. The connection's token is sent along, so only addresses of the connected service are taken.
    .EXAMPLE
    Invoke-DataGatewayRestMethod -Url /v2.0/myorg/principals -Method Post -Body '{"principalType":"App","displayName":"Nightly"}' | ConvertFrom-Json
    .OUTPUTS
    System.String
    #>
    [CmdletBinding(PositionalBinding = $false, SupportsShouldProcess)]
    [OutputType([string])]
    param(
        # A path such as /v2.0/myorg/principals, or an address of the connected service.
        [Parameter(Mandatory, Position = 0)]
        [string] $Url,

        # The method.
        [ValidateSet('Get', 'Post', 'Patch', 'Put', 'Delete')]
        [string] $Method = 'Get',

        # The body: a JSON text, or an object that is written as one.
        [object] $Body,

        # How long to wait for the whole answer, in seconds.
        [ValidateRange(1, 3600)]
        [int] $TimeoutSec = 100
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        if ($Method -ne 'Get' -and -not $PSCmdlet.ShouldProcess($Url, $Method)) { return }
        Invoke-Guarded $PSCmdlet $Url {
            $path = Resolve-ServicePath $Url
            $value = $Body
            if ($value -is [string]) { $value = [System.Text.Encoding]::UTF8.GetBytes($value) }
            Read-AnswerText (Open-Gateway -Method $Method.ToUpperInvariant() -Path $path -Body $value -TimeoutSeconds $TimeoutSec)
        }
    }
}

# Resolve-ServicePath takes a path of the connected service and refuses the address of any other: the token must not go there.
function Resolve-ServicePath([string] $Url) {
    $endpoint = (Get-Session).Endpoint
    if ($Url.StartsWith($endpoint + '/', 'OrdinalIgnoreCase')) { return $Url.Substring($endpoint.Length) }
    if ($Url -match '^[a-z][a-z0-9+.-]*:|^//|^\\') {
        throw (New-Object DataGatewayException 'InvalidInput', "Only addresses of $endpoint are taken.")
    }
    '/' + $Url.TrimStart('/')
}
