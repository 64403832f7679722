package powerbi

import (
	"cmp"
	"strconv"
	"strings"

	"comporta/service/gateway"
)

// oneOf finds a word in any letter case; the error lists what there is.
func oneOf[T ~string](text string, all ...T) (T, error) {
	var names []string
	for _, w := range all {
		if strings.EqualFold(string(w), text) {
			return w, nil
		}
		if w != "" {
			names = append(names, string(w))
		}
	}
	return "", gateway.Errorf(gateway.CodeInvalid, "%q is none of %s.", text, strings.Join(names, ", "))
}

// number finds a word by the number that the surface gives it.
func number[T ~string](text string, all map[int]T) (T, bool) {
	n, err := strconv.Atoi(text)
	w, ok := all[n]
	return w, err == nil && ok
}

// wordOf reads a word in any letter case, or the number that the surface gives it.
func wordOf[T ~string](text string, isNumber bool, numbers map[int]T, all ...T) (T, error) {
	if w, ok := number(text, numbers); ok && isNumber {
		return w, nil
	}
	return oneOf(text, all...)
}

// Mode is loadBalancingSelectorType: Failover (0) or Random (1); ours is LeastLoaded, and Fabric's word for Random is taken too.
type Mode struct{ Value gateway.BalanceMode }

// FromJSON implements rest.Word.
func (m *Mode) FromJSON(text string, isNumber bool) error {
	w, err := wordOf(text, isNumber, map[int]string{0: "Failover", 1: "Random"}, "Failover", "Random", "DistributeEvenly", "LeastLoaded")
	if w == "Random" {
		w = string(gateway.DistributeEvenly)
	}
	m.Value = gateway.BalanceMode(w)
	return err
}

// modeWord is the Power BI word of a mode.
func modeWord(m gateway.BalanceMode) string {
	if m == gateway.DistributeEvenly {
		return "Random"
	}
	return string(m)
}

// State is a member's state: Enabled or Disabled.
type State struct{ Value gateway.MemberState }

// FromJSON implements rest.Word.
func (s *State) FromJSON(text string, _ bool) (err error) {
	s.Value, err = oneOf(text, gateway.MemberEnabled, gateway.MemberDisabled)
	return err
}

// Role is a role on a cluster; Fabric's longer word is taken too.
type Role struct{ Value gateway.ClusterRole }

// FromJSON implements rest.Word.
func (r *Role) FromJSON(text string, _ bool) error {
	w, err := oneOf(text, gateway.ClusterAdmin, gateway.ConnectionCreator, gateway.ConnectionCreatorReshare, "ConnectionCreatorWithResharing")
	if w == "ConnectionCreatorWithResharing" {
		w = gateway.ConnectionCreatorReshare
	}
	r.Value = w
	return err
}

// SourceType is a data source type, by its word or its Power BI number.
type SourceType struct{ Value gateway.DataSourceType }

// FromJSON implements rest.Word.
func (t *SourceType) FromJSON(text string, isNumber bool) error {
	var ok bool
	if isNumber {
		n, err := strconv.Atoi(text)
		t.Value, ok = gateway.TypeByNumber(n)
		ok = ok && err == nil
	} else {
		t.Value, ok = gateway.KnownType(text)
	}
	if !ok {
		return gateway.Errorf(gateway.CodeUnsupportedDataSource, "%q is not a data source type. Supported are %s.", text, servedTypes())
	}
	return nil
}

// servedTypes names the types of which a data source can be.
func servedTypes() string {
	names := make([]string, len(gateway.ServedTypes))
	for i, t := range gateway.ServedTypes {
		names[i] = string(t)
		if t == gateway.TypeExtension {
			names[i] += " (kind SQLite)"
		}
	}
	return strings.Join(names, ", ")
}

// Right is a user's access right on a data source; 1 is Read, 9 ReadOverrideEffectiveIdentity.
type Right struct{ Value gateway.AccessRight }

// FromJSON implements rest.Word.
func (r *Right) FromJSON(text string, isNumber bool) (err error) {
	numbers := map[int]gateway.AccessRight{0: gateway.RightNone, 1: gateway.RightRead, 9: gateway.RightReadOverride}
	r.Value, err = wordOf(text, isNumber, numbers, gateway.RightRead, gateway.RightReadOverride, gateway.RightNone)
	return err
}

// CredentialType is how a data source is logged in to: Windows (1), Anonymous (2), Basic (3), Key (4), OAuth2 (5) or
// WindowsWithoutImpersonation (8), and two that have no number.
type CredentialType struct{ Value string }

