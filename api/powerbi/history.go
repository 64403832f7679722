package powerbi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// How many audit entries and records one answer holds.
const (
	auditPage   = 1000
	recordsPage = 1000
	// recordsSkip is how many records $skip may leave out: they are read all the same.
	recordsSkip = 10_000
)

// AuditEvent is one change: who, what, from where, before and after without secrets.
type AuditEvent struct {
	ID         gateway.ID      `json:"id"`
	At         time.Time       `json:"at"`
	CallerID   gateway.ID      `json:"callerId"`
	Caller     string          `json:"caller"`
	From       string          `json:"from"`
	RequestID  string          `json:"requestId"`
	Action     string          `json:"action" example:"cluster.update"`
	Kind       string          `json:"kind"`
	ResourceID gateway.ID      `json:"resourceId"`
	ClusterID  gateway.ID      `json:"clusterId"`
	Before     json.RawMessage `json:"before,omitempty" swaggertype:"object"`
	After      json.RawMessage `json:"after,omitempty" swaggertype:"object"`
}

// AuditList is one page of the audit log; both continuations are absent on the last one.
type AuditList struct {
	Context           string       `json:"@odata.context"`
	Value             []AuditEvent `json:"value"`
	ContinuationToken string       `json:"continuationToken,omitempty"`
	ContinuationURI   string       `json:"continuationUri,omitempty"`
}

func auditEvent(e gateway.AuditEntry) AuditEvent {
	return AuditEvent{e.ID, e.At, e.CallerID, e.Caller, e.From, e.RequestID, e.Action, e.Kind, e.ResourceID, e.ClusterID, raw(e.Before), raw(e.After)}
}

func raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// ListAudit lists the audit log, oldest first.
//
//	@Summary		Audit log
//	@Description	Every change, oldest first, a thousand at a time. With Accept: application/x-ndjson all that match, one per line.
//	@Tags			history
//	@Produce		json,application/x-ndjson
//	@Security		oauth2
//	@Param			clusterId			query		string	false	"only of this cluster"
//	@Param			callerId			query		string	false	"only by this principal"
//	@Param			resourceId			query		string	false	"only of this entity"
//	@Param			action				query		string	false	"only this action"
//	@Param			since				query		string	false	"RFC 3339, included"
//	@Param			until				query		string	false	"RFC 3339, excluded"
//	@Param			$top				query		int		false	"at most so many a page; 1000 is the most, and the export takes none"
//	@Param			continuationToken	query		string	false	"from the page before"
//	@Success		200					{object}	AuditList
//	@Failure		400,401,403			{object}	ErrorResponse
//	@Router			/v2.0/myorg/auditEvents [get]
func (h *Handlers) ListAudit(c echo.Context) error {
	if strings.Contains(c.Request().Header.Get("Accept"), "ndjson") {
		return h.exportAudit(c)
	}
	if err := serves(c, "$top"); err != nil {
		return err
	}
	f, err := auditFilter(c)
	if err != nil {
		return err
	}
	top, given, err := topOf(c)
	if err != nil {
		return err
	}
	if given && top == 0 {
		return list[AuditEvent](c, h, "auditEvents", nil)
	}
	if given {
		f.Limit = min(top, auditPage)
	}
	entries, err := h.Service.History.Audit(c.Request().Context(), f)
	if err != nil {
		return err
	}
	page := AuditList{Context: h.context("auditEvents"), Value: make([]AuditEvent, len(entries))}
	for i, e := range entries {
		page.Value[i] = auditEvent(e)
	}
	if len(entries) == f.Limit {
		last := entries[len(entries)-1]
		page.ContinuationToken = rest.Token(auditList(f), service.After{At: last.At, ID: last.ID})
		q := c.QueryParams()
		q.Set("continuationToken", page.ContinuationToken)
		page.ContinuationURI = h.PublicURL + "/v2.0/myorg/auditEvents?" + q.Encode()
	}
	return c.JSON(http.StatusOK, page)
}

// auditPageTime is how long a page of the export may take to be read.
const auditPageTime = 5 * time.Minute

// exportAudit streams everything that matches, page by page.
func (h *Handlers) exportAudit(c echo.Context) error {
	if err := serves(c); err != nil {
		return err
	}
	f, err := auditFilter(c)
	if err != nil {
		return err
	}
	w := c.Response()
	w.Header().Set("Content-Type", string(gateway.FormatNDJSON))
	for first := true; ; first = false {
		rest.BoundAnswer(c, h.Now().Add(auditPageTime)) // of this page: the whole of it may be long
		entries, err := h.Service.History.Audit(c.Request().Context(), f)
		if err != nil && first {
			return err
		}
		if err != nil {
			panic(http.ErrAbortHandler) // never a short success
		}
		lines := json.NewEncoder(w)
		for _, e := range entries {
			if lines.Encode(auditEvent(e)) != nil {
				panic(http.ErrAbortHandler) // likewise, if anybody still reads
			}
		}
		if len(entries) < f.Limit {
			return nil
		}
		last := entries[len(entries)-1]
		f.After = service.After{At: last.At, ID: last.ID}
	}
}

