package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"comporta/persistence"
	"comporta/service/gateway"
)

// A query that cannot be read is refused on every route, in the form of its surface: what was asked for is not known.
func TestAQueryThatCannotBeReadIsRefused(t *testing.T) {
	r := newRoles(newWorld(t))
	_, lines := parseRights(t)
	for i := range lines {
		l := lines[i]
		if l.method != "GET" || l.path == "/tunnel" {
			continue
		}
		caller, path := "tadmin", l.path
		if l.want[caller] != 200 {
			caller = "admin"
		}
		for _, query := range []string{"continuationToken=%zz", "$top=1;$skip=1", "a=%"} {
			l.path = path + "?" + query
			resp := r.raw("GET", r.live.fill(path)+"?"+query, r.tokens[caller])
			const want = 400
			var answer struct {
				Error     any
				ErrorCode string
			}
			err := json.Unmarshal([]byte(resp.text), &answer)
			if fabric := strings.HasPrefix(path, "/v1/"); resp.status != want || err != nil || (answer.ErrorCode != "") != fabric || (answer.Error != nil) == fabric {
				t.Errorf("%s as %s: %d %s, want %d", &l, caller, resp.status, resp.text, want)
			}
		}
	}
}

// $top=0 is an empty list wherever $top is taken; no $top is all of it.
func TestTopZeroIsAnEmptyList(t *testing.T) {
	r := newRoles(newWorld(t))
	r.token = r.tokens["tadmin"]
	for _, path := range []string{"/gatewayClusters", "/principals", "/gatewayClusters/{cluster}/datasources", "/gatewayClusters/{cluster}/dispatchRecords"} {
		r.token = r.tokens["tadmin"]
		path = r.live.fill(path)
		if strings.HasSuffix(path, "dispatchRecords") {
			as := *r.world
			as.token = r.tokens["admin"]
			as.must(200, "POST", "/gatewayClusters/"+r.cluster+"/dispatch", map[string]any{"datasourceId": r.live.source, "query": map[string]any{"text": ""}}, nil)
			r.eventually("a record", func() bool { return strings.Contains(r.must(200, "GET", path, nil, nil), `"outcome"`) })
		}
		for query, empty := range map[string]bool{"?$top=0": true, "?$TOP=0&$skip=0": true, "?$top=0&$skip=1": true, "?$top=1": false, "": false, "?$top=": false} {
			if text := r.must(200, "GET", path+query, nil, nil); strings.Contains(text, `"value":[]`) != empty {
				t.Errorf("%s%s: %.300s", path, query, text)
			}
		}
	}
}

// audited writes so many audit entries of the action "test".
func (w *world) audited(n int) {
	w.t.Helper()
	ctx := context.Background()
	err := w.store.InTx(ctx, func(tx persistence.Tx) error {
		for i := range n {
			entry := gateway.AuditEntry{ID: newID(), At: tx.Now().Add(time.Duration(i) * time.Millisecond), CallerID: gateway.ID(w.adminID), Action: "test"}
			if err := tx.AppendAudit(ctx, entry); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// The export holds everything that matches, over all pages, once and in order: one entry a line, as the list shows it.
func TestTheAuditLogIsExportedAsNDJSON(t *testing.T) {
	w := newWorld(t)
	w.audited(2001)
	req, err := http.NewRequest("GET", w.url+"/v2.0/myorg/auditEvents?action=test", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Accept", "application/x-ndjson")
	resp, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/x-ndjson" {
		t.Fatalf("%d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	type entry struct {
		ID, Action, CallerID string
		At                   time.Time
	}
	var last entry
	seen, lines := map[string]bool{}, bufio.NewScanner(resp.Body)
	for lines.Scan() {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Action != "test" || e.CallerID != w.adminID || seen[e.ID] || e.At.Before(last.At) {
			t.Fatalf("line %d is %s: %v", len(seen)+1, lines.Bytes(), err)
		}
		seen[e.ID], last = true, e
	}
	if lines.Err() != nil || len(seen) != 2001 {
		t.Errorf("%d entries: %v", len(seen), lines.Err())
	}
}

// A continuation token of the audit log is good for the filter that it was given with.
func TestAnAuditTokenIsGoodForItsFilter(t *testing.T) {
	w := newWorld(t)
	w.audited(1001)
	var page struct {
		Value                              []any
		ContinuationToken, ContinuationURI string
	}
	w.must(200, "GET", "/auditEvents?action=test&since=2020-01-01T00:00:00Z", nil, &page)
	if len(page.Value) != 1000 || page.ContinuationToken == "" {
		t.Fatalf("%d entries, token %q", len(page.Value), page.ContinuationToken)
	}
	token := url.QueryEscape(page.ContinuationToken)
	next := strings.TrimPrefix(page.ContinuationURI, w.url)
	w.must(200, "GET", "/"+next, nil, &page)
	if len(page.Value) != 1 {
		t.Errorf("the second page has %d entries", len(page.Value))
	}
	w.must(200, "GET", "/auditEvents?since=2020-01-01T01:00:00%2B01:00&action=test&continuationToken="+token, nil, nil)
	for _, filter := range []string{"", "action=other", "action=test", fmt.Sprintf("action=test&since=2020-01-01T00:00:00Z&callerId=%s", w.adminID), "action=test&since=2021-01-01T00:00:00Z"} {
		w.fails(400, "InvalidContinuationToken", "GET", "/auditEvents?"+filter+"&continuationToken="+token, nil)
	}
	if resp := w.raw("GET", "/v1/connections?continuationToken="+token, w.token); resp.status != 400 || !strings.Contains(resp.text, "InvalidContinuationToken") {
		t.Errorf("on another list: %d %s", resp.status, resp.text)
	}
}

type rawAnswer struct {
	status int
	text   string
	header http.Header
}

// raw sends a request whose address is left as it is.
func (w *world) raw(method, target, token string) rawAnswer {
	w.t.Helper()
	as := *w
	as.token = token
	resp := as.sendRequest(method, w.url+target, nil, http.Header{})
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return rawAnswer{resp.StatusCode, string(text), resp.Header}
}