// FromJSON implements rest.Word.
func (t *CredentialType) FromJSON(text string, isNumber bool) (err error) {
	numbers := map[int]string{1: "Windows", 2: "Anonymous", 3: "Basic", 4: "Key", 5: "OAuth2", 8: "WindowsWithoutImpersonation"}
	t.Value, err = wordOf(text, isNumber, numbers, "Basic", "Windows", "Anonymous", "Key", "OAuth2", "SAS", "ServicePrincipal", "WindowsWithoutImpersonation")
	return err
}

// Encryption is encryptedConnection: Encrypted (0), Any (1) or NotEncrypted (2); an empty text says nothing.
type Encryption struct{ Value string }

// FromJSON implements rest.Word.
func (e *Encryption) FromJSON(text string, isNumber bool) (err error) {
	e.Value, err = wordOf(text, isNumber, map[int]string{0: "Encrypted", 1: "Any", 2: "NotEncrypted"}, "Encrypted", "Any", "NotEncrypted", "")
	return err
}

// Privacy is privacyLevel: None (0), Private (1), Organizational (2) or Public (3); an empty text says nothing.
type Privacy struct{ Value string }

// FromJSON implements rest.Word.
func (p *Privacy) FromJSON(text string, isNumber bool) (err error) {
	numbers := map[int]string{0: "None", 1: "Private", 2: "Organizational", 3: "Public"}
	p.Value, err = wordOf(text, isNumber, numbers, "None", "Public", "Organizational", "Private", "")
	return err
}

// SignOn is singleSignOnType: None (0), Kerberos (1), AzureActiveDirectory (2) or SAML (3), and one that has no number; an empty text is None.
type SignOn struct{ Value string }

// FromJSON implements rest.Word.
func (s *SignOn) FromJSON(text string, isNumber bool) (err error) {
	numbers := map[int]string{0: "None", 1: "Kerberos", 2: endUserSignOn, 3: "SAML"}
	s.Value, err = wordOf(cmp.Or(text, "None"), isNumber, numbers, "None", "Kerberos", endUserSignOn, "SAML", "KerberosDirectQueryAndRefresh")
	return err
}

// UserRole is a role on a data source.
type UserRole struct{ Value gateway.DataSourceRole }

// FromJSON implements rest.Word.
func (r *UserRole) FromJSON(text string, _ bool) (err error) {
	r.Value, err = oneOf(text, gateway.DataSourceOwner, gateway.DataSourceReshare, gateway.DataSourceReader)
	return err
}

// Type is a gateway type.
type Type struct{ Value gateway.GatewayType }

// FromJSON implements rest.Word.
func (t *Type) FromJSON(text string, _ bool) (err error) {
	t.Value, err = oneOf(text, gateway.Resource, gateway.Personal, gateway.VirtualNetwork)
	return err
}

// Kind is the kind of a principal.
type Kind struct{ Value gateway.PrincipalKind }

// FromJSON implements rest.Word.
func (k *Kind) FromJSON(text string, _ bool) (err error) {
	k.Value, err = oneOf(text, gateway.User, gateway.App, gateway.Group)
	return err
}

// UserKind is Kind where it only says what the caller believes; None is nothing in particular.
type UserKind struct{ Value gateway.PrincipalKind }

// FromJSON implements rest.Word.
func (k *UserKind) FromJSON(text string, _ bool) (err error) {
	k.Value, err = oneOf(text, gateway.User, gateway.App, gateway.Group, "None")
	return err
}

// PolicyWord is Open (1) or Restricted (2); None leaves it.
type PolicyWord struct{ Restricted *bool }

// FromJSON implements rest.Word.
func (p *PolicyWord) FromJSON(text string, isNumber bool) error {
	w, err := wordOf(text, isNumber, map[int]string{0: "None", 1: "Open", 2: "Restricted"}, "None", "Open", "Restricted")
	if restricted := w == "Restricted"; err == nil && w != "None" {
		p.Restricted = &restricted
	}
	return err
}

// Operation says whether installers are added or removed.
type Operation struct{ Value string }

// FromJSON implements rest.Word.
func (o *Operation) FromJSON(text string, isNumber bool) (err error) {
	o.Value, err = wordOf(text, isNumber, map[int]string{0: "None", 1: "Add", 2: "Remove"}, "None", "Add", "Remove")
	return err
}

// ID is a GUID in any form.
type ID struct{ Value gateway.ID }

// FromJSON implements rest.Word.
func (i *ID) FromJSON(text string, isNumber bool) error {
	id, ok := gateway.ParseID(text)
	if !ok || isNumber {
		return gateway.Errorf(gateway.CodeInvalid, "%q is not an id (a GUID).", text)
	}
	i.Value = id
	return nil
}
