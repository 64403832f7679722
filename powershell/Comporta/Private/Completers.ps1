# Completion of ids and names. It says nothing while nobody is connected, and nothing when the service does not answer.

function Register-GatewayCompleter {
    $completers = @{
        GatewayClusterId           = { param($c, $p, $word, $a, $bound) Find-Completion $word { Get-CompletionCluster } }
        MemberGatewayId            = { param($c, $p, $word, $a, $bound) Find-Completion $word { Get-CompletionPart $bound '/memberGateways' 'name' } }
        GatewayClusterDatasourceId = { param($c, $p, $word, $a, $bound) Find-Completion $word { Get-CompletionPart $bound '/datasources' 'datasourceName' } }
        RegionKey                  = { param($c, $p, $word, $a, $bound) Find-Completion $word { (Invoke-Gateway GET '/v2.0/myorg/gatewayRegions' -TimeoutSeconds 3).value | ForEach-Object { @{ Id = $_.regionKey; Name = $_.region } } } }
    }
    foreach ($word in @($script:Words.Keys)) {
        $completers[$word] = { param($c, $p, $typed) $script:Words[$p] | Where-Object { $_.StartsWith($typed.Trim('''"'), 'OrdinalIgnoreCase') } }
    }
    foreach ($name in $completers.Keys) { Register-ArgumentCompleter -CommandName $script:ExportedNames -ParameterName $name -ScriptBlock $completers[$name] }
}

$script:ExportedNames = (Import-PowerShellDataFile -Path (Join-Path (Split-Path $PSScriptRoot) 'Comporta.psd1')).FunctionsToExport

# Find-Completion offers what begins with the word, by id or by name.
function Find-Completion([string] $Word, [scriptblock] $Source) {
    if ($null -eq $script:Session) { return }
    $prefix = $Word.Trim('''"')
    try { $found = @(& $Source) } catch { Remove-CaughtError (Get-RootException $_.Exception); return }
    foreach ($item in $found) {
        if (-not "$($item.Id)".StartsWith($prefix, 'OrdinalIgnoreCase') -and -not "$($item.Name)".StartsWith($prefix, 'OrdinalIgnoreCase')) { continue }
        New-Object System.Management.Automation.CompletionResult "$($item.Id)", "$($item.Name) ($($item.Id))", 'ParameterValue', "$($item.Name)"
    }
}

function Get-CompletionCluster {
    (Invoke-Gateway GET '/v2.0/myorg/me/gatewayClusters' -TimeoutSeconds 3).value | ForEach-Object { @{ Id = $_.id; Name = $_.name } }
}

function Get-CompletionPart($Bound, [string] $Part, [string] $Name) {
    $cluster = @('GatewayClusterId', 'Cluster', 'Id') | Where-Object { $Bound.Contains($_) } | Select-Object -First 1
    if (-not $cluster) { return }
    (Invoke-Gateway GET (Get-ClusterPath Individual $Bound[$cluster] $Part) -TimeoutSeconds 3).value | ForEach-Object { @{ Id = $_.id; Name = $_.$Name } }
}
