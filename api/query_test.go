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

// v2Lists are all lists of the Power BI surface, filled by what newRoles and its members leave behind.
var v2Lists = []string{"/gatewayClusters", "/me/gatewayClusters", "/principals", "/principals/{principal}/secrets", "/gatewayInstallers", "/gatewayRegions",
	"/gatewayClusters/{cluster}/permissions", "/gatewayClusters/{cluster}/memberGateways", "/gatewayClusters/{cluster}/memberGateways/{member}/load",
	"/gatewayClusters/{cluster}/datasources", "/gatewayClusters/{cluster}/datasources/{dataSource}/users", "/gatewayClusters/{cluster}/dispatchRecords"}

// Whatever the list: a script that asks for a part of it gets that part, or is told that it cannot have it. It never gets the whole for the
// part.
func TestEveryListServesOrRefusesWhatNarrowsIt(t *testing.T) {
	r := newRoles(newWorld(t))
	r.token = r.tokens["tadmin"]
	r.must(200, "POST", "/gatewayInstallers", map[string]any{"ids": []string{r.principals["admin"].String(), r.principals["crea"].String()}, "operation": "Add", "gatewayType": "Resource"}, nil)
	r.estates(1)
	r.must(201, "POST", r.live.fill("/principals/{principal}/secrets"), map[string]any{"label": "second"}, nil)
	var whole, part struct{ Value []json.RawMessage }
	longer := 0
	for _, path := range v2Lists {
		path = r.live.fill(path)
		whole.Value = nil
		r.must(200, "GET", path, nil, &whole)
		for skip := range min(3, len(whole.Value)) {
			part.Value = nil
			r.must(200, "GET", fmt.Sprintf("%s?$skip=%d&$top=1", path, skip), nil, &part)
			if len(part.Value) != 1 || !strings.HasSuffix(path, "/load") && identity(part.Value[0]) != identity(whole.Value[skip]) {
				t.Errorf("%s: place %d is %s, in the whole list %s", path, skip, part.Value, whole.Value[skip])
			}
		}
		if len(whole.Value) > 1 {
			longer++
		}
		for _, query := range []string{"?$top=0", "?$skip=999"} {
			if text := r.must(200, "GET", path+query, nil, nil); !strings.Contains(text, `"value":[]`) {
				t.Errorf("%s%s: %.300s", path, query, text)
			}
		}
		for _, query := range []string{"$top=-1", "$top=x", "$skip=-1", "$skip=1.5", "$ORDERBY=name", "$search=x", "$apply=x", "$skiptoken=x", "$filter=name%20eq%20'x'"} {
			r.fails(400, "InvalidInput", "GET", path+"?"+query, nil)
		}
	}
	if longer < 7 {
		t.Errorf("only %d lists have more than one entry: the test sees too little", longer)
	}
}

// identity is the id of a list's entry, which stays while load and times move.
func identity(entry json.RawMessage) string {
	var e struct{ ID, Identifier, RegionKey string }
	_ = json.Unmarshal(entry, &e)
	return e.ID + e.Identifier + e.RegionKey
}

// The lists that come whole refuse what would narrow them; scripts that leave out none of it go on.
func TestListsWithoutPagesRefuseWhatNarrowsThem(t *testing.T) {
	r := newRoles(newWorld(t))
	one := "//v1.0/myorg/gateways/" + r.cluster
	for _, path := range []string{"//v1.0/myorg/gateways", one + "/datasources", one + "/datasources/" + r.live.source.String() + "/users", "//unifiedgateway/gatewayclusters"} {
		r.token = r.tokens["admin"]
		r.must(200, "GET", path+"?$skip=0&$expand=users&api-version=1", nil, nil)
		for _, query := range []string{"$top=5", "$skip=1", "$filter=x", "$orderby=name"} {
			r.fails(400, "InvalidInput", "GET", path+"?"+query, nil)
		}
	}
}

// The audit log has pages of its own: $top says how long they are, and they lead to the end all the same.
func TestPagesOfTheAuditLogAreAsLongAsAskedFor(t *testing.T) {
	w := newWorld(t)
	w.audited(5)
	seen, pages, next := 0, 0, "/v2.0/myorg/auditEvents?action=test&$top=2"
	for next != "" {
		var page struct {
			Value           []any
			ContinuationURI string
		}
		w.must(200, "GET", "/"+next, nil, &page)
		seen, pages, next = seen+len(page.Value), pages+1, strings.TrimPrefix(page.ContinuationURI, w.url)
	}
	if seen != 5 || pages != 3 {
		t.Errorf("%d entries on %d pages", seen, pages)
	}
	if text := w.must(200, "GET", "/auditEvents?$top=0", nil, nil); !strings.Contains(text, `"value":[]`) || strings.Contains(text, "continuation") {
		t.Errorf("$top=0: %s", text)
	}
	for _, query := range []string{"$skip=2", "$top=-1", "$filter=x", "$orderby=at"} {
		w.fails(400, "InvalidInput", "GET", "/auditEvents?"+query, nil)
	}
	export := w.sendRequest("GET", w.url+"/v2.0/myorg/auditEvents?$top=2", nil, http.Header{"Accept": {"application/x-ndjson"}})
	if export.StatusCode != 400 {
		t.Errorf("an export of two: %d", export.StatusCode)
	}
}

// Records are read up to those asked for, so how many are left out has a bound.
func TestDispatchRecordsAreLeftOutUpToABound(t *testing.T) {
	w := newWorld(t)
	w.joined()
	ctx, path := context.Background(), "/gatewayClusters/"+w.cluster+"/dispatchRecords"
	err := w.store.InTx(ctx, func(tx persistence.Tx) error {
		records := make([]gateway.DispatchRecord, 1005)
		for i := range records {
			records[i] = gateway.DispatchRecord{ID: newID(), At: time.Now().Add(time.Duration(i) * time.Second), ClusterID: gateway.ID(w.cluster), Rows: int64(i), Outcome: "ok"}
		}
		return tx.AppendDispatchRecords(ctx, records)
	})
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string][2]int{"": {1000, 1004}, "?$top=5000&$skip=3": {1000, 1001}, "?$top=2&$skip=1003": {2, 1}, "?$top=2&$skip=1004": {1, 0}, "?$top=1": {1, 1004}, "?$skip=10000": {0, 0}} {
		var page struct{ Value []struct{ Rows int } }
		w.must(200, "GET", path+query, nil, &page)
		if len(page.Value) != want[0] || want[0] > 0 && page.Value[0].Rows != want[1] {
			t.Errorf("%s: %d records", query, len(page.Value))
		}
	}
	w.fails(400, "InvalidInput", "GET", path+"?$skip=10001", nil)
	w.fails(400, "InvalidInput", "GET", path+"?$filter=x", nil)
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
