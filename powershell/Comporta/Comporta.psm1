# The module loader: everything private first, then the commands, one file per noun. State lives in this module's scope and nowhere else.

Set-StrictMode -Version Latest

foreach ($folder in 'Private', 'Public') {
    foreach ($file in (Get-ChildItem -Path (Join-Path $PSScriptRoot $folder) -Filter '*.ps1' | Sort-Object -Property Name)) {
        . $file.FullName
    }
}

Register-GatewayCompleter
