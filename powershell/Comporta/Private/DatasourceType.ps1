# The data source types of the surface, by number, and the .NET type that some scripts make lists of.

$script:DatasourceTypes = [ordered] @{
    Unknown = -1; Sql = 0; AnalysisServices = 1; SAPHana = 2; File = 3; Folder = 4; Oracle = 5; Teradata = 6; SharePointList = 7; Web = 8; OData = 9
    DB2 = 10; MySql = 11; PostgreSql = 12; Sybase = 13; Extension = 14; SAPBW = 15; AzureTables = 16; AzureBlobs = 17; Informix = 18; ODBC = 19; Excel = 20
    SharePoint = 21; PubNub = 22; MQ = 23; BizTalk = 24; GoogleAnalytics = 25; CustomHttpApi = 26; Exchange = 27; Facebook = 28; HDInsight = 29
    AzureMarketplace = 30; ActiveDirectory = 31; Hdfs = 32; SharePointDocLib = 33; PowerQueryMashup = 34; OleDb = 35; AdoDotNet = 36; R = 37; LOB = 38
    Salesforce = 39; CustomConnector = 40; SAPBWMessageServer = 41; AdobeAnalytics = 42; Essbase = 43
}

# Register-DatasourceType defines Microsoft.PowerBI.ServiceContracts.Api.DatasourceType where no module of Microsoft's did: scripts fill
# a List[...] of it. Making it in memory is quicker by a second than compiling it.
function Register-DatasourceType {
    $name = 'Microsoft.PowerBI.ServiceContracts.Api.DatasourceType'
    if ($name -as [type]) { return }
    $run = [System.Reflection.Emit.AssemblyBuilderAccess]::Run
    $assembly = [System.Reflection.Emit.AssemblyBuilder]::DefineDynamicAssembly((New-Object System.Reflection.AssemblyName 'Comporta.Words'), $run)
    $enum = $assembly.DefineDynamicModule('Comporta.Words').DefineEnum($name, [System.Reflection.TypeAttributes]::Public, [int])
    foreach ($word in $script:DatasourceTypes.Keys) { [void] $enum.DefineLiteral($word, [int] $script:DatasourceTypes[$word]) }
    [void] $enum.CreateTypeInfo()
}

Register-DatasourceType

# ConvertTo-DatasourceType takes names, numbers and enumeration values; nothing means all types and stays nothing.
function ConvertTo-DatasourceType($Types) {
    if ($null -eq $Types) { return $null }
    , [object[]] @(foreach ($type in $Types) {
        if ($null -eq $type) { continue }
        $number = 0
        if ($type -is [System.Enum]) { $type.ToString() }
        elseif ([int]::TryParse("$type", [ref] $number)) { $number }
        else { "$type" }
    })
}
