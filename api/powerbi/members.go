package powerbi

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// AddMemberRequest makes one more member.
type AddMemberRequest struct {
	Name        string `json:"name" required:"true" validate:"required"`
	RecoveryKey string `json:"recoveryKey" required:"true" validate:"required"`
	// OverwriteExistingGateway readies the member of that name for a rebuilt machine, under its old id.
	OverwriteExistingGateway bool `json:"overwriteExistingGateway"`
	// MustExist, with overwriteExistingGateway, refuses to make a new member when there is none of that name.
	MustExist bool `json:"mustExist"`
}

// ListMembers lists the members of a cluster.
//
//	@Summary		List the members of a cluster
//	@Description	In plan order: the primary first, then by the time they were added.
//	@Tags			members
//	@Produce		json
//	@Security		oauth2
//	@Param			cluster	path		string	true	"cluster id"	Format(uuid)
//	@Param			$top	query		int		false	"at most so many"
//	@Param			$skip	query		int		false	"leave out so many"
//	@Success		200		{object}	List[Member]
//	@Failure		400,401,404	{object}	ErrorResponse
//	@Router			/v2.0/myorg/gatewayClusters/{cluster}/memberGateways [get]
func (h *Handlers) ListMembers(c echo.Context) error {
	page, err := pageOf(c)
	if err != nil {
		return err
	}
	id, err := rest.ID(c, rest.ParamCluster)
	if err != nil {
		return err
	}
	view, err := h.Service.Clusters.Get(c.Request().Context(), rest.Caller(c), id)
	if err != nil {
		return err
	}
	return list(c, h, "gatewayClusters/memberGateways", cut(h.cluster(&view).MemberGateways, page))
}

// AddMember makes one more member.
//
//	@Summary		Add a member
//	@Description	Takes the cluster's recovery key. The machine then takes the member over with the enrolment token, within an hour.
//	@Tags			members
//	@Accept			json
//	@Produce		json
//	@Security		oauth2
//	@Param			cluster	path		string				true	"cluster id"	Format(uuid)
//	@Param			body	body		AddMemberRequest	true	"the member"
//	@Success		201		{object}	Invitation
//	@Failure		400,401,403,404,408,409,413,429	{object}	ErrorResponse
//	@Router			/v2.0/myorg/gatewayClusters/{cluster}/memberGateways [post]
func (h *Handlers) AddMember(c echo.Context) error {
	var r AddMemberRequest
	if err := rest.Decode(c, &r); err != nil {
		return err
	}
	id, err := rest.ID(c, rest.ParamCluster)
	if err != nil {
		return err
	}
	i, err := h.Service.Members.Add(c.Request().Context(), rest.Caller(c), id, service.NewMember{Name: r.Name, RecoveryKey: r.RecoveryKey, Overwrite: r.OverwriteExistingGateway, MustExist: r.MustExist})
	if err != nil {
		return err
	}
	name := r.Name
	if m, err := h.Service.Members.Get(c.Request().Context(), i.ClusterID, i.MemberID); err == nil {
		name = m.Name
	}
	return c.JSON(http.StatusCreated, invitation(i, i.MemberID, name))
}

func memberIDs(c echo.Context) (cluster, member gateway.ID, err error) {
	if cluster, err = rest.ID(c, rest.ParamCluster); err != nil {
		return "", "", err
	}
	member, err = rest.ID(c, rest.ParamMember)
	return cluster, member, err
}

// GetMember answers one member.
//
//	@Summary	Get a member
//	@Tags		members
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path		string	true	"cluster id"	Format(uuid)
//	@Param		member	path		string	true	"member id"		Format(uuid)
//	@Success	200		{object}	Member
//	@Failure	401,404	{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayClusters/{cluster}/memberGateways/{member} [get]
func (h *Handlers) GetMember(c echo.Context) error {
	cluster, m, err := h.memberOf(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, member(&cluster.Cluster, m))
}

// memberOf reads the member that the path names, and its cluster.
func (h *Handlers) memberOf(c echo.Context) (*service.ClusterView, *service.MemberView, error) {
	clusterID, id, err := memberIDs(c)
	if err != nil {
		return nil, nil, err
	}
	view, err := h.Service.Clusters.Get(c.Request().Context(), rest.Caller(c), clusterID)
	if err != nil {
		return nil, nil, err
	}
	for i := range view.Members {
		if view.Members[i].ID == id {
			return &view, &view.Members[i], nil
		}
	}
	return nil, nil, gateway.Errorf(gateway.CodeNotFound, "There is no such member here.").About(id)
}

// UpdateMemberRequest changes what is given; null and what is left out stay as they are.
type UpdateMemberRequest struct {
	Name        *string `json:"name"`
	Description *string `json:"description"`
	// Annotation is a JSON text.
	Annotation *string `json:"annotation"`
	// Enabled and state say the same; a disabled member gets no new request, running ones finish.
	Enabled  *bool  `json:"enabled"`
	State    *State `json:"state" swaggertype:"string" enums:"Enabled,Disabled"`
	Draining *bool  `json:"draining"`
	LimitsRequest
	// ResetLimits takes the member's own limits away, so that the cluster's apply.
	ResetLimits bool `json:"resetLimits"`
}

