package api_test

import "github.com/google/uuid"

// unified drives the oldest surface on a cluster of its own; its machines never came, so their status is the error that clients know.
func (c *checker) unified() {
	made := c.must(201, "POST", "/gatewayClusters", map[string]any{"name": uuid.NewString(), "recoveryKey": recoveryKey}, nil)
	one := "//unifiedgateway/gatewayclusters/" + field(made, "clusterId")
	second := field(c.must(201, "POST", "/gatewayClusters/"+field(made, "clusterId")+"/memberGateways", map[string]any{"name": "m2", "recoveryKey": recoveryKey}, nil), "memberGatewayId")
	c.drive(200, "GET", "//unifiedgateway/gatewayclusters", nil)
	c.drive(200, "GET", one, nil)
	c.drive(200, "PATCH", one, map[string]any{"loadBalancingSettings": `{"selector":1}`})
	c.drive(200, "PATCH", one+"/gateways/"+second, map[string]any{"clusterMemberStatus": "None"})
	c.drive(400, "GET", one+"/gateways/"+second+"/status", nil)
	c.drive(200, "GET", "//unifiedgateway/gatewayclusters/"+c.cluster+"/gateways/"+c.cluster+"/status", nil)
	c.drive(200, "DELETE", one+"/gateways/"+second, nil)
}
