# From nothing to a two-member cluster that answers queries, and back to nothing. It takes a service, an application's id and secret, the
# program comporta on PATH, a PostgreSQL database, and the object id of somebody who is to read from it.
param($Endpoint, $ApplicationId, $ClientSecret, $Folder, $Server, $Database, $DatabaseLogin, $UserId)

$ErrorActionPreference = 'Stop'
Import-Module (Join-Path $PSScriptRoot '../Comporta/Comporta.psd1')
$Folder = (New-Item -ItemType Directory -Path $Folder -Force).FullName
Connect-DataGatewayServiceAccount -Endpoint $Endpoint -ApplicationId $ApplicationId -ClientSecret $ClientSecret | Out-Null
$key = ConvertTo-SecureString -String ([guid]::NewGuid()) -AsPlainText -Force   # keep yours in a safe place

# Two members on this machine; elsewhere each machine runs the two comporta commands itself.
$cluster = Add-DataGatewayCluster -GatewayName 'Sales example' -MemberName first -RecoveryKey $key -StateDirectory "$Folder/first"
$second = Add-DataGatewayClusterMember -GatewayClusterId $cluster.ClusterId -GatewayName second -RecoveryKey $key -StateDirectory "$Folder/second"
$running = 'first', 'second' | ForEach-Object { Start-Process comporta -ArgumentList "member run --state=`"$Folder/$_`"" -PassThru -RedirectStandardOutput "$Folder/$_.log" -RedirectStandardError "$Folder/$_.err" }
try {
    while (@((Get-DataGatewayCluster -GatewayClusterId $cluster.ClusterId).MemberGateways.Status) -ne 'Live') {
        if ($running.HasExited -contains $true) { throw "A member ended: $(Get-Content -LiteralPath "$Folder/first.err", "$Folder/second.err")" } else { Start-Sleep -Milliseconds 200 }
    }

    $source = New-DataGatewayClusterDatasource -GatewayClusterId $cluster.ClusterId -DatasourceName Sales -DatasourceType PostgreSql -EncryptedConnection Any `
        -ConnectionDetails @{ server = $Server; database = $Database } -Credential $DatabaseLogin
    Add-DataGatewayClusterDatasourceUser -GatewayClusterId $cluster.ClusterId -GatewayClusterDatasourceId $source.Id -DatasourceUserAccessRight Read -Identifier $UserId
    Set-DataGatewayCluster -GatewayClusterId $cluster.ClusterId -LoadBalancingSelectorType Random -ConcurrentOperationLimit 20 -MemoryUtilizationPercentageThreshold 95

    $source | Invoke-DataGatewayQuery -Query 'select current_database() as database, count(*) as tables from information_schema.tables'
    Disable-DataGatewayClusterMember -GatewayClusterId $cluster.ClusterId -MemberGatewayId $second.MemberGatewayId -Wait
    $source | Invoke-DataGatewayQuery -Query 'select 1 as still_here' -InformationVariable served
    "served by $($served.MessageData.GatewayName)"
    Remove-DataGatewayCluster -GatewayClusterId $cluster.ClusterId -Confirm:$false
} finally { $running | Where-Object { -not $_.HasExited } | Stop-Process }
