# For scripts that import this module by its name: everything comes from Comporta, beside this folder or on PSModulePath.

$beside = Join-Path $PSScriptRoot '../../Comporta/Comporta.psd1'
if (Test-Path -LiteralPath $beside) { Import-Module $beside } else { Import-Module Comporta }
