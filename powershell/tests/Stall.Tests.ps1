# Answers that stand still after their headers: the time that a request was given holds for its body too.

BeforeAll {
    Set-StrictMode -Version Latest
    Import-Module (Join-Path $PSScriptRoot 'Harness.psm1') -Force
    Import-Module (Join-Path $PSScriptRoot '../Comporta/Comporta.psd1') -Force

    # A service that answers one request after the other with what the test put into Answers: texts, sent as they are, and events, waited for in between.
    # Connections stay open; only the test ends them.
    $listener = [System.Net.Sockets.TcpListener]::new([System.Net.IPAddress]::Loopback, 0)
    $listener.Start()
    $answers = [System.Collections.Concurrent.ConcurrentQueue[object[]]]::new()
    $service = [powershell]::Create()
    [void] $service.AddScript({
            param($listener, $answers)
            $ErrorActionPreference = 'Stop' # the end of the listener ends the loop
            $open = New-Object System.Collections.ArrayList
            while ($true) {
                $client = $listener.AcceptTcpClient()
                [void] $open.Add($client)
                $reader = [System.IO.StreamReader]::new($client.GetStream())
                while ($reader.ReadLine()) { $null }
                $answer = $null
                [void] $answers.TryDequeue([ref] $answer)
                foreach ($part in $answer) {
                    if ($part -is [System.Threading.EventWaitHandle]) { [void] $part.WaitOne(60000); continue }
                    $bytes = [System.Text.Encoding]::ASCII.GetBytes($part)
                    $client.GetStream().Write($bytes, 0, $bytes.Length)
                }
            }
        }).AddArgument($listener).AddArgument($answers)
    $running = $service.BeginInvoke()

    & (Get-Module Comporta) {
        param($port)
        $script:Session = @{ Endpoint = "http://127.0.0.1:$port"; Environment = 'Public'; ApplicationId = 'x'; Tenant = ''; Token = (ConvertTo-Secret 'x.y.z'); RenewAt = [datetime]::MaxValue; Claims = $null }
        $script:QueryGrace = 0
    } $listener.LocalEndpoint.Port
    $of = @{ GatewayClusterId = [guid]::NewGuid(); GatewayClusterDatasourceId = [guid]::NewGuid() }
    $head = "HTTP/1.1 200 OK`r`nRequestId: 4711`r`nContent-Length: "
}

AfterAll {
    $listener.Stop()
    try { $service.EndInvoke($running) } catch { $null = $_ }
    $service.Dispose()
    Get-Module Comporta | Remove-Module -Force
}

Describe 'Answers that stand still' {
    It 'keeps -TimeoutSec when <What>' -ForEach @(
        @{ What = 'no header comes'; Sent = ''; Said = '*did not answer within 1 seconds*' }
        @{ What = 'the body stops'; Sent = "HTTP/1.1 200 OK`r`nContent-Length: 99`r`n`r`nhalf of it"; Said = '*did not end its answer within 1 seconds*' }
        @{ What = 'the body of an error stops'; Sent = "HTTP/1.1 500 Oops`r`nContent-Length: 99`r`n`r`nhalf of it"; Said = '*did not end its answer within 1 seconds*' }
    ) {
        $answers.Enqueue(@($Sent))
        { Invoke-DataGatewayRestMethod /x -TimeoutSec 1 } | Should -Throw $Said -ErrorId 'RequestTimeout,Invoke-DataGatewayRestMethod'
        $Error[0].CategoryInfo.Category | Should -Be 'OperationTimeout'
    }

    It 'says that an answer broke off, not that the service cannot be reached' {
        $answers.Enqueue(@("HTTP/1.1 200 OK`r`nTransfer-Encoding: chunked`r`n`r`nno chunk`r`n"))
        { Invoke-DataGatewayRestMethod /x } | Should -Throw '*broke off*' -ErrorId 'GatewayAnswerBroken,*'
    }

    It 'ends a stream in which nothing comes any more, after the rows that came' {
        $answers.Enqueue(@("${head}99`r`n`r`n{`"n`":1}`n{`"n`":2}`n{"))
        $seen = @{ Rows = 0 }
        { Invoke-DataGatewayQuery @of 'select n' -TimeoutSec 1 | ForEach-Object { $seen.Rows++ } } | Should -Throw '*rows so far are not all*request 4711*' -ErrorId 'RequestTimeout,Invoke-DataGatewayQuery'
        $seen.Rows | Should -Be 2
    }

    It 'lets a stream last longer than the time-out, and whoever takes the rows' {
        $more = [System.Threading.ManualResetEvent]::new($false)
        $answers.Enqueue(@("${head}16`r`n`r`n{`"n`":1}`n", $more, "{`"n`":2}`n"))
        $clock = [System.Diagnostics.Stopwatch]::StartNew()
        $rows = Invoke-DataGatewayQuery @of 'select n' -TimeoutSec 3 | ForEach-Object {
            Wait-Until 'the time-out is over' { $clock.Elapsed.TotalSeconds -gt 3.5 }
            [void] $more.Set()
            $_.n
        }
        $rows | Should -Be 1, 2
    }
}
