package e2e

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"comporta/service/credential"
)

// forms are the ways in which a secret could lie about: plain, base64 at each of the three alignments, hex.
func forms(secret []byte) map[string]string {
	f := map[string]string{"plain": string(secret), "hex": hex.EncodeToString(secret), "HEX": strings.ToUpper(hex.EncodeToString(secret))}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift, name := range []string{"base64", "base64 after one byte", "base64 after two bytes"} {
			text := encoding.EncodeToString(append(make([]byte, shift), secret...))
			// The first and last characters depend on the neighbours.
			f[name] = text[4 : len(text)-2]
		}
	}
	return f
}

// A whole story, then every file of the service and every line that anything printed is searched for every secret of it.
func TestNoSecretLiesAbout(t *testing.T) {
	name, _ := postgres(t)
	dir := t.TempDir()
	w := serve(t, dir, "127.0.0.1:0", "--data", dir, "--log-level", "debug")
	state := w.join("one")
	member := w.run(state, "one", "--log-level", "debug")
	second := w.member("two", "--log-level", "debug")
	source := w.source("pg", "PostgreSql", `{"server":"127.0.0.1:5432","database":"`+name+`"}`, credential.Basic(name, dbPassword))
	wrong := w.source("wrong", "PostgreSql", `{"server":"127.0.0.1:5432","database":"`+name+`"}`, credential.Basic("nobody", dbPassword+"!"))
	w.rows(source, "select 1")
	w.try("GET", "/gatewayClusters/"+w.cluster+"/datasources/"+wrong+"/status", nil)
	w.try("POST", "/gatewayClusters/"+w.cluster+"/dispatch", map[string]any{"datasourceId": wrong, "query": map[string]any{"text": "select 1"}})
	w.try("POST", "/gatewayClusters/"+w.cluster+"/memberGateways", map[string]any{"name": "x", "recoveryKey": recoveryKey + "wrong"})
	var made struct{ ClientSecret, ID string }
	w.call("POST", "/principals", map[string]any{"principalType": "App", "displayName": "pipeline"}, &made)
	var answers strings.Builder
	for _, path := range []string{"/gatewayClusters", "/gatewayClusters/" + w.cluster, "/gatewayClusters/" + w.cluster + "/datasources?$expand=users", "/principals", "/auditEvents", "/principals/" + made.ID + "/secrets"} {
		_, text, err := w.try("GET", path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answers.Write(text)
	}
	member.stop()
	second.stop()
	w.service.stop()

	secrets := map[string][]byte{"recovery key": []byte(recoveryKey), "data source password": []byte(dbPassword), "administrator's secret": []byte(adminSecret),
		"application's secret": []byte(made.ClientSecret), "access token": []byte(w.token)}
	for what, file := range map[string]string{"cluster's private key": "cluster-key.pem", "member's private key": "member-key.pem"} {
		text, err := os.ReadFile(filepath.Join(state, file))
		block, _ := pem.Decode(text)
		if err != nil || block == nil {
			t.Fatal(err)
		}
		secrets[what] = block.Bytes[len(block.Bytes)/3 : len(block.Bytes)/3+24] // from the middle: the beginning is public
		if file == "member-key.pem" {
			secrets[what] = block.Bytes[len(block.Bytes)-32:]
		}
	}
	places := map[string]string{"service's log": w.service.text(), "first member's log": member.text(), "second member's log": second.text(), "answers": answers.String()}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, e := os.ReadFile(path)
			places[path], err = string(text), e
		}
		return err
	})
	if err != nil || len(places) < 5 {
		t.Fatalf("%d places, %v", len(places), err)
	}
	for what, secret := range secrets {
		for form, text := range forms(secret) {
			for place, content := range places {
				if strings.Contains(content, text) {
					t.Errorf("the %s stands in %s (%s)", what, place, form)
				}
			}
		}
	}
}

// The search finds what it looks for, in every form.
func TestTheSearchFinds(t *testing.T) {
	secret := []byte("a-secret-that-is-long-enough")
	for _, before := range []string{"", "x", "xy", "xyz"} {
		text := base64.StdEncoding.EncodeToString([]byte(before + string(secret) + "zz"))
		found := false
		for _, form := range forms(secret) {
			found = found || strings.Contains(text, form)
		}
		if !found {
			t.Errorf("not found after %q", before)
		}
	}
}
