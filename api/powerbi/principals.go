package powerbi

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// Principal is a user, an application or a group.
type Principal struct {
	ID              gateway.ID `json:"id"`
	PrincipalType   string     `json:"principalType" enums:"User,App,Group"`
	DisplayName     string     `json:"displayName"`
	EmailAddress    string     `json:"emailAddress"`
	TenantAdmin     bool       `json:"tenantAdmin"`
	Disabled        bool       `json:"disabled"`
	CreatedDateTime time.Time  `json:"createdDateTime"`
}

func principal(p gateway.Principal) Principal {
	return Principal{p.ID, string(p.Kind), p.Name, p.Email, p.TenantAdmin, p.Disabled, p.CreatedAt}
}

// NewPrincipal is a principal just made. clientSecret is an application's first secret, shown this once.
type NewPrincipal struct {
	Principal
	ClientSecret string `json:"clientSecret,omitempty"`
}

// ListPrincipals lists principals.
//
//	@Summary	List principals
//	@Tags		principals
//	@Produce	json
//	@Security	oauth2
//	@Param		$top	query		int	false	"at most so many"
//	@Param		$skip	query		int	false	"leave out so many"
//	@Success	200		{object}	List[Principal]
//	@Failure	400,401,403	{object}	ErrorResponse
//	@Router		/v2.0/myorg/principals [get]
func (h *Handlers) ListPrincipals(c echo.Context) error {
	page, err := pageOf(c)
	if err != nil {
		return err
	}
	stored, err := h.Service.Tenant.Principals(c.Request().Context(), page)
	if err != nil {
		return err
	}
	principals := make([]Principal, len(stored))
	for i, p := range stored {
		principals[i] = principal(p)
	}
	return list(c, h, "principals", principals)
}

// CreatePrincipalRequest makes a principal.
type CreatePrincipalRequest struct {
	// ID may be left out; give it to keep a directory's object id.
	ID            *ID    `json:"id" swaggertype:"string" format:"uuid"`
	PrincipalType *Kind  `json:"principalType" required:"true" validate:"required" swaggertype:"string" enums:"User,App,Group"`
	DisplayName   string `json:"displayName" required:"true" validate:"required"`
	EmailAddress  string `json:"emailAddress"`
	TenantAdmin   bool   `json:"tenantAdmin"`
}

// CreatePrincipal makes a principal.
//
//	@Summary		Create a principal
//	@Description	An application gets a first secret, shown this once.
//	@Tags			principals
//	@Accept			json
//	@Produce		json
//	@Security		oauth2
//	@Param			body	body		CreatePrincipalRequest	true	"the principal"
//	@Success		201		{object}	NewPrincipal
//	@Failure		400,401,403,408,409,413	{object}	ErrorResponse
//	@Router			/v2.0/myorg/principals [post]
func (h *Handlers) CreatePrincipal(c echo.Context) error {
	var r CreatePrincipalRequest
	if err := rest.Decode(c, &r); err != nil {
		return err
	}
	n := service.NewPrincipal{Kind: r.PrincipalType.Value, Name: r.DisplayName, Email: r.EmailAddress, TenantAdmin: r.TenantAdmin}
	if r.ID != nil {
		n.ID = r.ID.Value
	}
	p, secret, err := h.Service.Tenant.CreatePrincipal(c.Request().Context(), rest.Caller(c), n)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSON(http.StatusCreated, NewPrincipal{principal(p), secret})
}

// GetPrincipal answers one principal.
//
//	@Summary	Get a principal
//	@Tags		principals
//	@Produce	json
//	@Security	oauth2
//	@Param		principal	path		string	true	"object id"	Format(uuid)
//	@Success	200			{object}	Principal
//	@Failure	401,403,404	{object}	ErrorResponse
//	@Router		/v2.0/myorg/principals/{principal} [get]
func (h *Handlers) GetPrincipal(c echo.Context) error {
	id, err := rest.ID(c, "principal")
	if err != nil {
		return err
	}
	p, err := h.Service.Tenant.Principal(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, principal(p))
}

// UpdatePrincipalRequest changes what is given.
type UpdatePrincipalRequest struct {
	DisplayName  *string `json:"displayName"`
	EmailAddress *string `json:"emailAddress"`
	TenantAdmin  *bool   `json:"tenantAdmin"`
	Disabled     *bool   `json:"disabled"`
}

// UpdatePrincipal changes a principal.
//
//	@Summary		Change a principal
//	@Description	Disabling ends its tokens at once.
//	@Tags			principals
//	@Accept			json
//	@Produce		json
//	@Security		oauth2
//	@Param			principal	path		string					true	"object id"	Format(uuid)
//	@Param			body		body		UpdatePrincipalRequest	true	"what changes"
//	@Success		200			{object}	Principal
//	@Failure		400,401,403,404,408,409,413	{object}	ErrorResponse
//	@Router			/v2.0/myorg/principals/{principal} [patch]
func (h *Handlers) UpdatePrincipal(c echo.Context) error {
	var r UpdatePrincipalRequest
	if err := rest.Decode(c, &r, "id", "principalType", "createdDateTime"); err != nil {
		return err
	}
	id, err := rest.ID(c, "principal")
	if err != nil {
		return err
	}
	p, err := h.Service.Tenant.UpdatePrincipal(c.Request().Context(), rest.Caller(c), id, service.PrincipalPatch{Name: r.DisplayName, Email: r.EmailAddress,
		TenantAdmin: r.TenantAdmin, Disabled: r.Disabled})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, principal(p))
}