func auditFilter(c echo.Context) (f service.AuditFilter, err error) {
	f.Limit, f.Action = auditPage, query(c, "action")
	for name, id := range map[string]*gateway.ID{"clusterId": &f.ClusterID, "callerId": &f.CallerID, "resourceId": &f.ResourceID} {
		if *id, err = idOf(c, name); err != nil {
			return f, err
		}
	}
	if f.Since, err = timeOf(c, "since"); err != nil {
		return f, err
	}
	if f.Until, err = timeOf(c, "until"); err != nil {
		return f, err
	}
	f.After, err = rest.ReadToken(auditList(f), query(c, "continuationToken"))
	return f, err
}

func idOf(c echo.Context, name string) (gateway.ID, error) {
	text := query(c, name)
	if text == "" {
		return "", nil
	}
	id, ok := gateway.ParseID(text)
	if !ok {
		return "", gateway.Errorf(gateway.CodeInvalid, "%s must be an id (a GUID).", name)
	}
	return id, nil
}

// auditList names the audit log with its filter, for continuation tokens.
func auditList(f service.AuditFilter) string {
	return fmt.Sprintf("auditEvents %q %q %q %q %s %s", f.ClusterID, f.CallerID, f.ResourceID, f.Action, f.Since.UTC(), f.Until.UTC())
}

// DispatchRecord is one dispatch, as it ended.
type DispatchRecord struct {
	ID              gateway.ID `json:"id"`
	At              time.Time  `json:"at"`
	RequestID       string     `json:"requestId"`
	CallerID        gateway.ID `json:"callerId"`
	MemberGatewayID gateway.ID `json:"memberGatewayId"`
	DatasourceID    gateway.ID `json:"datasourceId"`
	Milliseconds    float64    `json:"durationMilliseconds"`
	Rows            int64      `json:"rows"`
	Bytes           int64      `json:"bytes"`
	Attempts        int        `json:"attempts"`
	Outcome         string     `json:"outcome" example:"ok"`
}

// ListRecords lists a cluster's dispatch records, newest first.
//
//	@Summary	Dispatch records of a cluster
//	@Tags		history
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster			path		string	true	"cluster id"	Format(uuid)
//	@Param		memberGatewayId	query		string	false	"only of this member"
//	@Param		datasourceId	query		string	false	"only to this data source"
//	@Param		since			query		string	false	"RFC 3339"
//	@Param		$top			query		int		false	"at most so many; 1000 is the most"
//	@Param		$skip			query		int		false	"leave out so many; 10000 is the most"
//	@Success	200				{object}	List[DispatchRecord]
//	@Failure	400,401,403,404	{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayClusters/{cluster}/dispatchRecords [get]
func (h *Handlers) ListRecords(c echo.Context) error {
	id, err := rest.ID(c, rest.ParamCluster)
	if err != nil {
		return err
	}
	f := service.RecordFilter{ClusterID: id}
	if f.MemberID, err = idOf(c, "memberGatewayId"); err != nil {
		return err
	}
	if f.DataSourceID, err = idOf(c, "datasourceId"); err != nil {
		return err
	}
	if f.Since, err = timeOf(c, "since"); err != nil {
		return err
	}
	page, err := recordsPageOf(c)
	if err != nil {
		return err
	}
	if page.Skip > recordsSkip { // $top=0: nothing is to be read
		return list[DispatchRecord](c, h, "gatewayClusters/dispatchRecords", nil)
	}
	f.Limit = page.Skip + page.Limit
	stored, err := h.Service.History.DispatchRecords(c.Request().Context(), f)
	if err != nil {
		return err
	}
	stored = cut(stored, page)
	records := make([]DispatchRecord, len(stored))
	for i, r := range stored {
		records[i] = DispatchRecord{r.ID, r.At, r.RequestID, r.CallerID, r.MemberID, r.DataSourceID, float64(r.Duration.Microseconds()) / 1000, r.Rows, r.Bytes, r.Attempts, r.Outcome}
	}
	return list(c, h, "gatewayClusters/dispatchRecords", records)
}

// recordsPageOf is pageOf within the bounds of the records.
func recordsPageOf(c echo.Context) (service.Page, error) {
	page, err := pageOf(c)
	if page.Limit == 0 || page.Limit > recordsPage {
		page.Limit = recordsPage
	}
	if skip, _ := countOf(c, "$skip"); err == nil && skip > recordsSkip {
		err = gateway.Errorf(gateway.CodeInvalid, "$skip must be at most %d here. Narrow the records with since, memberGatewayId or datasourceId.", recordsSkip)
	}
	return page, err
}
