# What can be said of the module without a service: names, syntax, help, views.

BeforeDiscovery {
    $root = Join-Path $PSScriptRoot '..'
    Import-Module (Join-Path $root 'Comporta/Comporta.psd1') -Force
    Import-Module (Join-Path $root 'Compatibility/OnPremisesDataGatewayHAMgmt/OnPremisesDataGatewayHAMgmt.psd1') -Force
    $commands = @(Get-Command -Module Comporta -CommandType Function) + @(Get-Command -Module OnPremisesDataGatewayHAMgmt -CommandType Function) | ForEach-Object { @{ Name = $_.Name } }
    $files = Get-ChildItem -Path (Join-Path $root 'Comporta'), (Join-Path $root 'Compatibility'), (Join-Path $root 'examples') -Recurse -Include '*.ps1', '*.psm1', '*.psd1' |
        ForEach-Object { @{ Path = $_.FullName; Name = $_.Name } }
}

BeforeAll {
    $root = Join-Path $PSScriptRoot '..'
    Import-Module (Join-Path $root 'Comporta/Comporta.psd1') -Force
}

AfterAll { Get-Module Comporta, OnPremisesDataGatewayHAMgmt | Remove-Module -Force }

Describe 'Commands' {
    It 'has every command of the modules it stands for' {
        $expected = 'Add-DataGatewayCluster Add-DataGatewayClusterMember Add-DataGatewayClusterUser Get-AllDataGatewayClustersAndDatasourcesStatus Get-DataGatewayCluster
            Get-DataGatewayClusterStatus Get-DataGatewayInstaller Get-DataGatewayTenantPolicy Remove-DataGatewayCluster Remove-DataGatewayClusterMember Remove-DataGatewayClusterUser
            Set-DataGatewayCluster Set-DataGatewayInstaller Set-DataGatewayTenantPolicy Add-DataGatewayClusterDatasourceUser Get-DataGatewayClusterDatasource
            Get-DataGatewayClusterDatasourceStatus Get-DataGatewayClusterDatasourceUser Remove-DataGatewayClusterDatasource Remove-DataGatewayClusterDatasourceUser
            Set-DataGatewayClusterDatasource Get-DataGatewayRegion Install-DataGateway Get-DataGatewayDatasource Update-DataGatewayClusterMember Get-DataGatewayAvailableUpdates
            Restore-DataGatewayClusterMember Connect-DataGatewayServiceAccount Disconnect-DataGatewayServiceAccount Get-DataGatewayAccessToken Resolve-DataGatewayError
            New-DataGatewayEnvironment Invoke-DataGatewayRestMethod Login-DataGateway Login-DataGatewayServiceAccount Add-DataGatewayServiceAccount Set-DataGatewayServiceAccount
            Logout-DataGateway Logout-DataGatewayServiceAccount Remove-DataGatewayServiceAccount' -split '\s+'
        $exported = (Get-Module Comporta).ExportedCommands.Keys
        $expected | Where-Object { $_ -notin $exported } | Should -BeNullOrEmpty
    }

    It 'gives aliases and prefixes one meaning' -ForEach @(
        @{ Command = 'Get-DataGatewayCluster'; Names = 'Cluster', 'Id', 'Region', 'Gateway', 'Sc' }
        @{ Command = 'Set-DataGatewayCluster'; Names = 'Cluster', 'Id', 'Region', 'Load', 'Desc', 'Contact' }
        @{ Command = 'Add-DataGatewayCluster'; Names = 'Name', 'Gateway', 'Region', 'Recovery', 'Over' }
        @{ Command = 'Add-DataGatewayClusterUser'; Names = 'User', 'Cluster', 'Id', 'Region', 'Role', 'Allowed' }
        @{ Command = 'Get-DataGatewayClusterDatasource'; Names = 'Datasource', 'DatasourceId', 'Cluster' }
        @{ Command = 'Remove-DataGatewayClusterDatasourceUser'; Names = 'UserEmailAddress', 'EmailAddress', 'PrincipalObjectId', 'User', 'UserId' }
        @{ Command = 'Set-DataGatewayInstaller'; Names = 'Users', 'Principal' }
        @{ Command = 'Connect-DataGatewayServiceAccount'; Names = 'TenantId', 'Tenant', 'Env', 'End' }
        @{ Command = 'Install-DataGateway'; Names = , 'IACCEPTLICENSETERMS' }
    ) {
        foreach ($name in $Names) { { (Get-Command $Command).ResolveParameter($name) } | Should -Not -Throw -Because "$Command -$name" }
    }

    It '<Name> asks before it removes and can be tried with -WhatIf when it changes something' -ForEach $commands {
        $command = Get-Command $Name
        $verb = $Name.Split('-')[0]
        $changes = $verb -in 'Set', 'Add', 'New', 'Remove', 'Enable', 'Disable', 'Restore' -and $Name -notin 'New-DataGatewayEnvironment', 'Set-OnPremisesDataGatewayUserAccount', 'Remove-OnPremisesDataGatewayUserAccount'
        if ($changes) { $command.Parameters.Keys | Should -Contain 'WhatIf' }
        if ($Name -like 'Remove-DataGateway*') { $command.ScriptBlock.Attributes.Where({ $_ -is [System.Management.Automation.CmdletBindingAttribute] }).ConfirmImpact | Should -Be 'High' }
    }
}

