# The enumerations of the surface. A parameter of such a type takes names in any letter case, what begins one name only, numbers, and values of other
# enumerations with the same numbers, as Microsoft's do.

# DatasourceTypes are the data source types by number. The last three have the numbers that Microsoft's own list suggests by its order.
$script:DatasourceTypes = [ordered] @{
    Unknown = -1; Sql = 0; AnalysisServices = 1; SAPHana = 2; File = 3; Folder = 4; Oracle = 5; Teradata = 6; SharePointList = 7; Web = 8; OData = 9
    DB2 = 10; MySql = 11; PostgreSql = 12; Sybase = 13; Extension = 14; SAPBW = 15; AzureTables = 16; AzureBlobs = 17; Informix = 18; ODBC = 19; Excel = 20
    SharePoint = 21; PubNub = 22; MQ = 23; BizTalk = 24; GoogleAnalytics = 25; CustomHttpApi = 26; Exchange = 27; Facebook = 28; HDInsight = 29
    AzureMarketplace = 30; ActiveDirectory = 31; Hdfs = 32; SharePointDocLib = 33; PowerQueryMashup = 34; OleDb = 35; AdoDotNet = 36; R = 37; LOB = 38
    Salesforce = 39; CustomConnector = 40; SAPBWMessageServer = 41; AdobeAnalytics = 42; Essbase = 43
    AzureDataLakeStorage = 44; SapErp = 45; UIFlow = 46
}

# Enumerations are the types of parameters. The numbers of Microsoft's roles are not known, so no number that a script gives may name a role here, and
# neither may two roles at once, which PowerShell adds up.
$script:Enumerations = @{
    DatasourceType            = $script:DatasourceTypes
    PowerBIUserScope          = [ordered] @{ Individual = 0; Organization = 1 }
    GatewayPrincipalRole      = [ordered] @{ Admin = 1024; ConnectionCreator = 2048; ConnectionCreatorWithReshare = 4096; ConnectionCreatorWithResharing = 8192 }
    DatasourceUserAccessRight = [ordered] @{ Read = 1; ReadOverrideEffectiveIdentity = 9 }
    GatewayType               = [ordered] @{ Resource = 0; Personal = 1; VirtualNetwork = 2 }
    OperationType             = [ordered] @{ None = 0; Add = 1; Remove = 2 }
    PolicyType                = [ordered] @{ None = 0; Open = 1; Restricted = 2 }
    PowerBIEnvironmentType    = [ordered] @{ Public = 0; Germany = 1; USGov = 2; China = 3; USGovHigh = 4; USGovMil = 5 }
}

# Register-Enumeration defines the types of parameters, and the types under the names by which scripts know Microsoft's, where no module of Microsoft's
# did. Making them in memory is quicker by a second than compiling them.
function Register-Enumeration {
    $run = [System.Reflection.Emit.AssemblyBuilderAccess]::Run
    $assembly = [System.Reflection.Emit.AssemblyBuilder]::DefineDynamicAssembly((New-Object System.Reflection.AssemblyName 'Comporta.Words'), $run)
    $module = $assembly.DefineDynamicModule('Comporta.Words')
    foreach ($name in $script:Enumerations.Keys) {
        $spaces = @('Comporta', 'Microsoft.DataMovement.Powershell.GatewayClient.Gateways.Entities')
        if ($name -eq 'DatasourceType') { $spaces += 'Microsoft.PowerBI.ServiceContracts.Api', 'Microsoft.PowerBI.Common.Api.Gateways.Entities' }
        foreach ($space in $spaces) { Add-Enumeration $module "$space.$name" $script:Enumerations[$name] }
    }
}

function Add-Enumeration($Module, [string] $Name, $Words) {
    if ($Name -as [type]) { return }
    $enum = $Module.DefineEnum($Name, [System.Reflection.TypeAttributes]::Public, [int])
    foreach ($word in $Words.Keys) { [void] $enum.DefineLiteral($word, [int] $Words[$word]) }
    [void] $enum.CreateTypeInfo()
}

Register-Enumeration

# ConvertTo-DatasourceType takes names, numbers and enumeration values; nothing means all types and stays nothing.
function ConvertTo-DatasourceType($Types) {
    if ($null -eq $Types) { return $null }
    , [object[]] @(foreach ($type in $Types) {
        if ($null -eq $type) { continue }
        $number = 0
        if ($type -is [System.Enum]) { $type.ToString() }
        elseif ([int]::TryParse("$type", [ref] $number)) { $number }
        else { Resolve-DatasourceType "$type" }
    })
}

# Resolve-DatasourceType completes a name that begins one type only; the service has the last word on any other.
function Resolve-DatasourceType([string] $Name) {
    $begun = @($script:DatasourceTypes.Keys | Where-Object { $_.StartsWith($Name, 'OrdinalIgnoreCase') })
    if ($begun.Count -eq 1) { return $begun[0] }
    $Name
}
