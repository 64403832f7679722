package powerbi

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"comporta/service"
	"comporta/service/gateway"
)

// List is the OData envelope of a list.
type List[T any] struct {
	Context string `json:"@odata.context"`
	Value   []T    `json:"value"`
}

// list answers a list in its envelope; none is an empty list, never null.
func list[T any](c echo.Context, h *Handlers, name string, values []T) error {
	if values == nil {
		values = []T{}
	}
	return c.JSON(http.StatusOK, List[T]{Context: h.context(name), Value: values})
}

func (h *Handlers) context(name string) string {
	return h.PublicURL + "/v2.0/myorg/$metadata#" + name
}

// expansion is which parts $expand asks for.
type expansion map[string]bool

// expandOf reads $expand: names in any letter case and order, unknown ones refused.
func expandOf(c echo.Context, known ...string) (expansion, error) {
	e := expansion{}
	for _, name := range strings.Split(query(c, "$expand"), ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		w, err := oneOf(name, known...)
		if err != nil {
			return nil, gateway.Errorf(gateway.CodeInvalid, "$expand: %s", gateway.AsError(err).Message)
		}
		e[w] = true
	}
	return e, nil
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

// narrowing are the options that change which entries a list holds, and in which order. Passed over, a script would take the first of all for
// the one that it asked for.
var narrowing = []string{"$filter", "$orderby", "$search", "$apply", "$skiptoken", "$deltatoken", "$top", "$skip"}

// serves refuses the narrowing options that a list does not serve. To leave out none is what every list does.
func serves(c echo.Context, served ...string) error {
	for _, name := range narrowing {
		text := query(c, name)
		if text != "" && !slices.Contains(served, name) && !(name == "$skip" && text == "0") {
			return gateway.Errorf(gateway.CodeInvalid, "%s is not served here: this list takes %s. Filter what it answers.", name,
				strings.Join(append(served, "what else its description names"), ", "))
		}
	}
	return nil
}

// pageOf reads $top and $skip; served are the other narrowing options that the list takes. $top=0 asks for nothing, which to the use cases is
// the page after the end: their limit 0 is none.
func pageOf(c echo.Context, served ...string) (service.Page, error) {
	if err := serves(c, append(served, "$top", "$skip")...); err != nil {
		return service.Page{}, err
	}
	top, given, err := topOf(c)
	if err != nil {
		return service.Page{}, err
	}
	skip, err := countOf(c, "$skip")
	if given && top == 0 {
		return service.Page{Limit: 1, Skip: math.MaxInt32}, err
	}
	return service.Page{Limit: top, Skip: skip}, err
}

// cut is the page of a list that is whole in memory.
func cut[T any](values []T, page service.Page) []T {
	values = values[min(page.Skip, len(values)):]
	if page.Limit > 0 {
		values = values[:min(page.Limit, len(values))]
	}
	return values
}

// topOf reads $top and says whether it was given at all.
func topOf(c echo.Context) (top int, given bool, err error) {
	top, err = countOf(c, "$top")
	return top, query(c, "$top") != "", err
}

func countOf(c echo.Context, name string) (int, error) {
	text := query(c, name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 31)
	if err != nil || n < 0 {
		return 0, gateway.Errorf(gateway.CodeInvalid, "%s must be a whole number that is not negative.", name)
	}
	return int(n), nil
}

// typeFilter reads $filter=type eq 'Resource', or the older ?type=Resource.
func typeFilter(c echo.Context) (gateway.GatewayType, error) {
	text := query(c, "type")
	if filter := query(c, "$filter"); filter != "" {
		words := strings.Fields(filter)
		if len(words) != 3 || !strings.EqualFold(words[0], "type") || !strings.EqualFold(words[1], "eq") || len(words[2]) < 2 || words[2][0] != '\'' || words[2][len(words[2])-1] != '\'' {
			return "", gateway.Errorf(gateway.CodeInvalid, "$filter must be: type eq 'Resource'.")
		}
		text = words[2][1 : len(words[2])-1]
	}
	if text == "" {
		return "", nil
	}
	return oneOf(text, gateway.Resource, gateway.Personal, gateway.VirtualNetwork)
}
