package fabric

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// Member is one machine of a gateway. enabled is what the administrator wants; checkStatus says what its tunnel shows.
type Member struct {
	ID          gateway.ID `json:"id"`
	DisplayName string     `json:"displayName"`
	PublicKey   PublicKey  `json:"publicKey"`
	Version     string     `json:"version"`
	Enabled     bool       `json:"enabled"`
}

func memberOf(k gateway.ClusterKey, v *service.MemberView) Member {
	return Member{ID: v.ID, DisplayName: v.Name, PublicKey: publicKey(k), Version: v.CurrentVersion(), Enabled: v.State == gateway.MemberEnabled}
}

func memberIDs(c echo.Context) (cluster, member gateway.ID, err error) {
	if cluster, err = gatewayID(c); err != nil {
		return "", "", err
	}
	member, err = rest.ID(c, rest.ParamMember)
	return cluster, member, err
}

// ListMembers lists the members of a gateway, the primary first.
//
//	@Summary	List the members of a gateway (Fabric)
//	@Tags		Fabric gateways
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path		string	true	"gateway id"	Format(uuid)
//	@Success	200		{object}	Page[Member]
//	@Failure	401,404	{object}	ErrorResponse
//	@Router		/v1/gateways/{cluster}/members [get]
func (h *Handlers) ListMembers(c echo.Context) error {
	id, err := gatewayID(c)
	if err != nil {
		return err
	}
	view, err := h.Service.Clusters.Get(c.Request().Context(), rest.Caller(c), id)
	if err != nil {
		return err
	}
	page := Page[Member]{Value: []Member{}}
	for i := range view.Members {
		page.Value = append(page.Value, memberOf(view.Key, &view.Members[i]))
	}
	return c.JSON(http.StatusOK, page)
}

// UpdateMemberRequest changes what is given.
type UpdateMemberRequest struct {
	DisplayName *string `json:"displayName"`
	Enabled     *bool   `json:"enabled"`
}

// UpdateMember changes a member.
//
//	@Summary	Change a member of a gateway (Fabric)
//	@Tags		Fabric gateways
//	@Accept		json
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path		string				true	"gateway id"	Format(uuid)
//	@Param		member	path		string				true	"member id"		Format(uuid)
//	@Param		body	body		UpdateMemberRequest	true	"what changes"
//	@Success	200		{object}	Member
//	@Failure	400,401,403,404,408,409,413	{object}	ErrorResponse
//	@Router		/v1/gateways/{cluster}/members/{member} [patch]
func (h *Handlers) UpdateMember(c echo.Context) error {
	var r UpdateMemberRequest
	if err := rest.Decode(c, &r, "id", "publicKey", "version"); err != nil {
		return err
	}
	clusterID, id, err := memberIDs(c)
	if err != nil {
		return err
	}
	patch := service.MemberPatch{Name: r.DisplayName}
	if r.Enabled != nil {
		state := gateway.MemberDisabled
		if *r.Enabled {
			state = gateway.MemberEnabled
		}
		patch.State = &state
	}
	ctx := c.Request().Context()
	if err := h.Service.Members.Update(ctx, rest.Caller(c), clusterID, id, patch); err != nil {
		return err
	}
	return h.answerMember(c, clusterID, id)
}

func (h *Handlers) answerMember(c echo.Context, clusterID, id gateway.ID) error {
	ctx := c.Request().Context()
	view, err := h.Service.Members.Get(ctx, clusterID, id)
	if err != nil {
		return err
	}
	of, err := h.Service.Clusters.Get(ctx, rest.Caller(c), clusterID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, memberOf(of.Key, &view))
}

// RemoveMember takes a member out of its gateway.
//
//	@Summary		Remove a member of a gateway (Fabric)
//	@Description	The primary goes last, and the gateway goes with it.
//	@Tags			Fabric gateways
//	@Produce		json
//	@Security		oauth2
//	@Param			cluster	path	string	true	"gateway id"	Format(uuid)
//	@Param			member	path	string	true	"member id"		Format(uuid)
//	@Success		200
//	@Failure		401,403,404,409	{object}	ErrorResponse
//	@Router			/v1/gateways/{cluster}/members/{member} [delete]
func (h *Handlers) RemoveMember(c echo.Context) error {
	clusterID, id, err := memberIDs(c)
	if err != nil {
		return err
	}
	if err := h.Service.Members.Remove(c.Request().Context(), rest.Caller(c), clusterID, id); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}
