# JSON in and out. Texts stay texts: ConvertFrom-Json of some versions makes dates of whatever looks like one, even inside a name.

# ConvertFrom-GatewayJson reads a JSON text; objects become PSCustomObjects with their properties in order.
function ConvertFrom-GatewayJson([string] $Text) {
    if ($script:KeepsDates) { return ConvertFrom-Json -InputObject $Text -DateKind String }
    if ($PSVersionTable.PSEdition -eq 'Core') { return ConvertFrom-CarefulJson $Text }
    ConvertFrom-Json -InputObject $Text
}

$script:KeepsDates = $PSVersionTable.PSVersion -ge [version] '7.5'

# ConvertFrom-CarefulJson reads what ConvertFrom-Json cannot: names that are empty or differ by letter case only, and texts like dates.
# It is slower, so it is used where it must be.
function ConvertFrom-CarefulJson([string] $Text) {
    if ($PSVersionTable.PSEdition -ne 'Core') {
        Add-Type -AssemblyName System.Web.Extensions
        $serializer = New-Object System.Web.Script.Serialization.JavaScriptSerializer
        $serializer.MaxJsonLength = [int]::MaxValue
        return ConvertFrom-Dictionary ($serializer.DeserializeObject($Text))
    }
    $reader = New-Object Newtonsoft.Json.JsonTextReader (New-Object System.IO.StringReader $Text)
    $reader.DateParseHandling = 'None'
    $reader.MaxDepth = 1024
    ConvertFrom-JsonToken ([Newtonsoft.Json.Linq.JToken]::ReadFrom($reader))
}

function ConvertFrom-JsonToken($Token) {
    if ($Token -is [Newtonsoft.Json.Linq.JValue]) { return $Token.Value }
    if ($Token -is [Newtonsoft.Json.Linq.JArray]) {
        return , [object[]] @(for ($i = 0; $i -lt $Token.Count; $i++) { , (ConvertFrom-JsonToken $Token[$i]) })
    }
    $properties = New-Object System.Collections.Specialized.OrderedDictionary ([System.StringComparer]::OrdinalIgnoreCase)
    foreach ($p in $Token.Properties()) { Add-Distinct $properties $p.Name (ConvertFrom-JsonToken $p.Value) }
    [pscustomobject] $properties
}

function ConvertFrom-Dictionary($Value) {
    if ($Value -is [System.Collections.IDictionary]) {
        $properties = New-Object System.Collections.Specialized.OrderedDictionary ([System.StringComparer]::OrdinalIgnoreCase)
        foreach ($key in $Value.Keys) { Add-Distinct $properties $key (ConvertFrom-Dictionary $Value[$key]) }
        return [pscustomobject] $properties
    }
    if ($Value -is [array]) { return , [object[]] @(foreach ($item in $Value) { , (ConvertFrom-Dictionary $item) }) }
    $Value
}

# Add-Distinct adds a property; a name that PowerShell cannot tell from an earlier one gets a number, and one without a name "Column".
function Add-Distinct($Properties, [string] $Name, $Value) {
    if (-not $Name) { $Name = 'Column' }
    $candidate, $n = $Name, 2
    while ($Properties.Contains($candidate)) { $candidate = $Name + '_' + $n.ToString([cultureinfo]::InvariantCulture); $n++ }
    $Properties.Add($candidate, $Value)
}

# ConvertTo-GatewayJson writes a request body as UTF-8 bytes.
function ConvertTo-GatewayJson($Value) {
    , [System.Text.Encoding]::UTF8.GetBytes((ConvertTo-Json -InputObject $Value -Depth 20 -Compress))
}

# ConvertTo-GatewayTime reads a time of the service as UTC; nothing when there is none.
function ConvertTo-GatewayTime([string] $Text) {
    if (-not $Text) { return $null }
    [datetime]::Parse($Text, [cultureinfo]::InvariantCulture, [System.Globalization.DateTimeStyles]::AdjustToUniversal)
}

# Format-GatewayTime writes a time for the service.
function Format-GatewayTime([datetime] $Time) {
    $Time.ToUniversalTime().ToString("yyyy-MM-dd'T'HH:mm:ss.ffffff'Z'", [cultureinfo]::InvariantCulture).Replace('.000000Z', 'Z')
}

# Select-Bound picks from the parameters that a caller gave those that a request carries, under the request's names. Null means
# "leave unchanged" and is left out. Names is a map from parameter to property.
function Select-Bound($Bound, [hashtable] $Names) {
    $body = @{}
    foreach ($name in $Names.Keys) {
        if (-not $Bound.ContainsKey($name) -or $null -eq $Bound[$name]) { continue }
        $value = $Bound[$name]
        if ($value -is [switch]) { $value = [bool] $value }
        if ($value -is [System.Enum]) { $value = $value.ToString() }
        $body[$Names[$name]] = $value
    }
    $body
}
