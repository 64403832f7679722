function Get-DataGatewayAuditEvent {
    <#
    .SYNOPSIS
    Lists changes: who did what, when, from where.
    .DESCRIPTION
    Oldest first, page by page as they are read. Before and After hold the entity without secrets. Takes a TenantAdmin.
    .EXAMPLE
    Get-DataGatewayAuditEvent -GatewayClusterId $id -Since (Get-Date).AddDays(-1)
    .OUTPUTS
    Comporta.AuditEvent
    #>
    [CmdletBinding(PositionalBinding = $false)]
    [OutputType('Comporta.AuditEvent')]
    param(
        # Only changes in this cluster.
        [Parameter(ValueFromPipelineByPropertyName)]
        [Alias('Cluster', 'Id')]
        [guid] $GatewayClusterId,

        # Only changes by this principal.
        [guid] $CallerId,

        # Only changes of this entity.
        [guid] $ResourceId,

        # Only this action, such as cluster.update.
        [string] $Action,

        # Only from this time on.
        [datetime] $Since,

        # Only before this time.
        [datetime] $Until
    )
    begin { Use-CallerPreference $PSCmdlet }
    process {
        $next = '/v2.0/myorg/auditEvents?' + (Get-AuditQuery $PSBoundParameters)
        while ($next) {
            $page = Invoke-Guarded $PSCmdlet $null { Invoke-Gateway GET $next }
            if ($null -eq $page) { return }
            foreach ($e in $page.value) { New-AuditObject $e }
            $token = Get-Property $page 'continuationToken'
            $next = $null
            if ($token) { $next = '/v2.0/myorg/auditEvents?' + (Get-AuditQuery $PSBoundParameters) + '&continuationToken=' + [uri]::EscapeDataString($token) }
        }
    }
}

# Get-AuditQuery writes the filters that were given.
function Get-AuditQuery($Bound) {
    $names = @{ GatewayClusterId = 'clusterId'; CallerId = 'callerId'; ResourceId = 'resourceId'; Action = 'action'; Since = 'since'; Until = 'until' }
    $parts = foreach ($name in $names.Keys) {
        if (-not $Bound.ContainsKey($name)) { continue }
        $value = $Bound[$name]
        if ($value -is [datetime]) { $value = Format-GatewayTime $value }
        $names[$name] + '=' + [uri]::EscapeDataString("$value")
    }
    $parts -join '&'
}

# New-AuditObject makes one event.
function New-AuditObject($Json) {
    [pscustomobject] @{
        PSTypeName = 'Comporta.AuditEvent'; At = ConvertTo-GatewayTime $Json.at; Caller = $Json.caller; Action = $Json.action; Kind = $Json.kind; ResourceId = $Json.resourceId
        ClusterId = $Json.clusterId; CallerId = $Json.callerId; From = $Json.from; RequestId = $Json.requestId; Before = (Get-Property $Json 'before')
        After = (Get-Property $Json 'after'); Id = $Json.id
    }
}
