package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// memberName is the name of the member that answered. Names of any script travel percent-encoded in the header.
func memberName(resp *http.Response) string {
	name := resp.Header.Get("X-Gateway-Member-Name")
	if decoded, err := url.PathUnescape(name); err == nil {
		return decoded
	}
	return name
}

// invite prints the address, the credentials and five things to try next. They work as they are printed.
func (d *demo) invite() {
	d.printf("\nReady after %.1f s. It stays up until Ctrl-C.\n\n  address        %s\n  client id      %s\n  client secret  %s\n  cluster id     %s\n  data source    %s\n  log            %s\n",
		d.seconds(), d.server.address, d.known.ClientID, d.known.ClientSecret, d.known.ClusterID, d.known.DataSourceID, d.dir+"/demo.log")
	d.printf("\nTry next, in another terminal:\n")
	for i, hint := range d.hints() {
		d.printf("\n%d. %s\n%s\n", i+1, hint.what, hint.command)
	}
}

// hint is something to try.
type hint struct{ what, command string }

func (d *demo) hints() []hint {
	at, cluster := d.server.address, d.server.address+clusterPath(d.known.ClusterID)
	query, _ := json.Marshal(map[string]any{"datasourceId": d.known.DataSourceID, // strings only: cannot fail
		"query": map[string]string{"text": "select c.city, count(*) as orders, max(o.amount) as largest from orders o join customers c on c.id = o.customer_id group by c.city order by c.city"}})
	return []hint{
		{"Get a token (bash, curl)", fmt.Sprintf(`TOKEN=$(curl -s %s/oauth2/v2.0/token -d grant_type=client_credentials -d client_id=%s -d client_secret=%s -d scope=api://comporta/.default | sed 's/.*"access_token": *"\([^"]*\)".*/\1/')`,
			at, d.known.ClientID, d.known.ClientSecret)},
		{"Query the database through the cluster, as CSV; the headers say who served it", fmt.Sprintf(`curl -s -i %s/dispatch -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" -H "Accept: text/csv" -d '%s'`,
			cluster, query)},
		{"See which member would take the next request, and why not the others", fmt.Sprintf(`curl -s -X POST %s/route -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" -d '{}'`, cluster)},
		{"List the members from PowerShell", strings.Join([]string{
			fmt.Sprintf(`$token = (Invoke-RestMethod -Method Post %s/oauth2/v2.0/token -Body @{grant_type='client_credentials'; client_id='%s'; client_secret='%s'; scope='api://comporta/.default'}).access_token`,
				at, d.known.ClientID, d.known.ClientSecret),
			fmt.Sprintf(`(Invoke-RestMethod '%s?$expand=memberGateways' -Headers @{Authorization="Bearer $token"}).memberGateways | Format-Table name, state, status, version`, cluster)}, "\n")},
		{"Read the API and call it from a browser: Authorize with the client id and secret above", at + "/swagger/"},
	}
}
