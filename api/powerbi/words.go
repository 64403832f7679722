package powerbi

import (
	"strconv"
	"strings"

	"comporta/service/gateway"
)

// oneOf finds a word in any letter case; the error lists what there is.
func oneOf[T ~string](text string, all ...T) (T, error) {
	names := make([]string, len(all))
	for i, w := range all {
		if strings.EqualFold(string(w), text) {
			return w, nil
		}
		names[i] = string(w)
	}
	return "", gateway.Errorf(gateway.CodeInvalid, "%q is none of %s.", text, strings.Join(names, ", "))
}

// number finds a word by the number that the surface gives it.
func number[T ~string](text string, all map[int]T) (T, bool) {
	n, err := strconv.Atoi(text)
	w, ok := all[n]
	return w, err == nil && ok
}

// Mode is loadBalancingSelectorType: Failover (0) or Random (1); ours is LeastLoaded, and Fabric's word for Random is taken too.
type Mode struct{ Value gateway.BalanceMode }

// FromJSON implements rest.Word.
func (m *Mode) FromJSON(text string, isNumber bool) error {
	if isNumber {
		if w, ok := number(text, map[int]gateway.BalanceMode{0: gateway.Failover, 1: gateway.DistributeEvenly}); ok {
			m.Value = w
			return nil
		}
	}
	w, err := oneOf(text, "Failover", "Random", "DistributeEvenly", "LeastLoaded")
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
		return gateway.Errorf(gateway.CodeUnsupportedDataSource, "%s is not a data source type.", text)
	}
	return nil
}

// Right is a user's access right on a data source; 1 is Read, 9 ReadOverrideEffectiveIdentity.
type Right struct{ Value gateway.AccessRight }

// FromJSON implements rest.Word.
func (r *Right) FromJSON(text string, isNumber bool) (err error) {
	if isNumber {
		if w, ok := number(text, map[int]gateway.AccessRight{0: gateway.RightNone, 1: gateway.RightRead, 9: gateway.RightReadOverride}); ok {
			r.Value = w
			return nil
		}
	}
	r.Value, err = oneOf(text, gateway.RightRead, gateway.RightReadOverride, gateway.RightNone)
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

// PolicyWord is Open (1) or Restricted (2); None leaves it.
type PolicyWord struct{ Restricted *bool }

// FromJSON implements rest.Word.
func (p *PolicyWord) FromJSON(text string, isNumber bool) error {
	w, err := oneOf(text, "None", "Open", "Restricted")
	if isNumber {
		var ok bool
		if w, ok = number(text, map[int]string{0: "None", 1: "Open", 2: "Restricted"}); ok {
			err = nil
		}
	}
	if restricted := w == "Restricted"; err == nil && w != "None" {
		p.Restricted = &restricted
	}
	return err
}

// Operation says whether installers are added or removed.
type Operation struct{ Value string }

// FromJSON implements rest.Word.
func (o *Operation) FromJSON(text string, isNumber bool) (err error) {
	if isNumber {
		if w, ok := number(text, map[int]string{0: "None", 1: "Add", 2: "Remove"}); ok {
			o.Value = w
			return nil
		}
	}
	o.Value, err = oneOf(text, "None", "Add", "Remove")
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
