package fabric

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// pageSize is how many entries a page holds.
const pageSize = 100

// Page is a list in pages: token and address of the next one, both left out on the last.
type Page[T any] struct {
	Value             []T    `json:"value"`
	ContinuationToken string `json:"continuationToken,omitempty"`
	ContinuationURI   string `json:"continuationUri,omitempty"`
}

// afterOf reads where the page that is asked for begins.
func afterOf(c echo.Context) (service.After, error) {
	return rest.ReadToken(rest.ListName(c), query(c, "continuationToken"))
}

// query reads a query parameter by its name in any letter case.
func query(c echo.Context, name string) string {
	for key, values := range c.QueryParams() {
		if strings.EqualFold(key, name) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// paged answers one page of entries that were read with one more than the page holds; place tells where an entry stands.
func paged[V, T any](c echo.Context, h *Handlers, views []V, show func(*V) T, place func(*V) service.After) error {
	page := Page[T]{Value: []T{}}
	if len(views) > pageSize {
		views = views[:pageSize]
		page.ContinuationToken = rest.Token(rest.ListName(c), place(&views[pageSize-1]))
		page.ContinuationURI = h.address(c) + c.Request().URL.Path + "?continuationToken=" + url.QueryEscape(page.ContinuationToken)
	}
	for i := range views {
		page.Value = append(page.Value, show(&views[i]))
	}
	return c.JSON(http.StatusOK, page)
}

// address is where the surface stands: as the operator said, else scheme and host as the client used them; a reverse proxy says so in
// X-Forwarded-Proto and X-Forwarded-Host.
func (h *Handlers) address(c echo.Context) string {
	if h.PublicURL != "" {
		return h.PublicURL
	}
	scheme, host := "http", c.Request().Host
	if c.Request().TLS != nil {
		scheme = "https"
	}
	if proto := strings.ToLower(forwarded(c, "X-Forwarded-Proto")); proto == "http" || proto == "https" {
		scheme = proto
	}
	if name := forwarded(c, "X-Forwarded-Host"); name != "" {
		if u, err := url.Parse("//" + name); err == nil && u.Host == name {
			host = name
		}
	}
	return scheme + "://" + host
}

// forwarded is what the outermost proxy said.
func forwarded(c echo.Context, header string) string {
	first, _, _ := strings.Cut(c.Request().Header.Get(header), ",")
	return strings.TrimSpace(first)
}

// created answers 201 with the address of what was made.
func (h *Handlers) created(c echo.Context, id gateway.ID, made any) error {
	c.Response().Header().Set(echo.HeaderLocation, h.address(c)+c.Request().URL.Path+"/"+id.String())
	return c.JSON(http.StatusCreated, made)
}

// gatewayID reads the cluster's id from the path.
func gatewayID(c echo.Context) (gateway.ID, error) { return rest.ID(c, rest.ParamCluster) }