Describe 'Help' {
    It '<Name> explains itself, every parameter, and shows an example' -ForEach $commands {
        $help = Get-Help $Name -Full
        $help.Synopsis | Should -Not -BeNullOrEmpty
        $help.Synopsis | Should -Not -Match "^\s*$Name"
        ($help.Description | Out-String).Trim() | Should -Not -BeNullOrEmpty
        @($help.Examples.Example).Count | Should -BeGreaterThan 0
        $common = [System.Management.Automation.PSCmdlet]::CommonParameters + [System.Management.Automation.PSCmdlet]::OptionalCommonParameters
        foreach ($parameter in (Get-Command $Name).Parameters.Keys | Where-Object { $_ -notin $common }) {
            $text = ($help.parameters.parameter | Where-Object name -eq $parameter).Description | Out-String
            $text.Trim() | Should -Not -BeNullOrEmpty -Because "-$parameter"
        }
    }

    It 'has a topic about moving scripts' {
        Get-Content (Join-Path $root 'Comporta/en-US/about_Comporta.help.txt') -Raw | Should -Match 'MOVE A SCRIPT'
    }
}

Describe 'Windows PowerShell 5.1' {
    It '<Name> uses no syntax and no command that 5.1 lacks' -ForEach $files {
        $errors = $null
        $tree = [System.Management.Automation.Language.Parser]::ParseFile($Path, [ref] $null, [ref] $errors)
        $errors | Should -BeNullOrEmpty
        $newer = $tree.FindAll({
                param($node)
                $kind = $node.GetType().Name
                $kind -in 'TernaryExpressionAst', 'PipelineChainAst' -or
                ($kind -in 'BinaryExpressionAst', 'AssignmentStatementAst' -and "$($node.Operator)" -like 'QuestionQuestion*') -or
                ($kind -in 'MemberExpressionAst', 'InvokeMemberExpressionAst', 'IndexExpressionAst' -and $node.NullConditional) -or
                ($kind -in 'PipelineAst' -and $node.Background) -or
                ($kind -eq 'NamedBlockAst' -and "$($node.BlockKind)" -eq 'Clean') -or
                ($kind -eq 'CommandAst' -and $node.GetCommandName() -in 'Get-Error', 'Join-String', 'Test-Json', 'ConvertFrom-Markdown', 'Remove-Alias') -or
                ($kind -eq 'CommandParameterAst' -and $node.ParameterName -in 'SkipHttpErrorCheck', 'SkipCertificateCheck', 'AsHashtable', 'Parallel', 'AsByteStream', 'NoEnumerate', 'Authentication')
            }, $true)
        ($newer | ForEach-Object { "$($_.Extent.StartLineNumber): $($_.Extent.Text)" }) | Should -BeNullOrEmpty
    }

    It '<Name> is plain ASCII, because 5.1 reads files without a mark as ANSI' -ForEach $files {
        [System.IO.File]::ReadAllText($Path) | Should -Not -Match '[^\x00-\x7f]'
    }
}

Describe 'Compatibility modules' {
    It 'works for scripts that import <_>, when the folder is on PSModulePath' -ForEach 'DataGateway', 'DataGateway.Profile', 'OnPremisesDataGatewayHAMgmt' {
        $folder = Join-Path $root 'Compatibility'
        $script = "`$env:PSModulePath = '$folder' + [System.IO.Path]::PathSeparator + `$env:PSModulePath; Import-Module $_ -MinimumVersion 3000.15; (Get-Command -Module $_).Name; try { Get-DataGatewayCluster } catch { `$_.FullyQualifiedErrorId }"
        $output = pwsh -NoProfile -NonInteractive -Command $script
        $output | Should -Contain 'NotConnected,Get-DataGatewayCluster'
        $expected = @{ 'DataGateway' = 'Get-DataGatewayClusterStatus'; 'DataGateway.Profile' = 'Connect-DataGatewayServiceAccount'; 'OnPremisesDataGatewayHAMgmt' = 'Login-OnPremisesDataGateway' }
        $output | Should -Contain $expected[$_]
    }

    It 'shares one connection between the two of them, and loads them by themselves' {
        $folder = Join-Path $root 'Compatibility'
        $script = "`$env:PSModulePath = '$folder' + [System.IO.Path]::PathSeparator + `$env:PSModulePath; Import-Module DataGateway.Profile; Import-Module DataGateway; @(Get-Module Comporta -All).Count; (Get-Command Login-DataGateway).ReferencedCommand.Name"
        pwsh -NoProfile -NonInteractive -Command $script | Should -Be '1', 'Connect-DataGatewayServiceAccount'
    }
}