// DeletePrincipal removes a principal.
//
//	@Summary		Delete a principal
//	@Description	Its secrets and roles go with it; clusters that it created stay.
//	@Tags			principals
//	@Produce		json
//	@Security		oauth2
//	@Param			principal	path	string	true	"object id"	Format(uuid)
//	@Success		200
//	@Failure		401,403,404,409	{object}	ErrorResponse
//	@Router			/v2.0/myorg/principals/{principal} [delete]
func (h *Handlers) DeletePrincipal(c echo.Context) error {
	id, err := rest.ID(c, "principal")
	if err != nil {
		return err
	}
	if err := h.Service.Tenant.DeletePrincipal(c.Request().Context(), rest.Caller(c), id); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}

// Secret is a secret of an application, without its text.
type Secret struct {
	ID              gateway.ID `json:"id"`
	Label           string     `json:"label"`
	CreatedDateTime time.Time  `json:"createdDateTime"`
	ExpiresDateTime *time.Time `json:"expiresDateTime" extensions:"x-nullable"`
}

// NewSecret is a secret just made; clientSecret is shown this once.
type NewSecret struct {
	Secret
	ClientSecret string `json:"clientSecret"`
}

func secret(s gateway.Secret) Secret {
	out := Secret{ID: s.ID, Label: s.Label, CreatedDateTime: s.CreatedAt}
	if !s.ExpiresAt.IsZero() {
		out.ExpiresDateTime = &s.ExpiresAt
	}
	return out
}

// ListSecrets lists an application's secrets.
//
//	@Summary	List the secrets of an application
//	@Tags		principals
//	@Produce	json
//	@Security	oauth2
//	@Param		principal	path		string	true	"object id"	Format(uuid)
//	@Param		$top		query		int		false	"at most so many"
//	@Param		$skip		query		int		false	"leave out so many"
//	@Success	200			{object}	List[Secret]
//	@Failure	400,401,403,404	{object}	ErrorResponse
//	@Router		/v2.0/myorg/principals/{principal}/secrets [get]
func (h *Handlers) ListSecrets(c echo.Context) error {
	page, err := pageOf(c)
	if err != nil {
		return err
	}
	id, err := rest.ID(c, "principal")
	if err != nil {
		return err
	}
	stored, err := h.Service.Tenant.Secrets(c.Request().Context(), id)
	if err != nil {
		return err
	}
	secrets := make([]Secret, len(stored))
	for i, s := range stored {
		secrets[i] = secret(s)
	}
	return list(c, h, "principals/secrets", cut(secrets, page))
}

// AddSecretRequest makes one more secret.
type AddSecretRequest struct {
	Label string `json:"label"`
	// LifetimeDays is for how many days it is good; 0 is for ever.
	LifetimeDays int `json:"lifetimeDays" minimum:"0" maximum:"3650"`
}

// AddSecret makes one more secret, so that they can rotate.
//
//	@Summary	Add a secret to an application
//	@Tags		principals
//	@Accept		json
//	@Produce	json
//	@Security	oauth2
//	@Param		principal	path		string				true	"object id"	Format(uuid)
//	@Param		body		body		AddSecretRequest	true	"label and lifetime"
//	@Success	201			{object}	NewSecret
//	@Failure	400,401,403,404,408,413	{object}	ErrorResponse
//	@Router		/v2.0/myorg/principals/{principal}/secrets [post]
func (h *Handlers) AddSecret(c echo.Context) error {
	var r AddSecretRequest
	if err := rest.Decode(c, &r); err != nil {
		return err
	}
	if r.LifetimeDays < 0 || r.LifetimeDays > 3650 {
		return gateway.Errorf(gateway.CodeInvalid, "lifetimeDays must be between 0 and 3650.")
	}
	id, err := rest.ID(c, "principal")
	if err != nil {
		return err
	}
	s, text, err := h.Service.Tenant.AddSecret(c.Request().Context(), rest.Caller(c), id, r.Label, time.Duration(r.LifetimeDays)*24*time.Hour)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSON(http.StatusCreated, NewSecret{secret(s), text})
}

// RemoveSecret takes a secret away.
//
//	@Summary	Remove a secret of an application
//	@Tags		principals
//	@Produce	json
//	@Security	oauth2
//	@Param		principal	path	string	true	"object id"	Format(uuid)
//	@Param		secret		path	string	true	"secret id"	Format(uuid)
//	@Success	200
//	@Failure	401,403,404,409	{object}	ErrorResponse
//	@Router		/v2.0/myorg/principals/{principal}/secrets/{secret} [delete]
func (h *Handlers) RemoveSecret(c echo.Context) error {
	id, err := rest.ID(c, "principal")
	if err != nil {
		return err
	}
	secretID, err := rest.ID(c, "secret")
	if err != nil {
		return err
	}
	if err := h.Service.Tenant.RemoveSecret(c.Request().Context(), rest.Caller(c), id, secretID); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}
