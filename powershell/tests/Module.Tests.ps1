# What can be said of the module without a service: names, syntax, help, views.

BeforeDiscovery {
    $root = Join-Path $PSScriptRoot '..'
    Import-Module (Join-Path $root 'Comporta/Comporta.psd1') -Force
    Import-Module (Join-Path $root 'Compatibility/OnPremisesDataGatewayHAMgmt/OnPremisesDataGatewayHAMgmt.psd1') -Force
    $commands = @(Get-Command -Module Comporta -CommandType Function) + @(Get-Command -Module OnPremisesDataGatewayHAMgmt -CommandType Function) | ForEach-Object { @{ Name = $_.Name } }
    # Parameters as the reference (A.3) has them: command, parameters. In parentheses aliases, after = the words that must be taken; ! is mandatory.
    $cluster, $source = 'GatewayClusterId:guid(Cluster,Id)', 'GatewayClusterDatasourceId:guid(DatasourceId,Datasource)'
    $scope = 'Scope:Comporta.PowerBIUserScope=Individual,Organization'
    $roles, $rights, $ways = 'Admin,ConnectionCreator,ConnectionCreatorWithReshare', 'Read,ReadOverrideEffectiveIdentity', 'Resource,Personal,VirtualNetwork'
    $surface = @(
        @{ Name = 'Add-DataGatewayCluster'; Has = '!RecoveryKey:object', '!GatewayName:string(Name)', 'RegionKey:string', 'OverwriteExistingGateway:switch' }
        @{ Name = 'Add-DataGatewayClusterMember'; Has = "!$cluster", '!RecoveryKey:object', '!GatewayName:string(Name)', 'RegionKey:string' }
        @{ Name = 'Add-DataGatewayClusterUser'; Has = $scope, "!$cluster", '!PrincipalObjectId:guid(User)', 'AllowedDataSourceTypes:object[]', "!Role:Comporta.GatewayPrincipalRole=$roles", 'RegionKey:string' }
        @{ Name = 'Get-DataGatewayCluster'; Has = $scope, 'RegionKey:string', $cluster }
        @{ Name = 'Set-DataGatewayCluster'; Has = $scope, "!$cluster", 'Name:object', 'Department:object', 'Description:object', 'ContactInformation:object', 'AllowCloudDatasourceRefresh:bool?', 'AllowCustomConnectors:bool?', 'LoadBalancingSelectorType:object', 'RegionKey:string' }
        @{ Name = 'Get-DataGatewayClusterStatus'; Has = $scope, "!$cluster", 'RegionKey:string' }
        @{ Name = 'Remove-DataGatewayCluster'; Has = $scope, "!$cluster", 'RegionKey:string' }
        @{ Name = 'Remove-DataGatewayClusterMember'; Has = $scope, "!$cluster", '!MemberGatewayId:guid' }
        @{ Name = 'Remove-DataGatewayClusterUser'; Has = $scope, 'RegionKey:string', "!$cluster", '!PrincipalObjectId:guid(User)' }
        @{ Name = 'Get-DataGatewayClusterDatasource'; Has = $scope, "!$cluster", $source }
        @{ Name = 'Set-DataGatewayClusterDatasource'; Has = $scope, "!$cluster", "!$source", 'Annotation:object', 'DatasourceName:object', 'SingleSignOnType:object' }
        @{ Name = 'Remove-DataGatewayClusterDatasource'; Has = $scope, "!$cluster", "!$source" }
        @{ Name = 'Get-DataGatewayClusterDatasourceStatus'; Has = $scope, "!$cluster", "!$source" }
        @{ Name = 'Get-DataGatewayClusterDatasourceUser'; Has = '!GatewayClusterId:guid(Cluster,ClusterId)', '!GatewayClusterDatasourceId:guid(DatasourceId,Datasource,Id)' }
        @{ Name = 'Add-DataGatewayClusterDatasourceUser'; Has = "!$cluster", "!$source", "!DatasourceUserAccessRight:Comporta.DatasourceUserAccessRight=$rights", '!Identifier:guid', '!UserEmailAddress:string' }
        @{ Name = 'Remove-DataGatewayClusterDatasourceUser'; Has = "!$cluster", "!$source", '!UserId:string(UserEmailAddress,EmailAddress,PrincipalObjectId,User)' }
        @{ Name = 'Get-DataGatewayInstaller'; Has = 'Scope:Comporta.PowerBIUserScope=Organization', "GatewayTypeParameter:Comporta.GatewayType=$ways" }
        @{ Name = 'Set-DataGatewayInstaller'; Has = 'PrincipalObjectIds:string[](Users)', '!Operation:Comporta.OperationType=None,Add,Remove', "!GatewayType:Comporta.GatewayType=$ways" }
        @{ Name = 'Get-DataGatewayTenantPolicy'; Has = , 'Scope:Comporta.PowerBIUserScope=Organization' }
        @{ Name = 'Set-DataGatewayTenantPolicy'; Has = 'ResourceGatewayInstallPolicy:Comporta.PolicyType=Open,Restricted', 'PersonalGatewayInstallPolicy:Comporta.PolicyType=Open,Restricted' }
        @{ Name = 'Install-DataGateway'; Has = 'InstallerLocation:string', 'AcceptConditions:switch(IACCEPTLICENSETERMS)', 'TargetDirectory:string' }
        @{ Name = 'Get-DataGatewayAvailableUpdates'; Has = $scope, $cluster, 'RegionKey:string', 'MemberGatewayId:guid' }
        @{ Name = 'Update-DataGatewayClusterMember'; Has = "!$cluster", 'MemberGatewayId:guid', 'CheckStatus:switch', 'TargetVersion:string' }
        @{ Name = 'Connect-DataGatewayServiceAccount'; Has = '!ApplicationId:string', '!ClientSecret:object', '!CertificateThumbprint:string', 'Tenant:string(TenantId)', 'Environment:Comporta.PowerBIEnvironmentType=Public,Germany,USGov,China,USGovHigh,USGovMil' }
        @{ Name = 'Get-DataGatewayAccessToken'; Has = , 'AsString:switch' }
        @{ Name = 'Resolve-DataGatewayError'; Has = 'Error:System.Management.Automation.ErrorRecord[]', '!Last:switch' }
    )
    # What scripts in the field do: every case has a test that bears its number.
    $cases = @('01', '03', '04', '05', '07', '08', '10', '11', '13', '14', '16', '17', '18', '19', '21', '22', '24', '25', '27', '28', '30', '32', '33', '35', '36', '37', '38', '40', '42', '43', '45', '47', '49')
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

    It '<Name> has the parameters of its model' -ForEach $surface {
        $parameters = (Get-Command $Name).Parameters
        foreach ($wanted in $Has) {
            $wanted -match '^(?<must>!?)(?<name>\w+):(?<type>[^(=]+)(\((?<aliases>[^)]+)\))?(=(?<words>.+))?$' | Should -BeTrue
            $must, $parameter, $type, $aliases, $words = $Matches.must, $Matches.name, $Matches.type, $Matches['aliases'], $Matches['words']
            $parameters.Keys | Should -Contain $parameter -Because $Name
            $known = @{ 'bool?' = [Nullable[bool]] }
            $expected = $known[$type]
            if (-not $expected) { $expected = $type -as [type] }
            $parameters[$parameter].ParameterType | Should -Be $expected -Because "$Name -$parameter"
            @($parameters[$parameter].Attributes | Where-Object { $_ -is [System.Management.Automation.ParameterAttribute] -and $_.Mandatory }).Count -gt 0 | Should -Be ($must -eq '!') -Because "$Name -$parameter"
            if ($aliases) { $aliases.Split(',') | ForEach-Object { $parameters[$parameter].Aliases | Should -Contain $_ -Because "$Name -$parameter" } }
            $taken = ($parameters[$parameter].Attributes | Where-Object { $_ -is [System.Management.Automation.ValidateSetAttribute] }).ValidValues
            if (-not $taken -and $expected.IsEnum) { $taken = [System.Enum]::GetNames($expected) }
            if ($words) { $words.Split(',') | ForEach-Object { $taken | Should -Contain $_ -Because "$Name -$parameter" } }
        }
    }

    It '<Name> takes nothing, or two, for one id as an error of binding' -ForEach $commands {
        foreach ($parameter in (Get-Command $Name).Parameters.Values | Where-Object ParameterType -EQ ([guid])) {
            foreach ($wrong in $null, @(), @([guid]::NewGuid(), [guid]::NewGuid()), '', 'a name') {
                $given = @{ $parameter.Name = $wrong }
                { & $Name @given } | Should -Throw -ErrorId "ParameterArgumentTransformationError,$Name" -Because "$Name -$($parameter.Name)"
            }
        }
    }

    It 'takes nothing, or two, for the id of a user as an error of binding' {
        $of = @{ GatewayClusterId = [guid]::NewGuid(); GatewayClusterDatasourceId = [guid]::NewGuid() }
        foreach ($wrong in $null, '', @('a', 'b')) { { Remove-DataGatewayClusterDatasourceUser @of -UserId $wrong } | Should -Throw -ErrorId 'ParameterArgument*,Remove-DataGatewayClusterDatasourceUser' }
        foreach ($wrong in $null, @()) { { Set-DataGatewayInstaller -PrincipalObjectIds $wrong -Operation Add -GatewayType Resource } | Should -Throw -ErrorId 'ParameterArgument*,Set-DataGatewayInstaller' }
    }

    It 'has Individual as the scope that is meant when none is given, and no parameter by position that its model has by name' {
        foreach ($command in Get-Command -Module Comporta -CommandType Function) {
            if ($command.Parameters.ContainsKey('Scope')) {
                $scope = $command.ScriptBlock.Ast.Body.ParamBlock.Parameters | Where-Object { $_.Name.VariablePath.UserPath -eq 'Scope' }
                $organisation = $command.Noun -in 'DataGatewayInstaller', 'DataGatewayTenantPolicy'
                $scope.DefaultValue.Value | Should -Be $(if ($organisation) { 'Organization' } else { 'Individual' }) -Because $command.Name
            }
            $placed = $command.Parameters.Values | Where-Object { $_.ParameterSets.Values.Position -ge 0 } | ForEach-Object Name
            $placed | Where-Object { "$($command.Name) $_" -notin 'Resolve-DataGatewayError Error', 'Invoke-DataGatewayQuery Query', 'Invoke-DataGatewayRestMethod Url', 'New-DataGatewayEnvironment Definition' } | Should -BeNullOrEmpty
        }
    }

    It 'keeps every prefix to one parameter, up to the one that is spelled out' -ForEach $surface {
        $command = Get-Command $Name
        foreach ($wanted in $Has) {
            $parameter = $wanted.TrimStart('!').Split(':')[0]
            $command.ResolveParameter($parameter).Name | Should -Be $parameter
        }
        foreach ($prefix in 'Region', 'GatewayCl', 'Princ', 'Member') {
            if (@($command.Parameters.Keys -like "$prefix*").Count -eq 1) { { $command.ResolveParameter($prefix) } | Should -Not -Throw -Because "$Name -$prefix" }
        }
    }

    It 'R<_> has a test' -ForEach $cases {
        Get-ChildItem -LiteralPath $PSScriptRoot -Filter '*.Tests.ps1' | Select-String -Pattern "^\s+It 'R$_ " | Should -Not -BeNullOrEmpty
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
        Get-Help about_Comporta | Out-String | Should -Match 'MOVE A SCRIPT FROM MICROSOFT''S MODULE'
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
    BeforeAll {
        # Invoke-Elsewhere runs a script in a session of its own, which has nothing imported and the folder on its PSModulePath.
        function Invoke-Elsewhere([string] $Script) {
            $path, $shell = $env:PSModulePath, [powershell]::Create([initialsessionstate]::CreateDefault())
            try {
                $env:PSModulePath = (Resolve-Path (Join-Path $root 'Compatibility')).Path + [System.IO.Path]::PathSeparator + $path
                $shell.AddScript($Script).Invoke() | ForEach-Object { "$_" }
            } finally {
                $env:PSModulePath = $path
                $shell.Dispose()
            }
        }
    }

    It 'works for scripts that import <_>, when the folder is on PSModulePath' -ForEach 'DataGateway', 'DataGateway.Profile', 'OnPremisesDataGatewayHAMgmt' {
        $output = Invoke-Elsewhere "Import-Module $_ -MinimumVersion 3000.15; (Get-Command -Module $_).Name; try { Get-DataGatewayCluster } catch { `$_.FullyQualifiedErrorId }"
        $output | Should -Contain 'NotConnected,Get-DataGatewayCluster'
        $expected = @{ 'DataGateway' = 'Get-DataGatewayClusterStatus'; 'DataGateway.Profile' = 'Connect-DataGatewayServiceAccount'; 'OnPremisesDataGatewayHAMgmt' = 'Login-OnPremisesDataGateway' }
        $output | Should -Contain $expected[$_]
    }

    It 'shares one connection between the two of them, and loads them by themselves' {
        Invoke-Elsewhere 'Import-Module DataGateway.Profile; Import-Module DataGateway; @(Get-Module Comporta -All).Count; (Get-Command Login-DataGateway).ReferencedCommand.Name' |
            Should -Be '1', 'Connect-DataGatewayServiceAccount'
        Invoke-Elsewhere 'try { Get-DataGatewayClusterStatus -Id ([guid]::NewGuid()) } catch { $_.FullyQualifiedErrorId }' | Should -Be 'NotConnected,Get-DataGatewayClusterStatus'
    }
}
