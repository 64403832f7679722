package service

import (
	"context"
	"strings"
	"testing"

	"comporta/persistence"
	"comporta/service/gateway"
)

func basicLogin(envelope string) map[gateway.ID]CredentialInput {
	return map[gateway.ID]CredentialInput{"": {Type: "Basic", Envelope: envelope}}
}

// Whoever may change a data source need not know its password, so he cannot have it sent to a machine of his own.
func TestANewPlaceTakesNewCredentials(t *testing.T) {
	w, ctx := newWorld(t), context.Background()
	cluster, _, id := w.cluster(t, 1)
	stored := func() gateway.DataSource {
		view, err := w.DataSources.Get(ctx, cluster, id)
		if err != nil {
			t.Fatal(err)
		}
		return view.DataSource
	}
	move := func(details string, credentials map[gateway.ID]CredentialInput) error {
		return w.DataSources.Update(ctx, w.admin, cluster, id, DataSourcePatch{ConnectionDetails: &details, Credentials: credentials})
	}
	before := stored()
	for _, details := range []string{`{"server":"evil","database":"d"}`, `{"server":"s:5433","database":"d"}`, `{"server":"s","database":"other"}`} {
		err := move(details, nil)
		if !gateway.IsCode(err, gateway.CodeCredentialFormat) || !strings.Contains(err.Error(), "credentialDetails") {
			t.Errorf("%s: %v", details, err)
		}
		if after := stored(); after.ConnectionDetails != before.ConnectionDetails || after.Credential != before.Credential {
			t.Fatalf("%s: it moved to %+v", details, after)
		}
	}
	if err := move(`{ "Database":"d", "server":"S:5432" }`, nil); err != nil || stored().Credential != before.Credential {
		t.Errorf("the same place in other words: %v", err)
	}
	if err := move(`{"server":"s","database":"d","server":"evil"}`, basicLogin("x")); !gateway.IsCode(err, gateway.CodeInvalid) {
		t.Errorf("a server that stands twice: %v", err)
	}
	if err := move(`{"server":"other","database":"d"}`, basicLogin("new")); err != nil {
		t.Fatal(err)
	}
	if after := stored(); after.Credential.Envelope != "new" || after.Credential.Version != before.Credential.Version+1 || after.ConnectionDetails != `{"server":"other","database":"d"}` {
		t.Errorf("moved with new credentials: %+v", after)
	}
}

// Details that an older release took and that nobody can read any more may lead anywhere.
func TestUnreadableDetailsCountAsAnotherPlace(t *testing.T) {
	w, ctx := newWorld(t), context.Background()
	cluster, _, id := w.cluster(t, 1)
	err := w.DataSources.Store.InTx(ctx, func(tx persistence.Tx) error {
		d, err := tx.DataSource(ctx, cluster, id)
		if err != nil {
			return err
		}
		d.ConnectionDetails = `{"server":"s","database":"d","old":1}`
		return tx.UpdateDataSource(ctx, d)
	})
	if err != nil {
		t.Fatal(err)
	}
	details := `{"server":"s","database":"d"}`
	if err := w.DataSources.Update(ctx, w.admin, cluster, id, DataSourcePatch{ConnectionDetails: &details}); !gateway.IsCode(err, gateway.CodeCredentialFormat) {
		t.Error(err)
	}
}

func TestAnAnonymousDataSourceMovesWithoutCredentials(t *testing.T) {
	w, ctx := newWorld(t), context.Background()
	cluster, _, _ := w.cluster(t, 1)
	d, err := w.DataSources.Create(ctx, w.admin, cluster, NewDataSource{Name: "web", Type: gateway.TypeWeb, ConnectionDetails: `{"url":"http://a"}`,
		Credentials: map[gateway.ID]CredentialInput{"": {Type: "Anonymous"}}})
	if err != nil {
		t.Fatal(err)
	}
	details := `{"url":"http://b"}`
	if err := w.DataSources.Update(ctx, w.admin, cluster, d.ID, DataSourcePatch{ConnectionDetails: &details}); err != nil {
		t.Error(err)
	}
}

// What no member could use, or what would show a secret, is refused when it is registered.
func TestCreateRefusesWhatNoMemberCouldUse(t *testing.T) {
	w, ctx := newWorld(t), context.Background()
	cluster, _, _ := w.cluster(t, 1)
	for _, c := range []struct {
		kind          gateway.DataSourceType
		details, auth string
		want          gateway.Code
	}{
		{gateway.TypeWeb, `{"url":"file:///etc/passwd"}`, "Basic", gateway.CodeInvalid},
		{gateway.TypeWeb, `{"url":"https://u:p@h/"}`, "Basic", gateway.CodeInvalid},
		{gateway.TypePostgreSQL, `{"server":"h host=evil","database":"d"}`, "Basic", gateway.CodeInvalid},
		{gateway.TypePostgreSQL, `{"server":"h:99999","database":"d"}`, "Basic", gateway.CodeInvalid},
		{gateway.TypePostgreSQL, `{"server":"h","database":"d","port":1}`, "Basic", gateway.CodeInvalid},
		{gateway.TypeSQLServer, `{"server":"h","database":"d"}`, "OAuth2", gateway.CodeCredentialFormat},
		{gateway.TypeMySQL, `{"server":"h","database":"d"}`, "Anonymous", gateway.CodeCredentialFormat},
		{gateway.TypeWeb, `{"url":"https://h/"}`, "SAS", gateway.CodeCredentialFormat},
	} {
		_, err := w.DataSources.Create(ctx, w.admin, cluster, NewDataSource{Name: "x", Type: c.kind, ConnectionDetails: c.details,
			Credentials: map[gateway.ID]CredentialInput{"": {Type: c.auth, Envelope: "sealed"}}})
		if !gateway.IsCode(err, c.want) {
			t.Errorf("%s %s %s: %v", c.kind, c.details, c.auth, err)
		}
	}
}
