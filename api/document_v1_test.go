package api_test

import (
	"fmt"

	"github.com/google/uuid"
)

// v1 drives the v1.0 surface.
func (c *checker) v1() {
	one := "//v1.0/myorg/gateways/" + c.cluster
	c.drive(200, "GET", "//v1.0/myorg/gateways", nil)
	c.drive(200, "GET", one, nil)
	details := c.credentials()
	details["encryptedConnection"], details["privacyLevel"] = "NotEncrypted", "None"
	id := field(c.drive(201, "POST", one+"/datasources", map[string]any{"dataSourceType": "PostgreSql", "dataSourceName": "v1", "connectionDetails": `{"server":"127.0.0.1:1","database":"b"}`,
		"credentialDetails": details}), "id")
	source := one + "/datasources/" + id
	c.drive(200, "GET", one+"/datasources", nil)
	c.drive(200, "GET", source, nil)
	c.drive(400, "GET", source+"/status", nil)
	c.drive(200, "PATCH", source, map[string]any{"credentialDetails": details})
	c.drive(200, "POST", source+"/users", map[string]any{"datasourceAccessRight": "Read", "identifier": c.someone()})
	c.drive(200, "GET", source+"/users", nil)
	c.drive(200, "DELETE", source+"/users/"+c.lastOne, nil)
	c.drive(200, "DELETE", source, nil)
}

// someone makes a principal and returns its id.
func (c *checker) someone() string {
	c.lastOne = field(c.must(201, "POST", "/principals", map[string]any{"principalType": "User", "displayName": uuid.NewString()}, nil), "id")
	return c.lastOne
}

// fabric drives the Fabric surface on a cluster of its own.
func (c *checker) fabric() {
	made := c.must(201, "POST", "/gatewayClusters", map[string]any{"name": uuid.NewString(), "recoveryKey": recoveryKey}, nil)
	one := "//v1/gateways/" + field(made, "clusterId")
	second := field(c.must(201, "POST", "/gatewayClusters/"+field(made, "clusterId")+"/memberGateways", map[string]any{"name": "m2", "recoveryKey": recoveryKey}, nil), "memberGatewayId")
	c.drive(200, "GET", "//v1/gateways", nil)
	c.drive(400, "POST", "//v1/gateways", map[string]any{"type": "VirtualNetwork", "displayName": "x"})
	c.drive(200, "GET", one, nil)
	c.drive(200, "PATCH", one, map[string]any{"type": "OnPremises", "displayName": uuid.NewString()})
	c.drive(200, "GET", one+"/members", nil)
	c.drive(200, "PATCH", one+"/members/"+second, map[string]any{"displayName": "renamed", "enabled": false})
	c.drive(200, "POST", one+"/checkStatus", nil)
	c.drive(200, "POST", one+"/members/"+second+"/checkStatus", nil)
	c.drive(400, "POST", one+"/restart", nil)
	c.drive(400, "POST", one+"/shutdown", nil)
	c.roles(one, "ConnectionCreator", "Admin")
	c.connection(field(made, "clusterId"))
	c.drive(200, "DELETE", one+"/members/"+second, nil)
	c.drive(200, "DELETE", one, nil)
	c.drive(404, "GET", "//v1/operations/11111111-1111-1111-1111-111111111111", nil)
	c.drive(404, "GET", "//v1/operations/11111111-1111-1111-1111-111111111111/result", nil)
}

// roles drives the role assignments below a gateway or a connection.
func (c *checker) roles(one, first, then string) {
	who := c.someone()
	c.drive(201, "POST", one+"/roleAssignments", map[string]any{"principal": map[string]any{"id": who, "type": "User"}, "role": first})
	c.drive(200, "GET", one+"/roleAssignments", nil)
	c.drive(200, "GET", one+"/roleAssignments/"+who, nil)
	c.drive(200, "PATCH", one+"/roleAssignments/"+who, map[string]any{"role": then})
	c.drive(200, "DELETE", one+"/roleAssignments/"+who, nil)
}

func (c *checker) connection(cluster string) {
	own := *c.world
	own.cluster = cluster
	envelope := own.credentials()["credentials"]
	id := field(c.drive(201, "POST", "//v1/connections", map[string]any{"connectivityType": "OnPremisesGateway", "gatewayId": cluster, "displayName": "connection", "privacyLevel": "None",
		"connectionDetails": map[string]any{"type": "SQL", "creationMethod": "SQL", "parameters": []any{map[string]any{"dataType": "Text", "name": "server", "value": "s"}, map[string]any{"dataType": "Text", "name": "database", "value": "d"}}},
		"credentialDetails": map[string]any{"singleSignOnType": "None", "connectionEncryption": "NotEncrypted", "skipTestConnection": false,
			"credentials": map[string]any{"credentialType": "Basic", "values": []any{map[string]any{"gatewayId": cluster, "encryptedCredentials": fmt.Sprint(envelope)}}}}}), "id")
	one := "//v1/connections/" + id
	c.drive(200, "GET", "//v1/connections", nil)
	c.drive(200, "GET", "//v1/connections/supportedConnectionTypes", nil)
	c.drive(200, "GET", one, nil)
	c.drive(200, "PATCH", one, map[string]any{"connectivityType": "OnPremisesGateway", "displayName": "renamed"})
	c.drive(200, "POST", one+"/testConnection", nil)
	c.roles(one, "User", "UserWithReshare")
	c.drive(200, "DELETE", one, nil)
}
