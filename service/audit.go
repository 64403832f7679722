package service

import (
	"context"
	"encoding/json"

	"comporta/persistence"
	"comporta/service/gateway"
)

// change is one audited change: what was done to what.
type change struct {
	action  string
	kind    string
	id      gateway.ID
	cluster gateway.ID
	// before and after are views without secrets (the audit* types), nil where there is none.
	before, after any
}

// audit writes a change in the transaction that makes it.
func (c *core) audit(ctx context.Context, tx persistence.Tx, caller *gateway.Caller, ch change) error {
	return tx.AppendAudit(ctx, gateway.AuditEntry{
		ID: c.NewID(), At: tx.Now(), CallerID: caller.ID, Caller: caller.Name, From: caller.From, RequestID: caller.RequestID,
		Action: ch.action, Kind: ch.kind, ResourceID: ch.id, ClusterID: ch.cluster, Before: auditText(ch.before), After: auditText(ch.after),
	})
}

func auditText(view any) string {
	if view == nil {
		return ""
	}
	text, err := json.Marshal(view)
	if err != nil {
		// The views are plain structs of strings and numbers; this cannot happen, and a change must not fail for it.
		return `"unreadable"`
	}
	return string(text)
}

// The audit views name what may be shown. What is not here (keys, envelopes, hashes) cannot get into the log.
type (
	auditCluster struct {
		Name, Description, Department, ContactInfo, Region string
		PrimaryID                                          gateway.ID
		Mode                                               gateway.BalanceMode
		AllowCloudRefresh, AllowCustomConnectors           bool
		Limits                                             gateway.Limits
		QueueTimeoutSeconds                                int
	}
	auditMember struct {
		Name, Description, Annotation string
		State                         gateway.MemberState
		Draining                      bool
		Limits                        gateway.Limits
		Enrolled                      bool
	}
	auditDataSource struct {
		Name                            string
		Type                            gateway.DataSourceType
		ConnectionDetails, Annotation   string
		SingleSignOn, CredentialType    string
		CredentialVersion               int64
		CredentialEncryption, Algorithm string
	}
	auditPermission struct {
		Role         gateway.ClusterRole
		AllowedTypes []gateway.DataSourceType
	}
	auditDataSourceUser struct {
		PrincipalID gateway.ID
		Role        gateway.DataSourceRole
		Right       gateway.AccessRight
	}
	auditPrincipal struct {
		Kind                  gateway.PrincipalKind
		Name, Email           string
		TenantAdmin, Disabled bool
	}
	auditInstaller struct{ Type gateway.GatewayType }
	auditSecret    struct {
		SecretID gateway.ID
		Label    string
	}
)

func viewCluster(c gateway.Cluster) auditCluster {
	return auditCluster{c.Name, c.Description, c.Department, c.ContactInfo, c.Region, c.PrimaryID, c.Mode, c.AllowCloudRefresh,
		c.AllowCustomConnectors, c.Limits, int(c.QueueTimeout.Seconds())}
}

func viewMember(m gateway.Member) auditMember {
	return auditMember{m.Name, m.Description, m.Annotation, m.State, m.Draining, m.Limits, m.Enrolled()}
}

func viewDataSource(d gateway.DataSource) auditDataSource {
	return auditDataSource{d.Name, d.Type, d.ConnectionDetails, d.Annotation, d.SingleSignOn, d.Credential.Type, d.Credential.Version,
		d.Credential.Encryption, d.Credential.Algorithm}
}

func viewPrincipal(p gateway.Principal) auditPrincipal {
	return auditPrincipal{p.Kind, p.Name, p.Email, p.TenantAdmin, p.Disabled}
}