// UpdateMember changes a member.
//
//	@Summary	Change a member: enable, disable, drain, rename, limits
//	@Tags		members
//	@Accept		json
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path		string				true	"cluster id"	Format(uuid)
//	@Param		member	path		string				true	"member id"		Format(uuid)
//	@Param		body	body		UpdateMemberRequest	true	"what changes"
//	@Success	200		{object}	Member
//	@Failure	400,401,403,404,408,409,413	{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayClusters/{cluster}/memberGateways/{member} [patch]
func (h *Handlers) UpdateMember(c echo.Context) error {
	var r UpdateMemberRequest
	if err := rest.Decode(c, &r, memberReadOnly...); err != nil {
		return err
	}
	patch, err := r.patch()
	if err != nil {
		return err
	}
	if err := h.updateMember(c, patch); err != nil {
		return err
	}
	return h.GetMember(c)
}

func (h *Handlers) updateMember(c echo.Context, patch service.MemberPatch) error {
	clusterID, id, err := memberIDs(c)
	if err != nil {
		return err
	}
	if patch.Annotation != nil {
		view, err := h.Service.Clusters.Get(c.Request().Context(), rest.Caller(c), clusterID)
		if err != nil {
			return err
		}
		own := ownAnnotation(&view.Cluster, *patch.Annotation)
		patch.Annotation = &own
	}
	return h.Service.Members.Update(c.Request().Context(), rest.Caller(c), clusterID, id, patch)
}

func (r *UpdateMemberRequest) patch() (service.MemberPatch, error) {
	p := service.MemberPatch{Name: r.Name, Description: r.Description, Annotation: r.Annotation, Draining: r.Draining, Limits: r.limits(),
		ResetLimits: r.ResetLimits, SentBack: r.ID != nil}
	if r.Annotation != nil && *r.Annotation != "" {
		var object map[string]any
		if json.Unmarshal([]byte(*r.Annotation), &object) != nil || object == nil {
			return p, gateway.Errorf(gateway.CodeInvalid, "annotation must be the text of a JSON object.")
		}
	}
	if r.State != nil {
		p.State = &r.State.Value
	}
	if r.Enabled == nil {
		return p, nil
	}
	state := gateway.MemberDisabled
	if *r.Enabled {
		state = gateway.MemberEnabled
	}
	if p.State != nil && *p.State != state {
		return p, gateway.Errorf(gateway.CodeInvalid, "enabled and state contradict each other; send one of them.")
	}
	p.State = &state
	return p, nil
}

// RemoveMember takes a member out of its cluster.
//
//	@Summary		Remove a member
//	@Description	The primary goes last, and the cluster goes with it.
//	@Tags			members
//	@Produce		json
//	@Security		oauth2
//	@Param			cluster	path	string	true	"cluster id"	Format(uuid)
//	@Param			member	path	string	true	"member id"		Format(uuid)
//	@Success		200
//	@Failure		401,403,404,409	{object}	ErrorResponse
//	@Router			/v2.0/myorg/gatewayClusters/{cluster}/memberGateways/{member} [delete]
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

// PromoteMember makes a member the primary.
//
//	@Summary		Make a member the primary
//	@Description	The cluster keeps its id, data sources, permissions and settings.
//	@Tags			members
//	@Produce		json
//	@Security		oauth2
//	@Param			cluster	path	string	true	"cluster id"	Format(uuid)
//	@Param			member	path	string	true	"member id"		Format(uuid)
//	@Success		200
//	@Failure		401,403,404	{object}	ErrorResponse
//	@Router			/v2.0/myorg/gatewayClusters/{cluster}/memberGateways/{member}/promote [post]
func (h *Handlers) PromoteMember(c echo.Context) error {
	clusterID, id, err := memberIDs(c)
	if err != nil {
		return err
	}
	if err := h.Service.Members.Promote(c.Request().Context(), rest.Caller(c), clusterID, id); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}

// LoadSample is a member's load at one time.
type LoadSample struct {
	At time.Time `json:"at"`
	Load
	RunningRequests int `json:"runningRequests"`
}

// ListLoad lists a member's load samples.
//
//	@Summary	Load samples of a member, 2,000 at most: a longer time is thinned out
//	@Tags		members
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path		string	true	"cluster id"	Format(uuid)
//	@Param		member	path		string	true	"member id"		Format(uuid)
//	@Param		since	query		string	false	"RFC 3339; an hour ago when left out"
//	@Param		$top	query		int		false	"at most so many"
//	@Param		$skip	query		int		false	"leave out so many"
//	@Success	200		{object}	List[LoadSample]
//	@Failure	400,401,404	{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayClusters/{cluster}/memberGateways/{member}/load [get]
func (h *Handlers) ListLoad(c echo.Context) error {
	page, err := pageOf(c)
	if err != nil {
		return err
	}
	clusterID, id, err := memberIDs(c)
	if err != nil {
		return err
	}
	since, err := timeOf(c, "since")
	if err != nil {
		return err
	}
	if since.IsZero() {
		since = h.Now().Add(-time.Hour)
	}
	if _, err := h.Service.Members.Get(c.Request().Context(), clusterID, id); err != nil {
		return err
	}
	stored, err := h.Service.History.LoadSamples(c.Request().Context(), id, since)
	samples := make([]LoadSample, len(stored))
	for i, s := range stored {
		samples[i] = LoadSample{At: s.At, Load: Load{percent(s.Load.CPU), percent(s.Load.Memory)}, RunningRequests: s.Load.Running}
	}
	if err != nil {
		return err
	}
	return list(c, h, "gatewayClusters/memberGateways/load", cut(samples, page))
}

// timeOf reads a query parameter as RFC 3339; zero when it is not there.
func timeOf(c echo.Context, name string) (time.Time, error) {
	text := query(c, name)
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, gateway.Errorf(gateway.CodeInvalid, "%s must be a time such as 2026-01-31T12:00:00Z.", name)
	}
	return at, nil
}
