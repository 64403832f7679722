package service

import (
	"slices"
	"strings"

	"comporta/service/gateway"
)

// mayCreateType applies a creator's allowed types.
func mayCreateType(caller *gateway.Caller, state *gateway.ClusterState, t gateway.DataSourceType) error {
	p, ok := state.Permissions[caller.ID]
	if !ok || p.AllowedTypes == nil || slices.Contains(p.AllowedTypes, t) {
		return nil
	}
	return gateway.Errorf(gateway.CodeForbidden, "Your role on this cluster does not include data sources of type %s.", t).About(state.Cluster.ID)
}

// credential picks and checks the entry to keep: the first in plan order. Every entry must be one that members can open and log in with. The
// cluster's own id was its first member's; scripts that go by that go on when this member is gone, and mean every member then.
func (s *DataSources) credential(state *gateway.ClusterState, d gateway.DataSource, entries map[gateway.ID]CredentialInput) (CredentialInput, error) {
	if len(entries) == 0 {
		return CredentialInput{}, gateway.Errorf(gateway.CodeCredentialFormat, "credentialDetails is missing.")
	}
	for id, entry := range entries {
		if id != "" && id != state.Cluster.ID && !slices.ContainsFunc(state.Members, func(m gateway.Member) bool { return m.ID == id }) {
			return entry, gateway.Errorf(gateway.CodeCredentialFormat, "credentialDetails names %s, which is not a member of the cluster.", id).About(id)
		}
		if err := d.Type.CheckLogin(entry.Type); err != nil {
			return entry, err
		}
		checked, err := s.checked(&state.Cluster, d.Credential, entry)
		if err != nil {
			return entry, err
		}
		entries[id] = checked
	}
	for _, m := range state.Members {
		if entry, ok := entries[m.ID]; ok {
			return entry, nil
		}
	}
	if entry, ok := entries[state.Cluster.ID]; ok {
		return entry, nil
	}
	return entries[""], nil
}

// checked sees that a credential has the form that the cluster's key demands; plain text is sealed here if the operator allows it.
func (s *DataSources) checked(c *gateway.Cluster, before gateway.StoredCredential, in CredentialInput) (CredentialInput, error) {
	if in.Envelope == "" && (strings.EqualFold(in.Type, "Anonymous") || in.Type == "OAuth2" && in.over(before).SkipTest) {
		return in, nil
	}
	if in.Plain {
		if !s.AllowPlainCredentials {
			return in, gateway.Errorf(gateway.CodeCredentialFormat, "Credentials in plain text are refused: the service must not be able to read them. Encrypt them with the cluster's public key (RSA-OAEP), or have the operator start it with --allow-plain-credentials.")
		}
		sealed, err := s.Envelopes.SealPlain(c.Key.Modulus, c.Key.Exponent, in.Envelope)
		if err != nil {
			return in, err
		}
		in.Envelope, in.Plain = sealed, false
	}
	return in, s.Envelopes.CheckForm(len(c.Key.Modulus), in.Envelope)
}
