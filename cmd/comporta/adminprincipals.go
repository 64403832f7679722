package main

import (
	"context"
	"net/http"
	"net/url"
)

const principalsPath = "/v2.0/myorg/principals"

// principalsCmd is upkeep of users, applications and groups.
type principalsCmd struct {
	List         listPrincipalsCmd  `cmd:"" help:"List them."`
	Create       createPrincipalCmd `cmd:"" help:"Create one. An application's first secret is printed, this once."`
	Disable      disableCmd         `cmd:"" help:"Disable one; its tokens end at once."`
	Enable       enableCmd          `cmd:"" help:"Enable one again."`
	Delete       deletePrincipalCmd `cmd:"" help:"Delete one with its secrets and roles."`
	Secrets      secretsCmd         `cmd:"" help:"List an application's secrets, without their texts."`
	AddSecret    addSecretCmd       `cmd:"" help:"Give an application one more secret; it is printed, this once."`
	RemoveSecret removeSecretCmd    `cmd:"" help:"Take a secret away."`
}

// listOf reads a list of any kind.
func (c *apiClient) listOf(ctx context.Context, path string) ([]map[string]any, error) {
	var list struct {
		Value []map[string]any `json:"value"`
	}
	err := c.call(ctx, http.MethodGet, path, nil, &list)
	return list.Value, err
}

type listPrincipalsCmd struct{}

// Run lists principals.
func (listPrincipalsCmd) Run(ctx context.Context, p *process, root *cli) error {
	c, err := root.Admin.client(p)
	if err != nil {
		return err
	}
	list, err := c.listOf(ctx, principalsPath)
	if err != nil {
		return err
	}
	return root.Admin.show(p, list, "id", "principalType", "displayName", "emailAddress", "tenantAdmin", "disabled")
}

type createPrincipalCmd struct {
	Name        string `arg:"" help:"The display name."`
	Kind        string `default:"App" enum:"User,App,Group" help:"User, App or Group."`
	Email       string `help:"The e-mail address."`
	TenantAdmin bool   `help:"Make it a TenantAdmin."`
	ID          string `name:"id" help:"Its object id, if a directory has given one already."`
}

// Run creates a principal.
func (cmd createPrincipalCmd) Run(ctx context.Context, p *process, root *cli) error {
	c, err := root.Admin.client(p)
	if err != nil {
		return err
	}
	body := map[string]any{"displayName": cmd.Name, "principalType": cmd.Kind, "emailAddress": cmd.Email, "tenantAdmin": cmd.TenantAdmin}
	if cmd.ID != "" {
		body["id"] = cmd.ID
	}
	return root.Admin.make(ctx, p, c, principalsPath, body, "id", "displayName", "clientSecret")
}

// make posts a body and prints what was made.
func (c *adminCmd) make(ctx context.Context, p *process, client *apiClient, path string, body map[string]any, columns ...string) error {
	made := map[string]any{}
	if err := client.call(ctx, http.MethodPost, path, body, &made); err != nil {
		return err
	}
	return c.showOne(p, made, columns...)
}

type disableCmd struct {
	ID string `arg:"" name:"id" help:"The principal's id."`
}

// Run disables a principal.
func (cmd disableCmd) Run(ctx context.Context, p *process, root *cli) error {
	return root.Admin.setDisabled(ctx, p, cmd.ID, true)
}

type enableCmd struct {
	ID string `arg:"" name:"id" help:"The principal's id."`
}

// Run enables a principal.
func (cmd enableCmd) Run(ctx context.Context, p *process, root *cli) error {
	return root.Admin.setDisabled(ctx, p, cmd.ID, false)
}

func (c *adminCmd) setDisabled(ctx context.Context, p *process, id string, disabled bool) error {
	client, err := c.client(p)
	if err != nil {
		return err
	}
	now := map[string]any{}
	if err := client.call(ctx, http.MethodPatch, principalsPath+"/"+url.PathEscape(id), map[string]any{"disabled": disabled}, &now); err != nil {
		return err
	}
	return c.showOne(p, now, "id", "displayName", "disabled")
}

// remove deletes what the path names.
func (c *adminCmd) remove(ctx context.Context, p *process, path string) error {
	client, err := c.client(p)
	if err != nil {
		return err
	}
	if err := client.call(ctx, http.MethodDelete, path, nil, nil); err != nil {
		return err
	}
	p.printf("removed\n")
	return nil
}

type deletePrincipalCmd struct {
	ID string `arg:"" name:"id" help:"The principal's id."`
}

// Run deletes a principal.
func (cmd deletePrincipalCmd) Run(ctx context.Context, p *process, root *cli) error {
	return root.Admin.remove(ctx, p, principalsPath+"/"+url.PathEscape(cmd.ID))
}

type secretsCmd struct {
	ID string `arg:"" name:"id" help:"The application's id."`
}

// Run lists secrets.
func (cmd secretsCmd) Run(ctx context.Context, p *process, root *cli) error {
	c, err := root.Admin.client(p)
	if err != nil {
		return err
	}
	list, err := c.listOf(ctx, principalsPath+"/"+url.PathEscape(cmd.ID)+"/secrets")
	if err != nil {
		return err
	}
	return root.Admin.show(p, list, "id", "label", "createdDateTime", "expiresDateTime")
}

type addSecretCmd struct {
	ID    string `arg:"" name:"id" help:"The application's id."`
	Label string `default:"" help:"What the secret is for."`
	Days  int    `default:"0" help:"For how many days it is good; 0 is for ever."`
}

// Run adds a secret.
func (cmd addSecretCmd) Run(ctx context.Context, p *process, root *cli) error {
	c, err := root.Admin.client(p)
	if err != nil {
		return err
	}
	return root.Admin.make(ctx, p, c, principalsPath+"/"+url.PathEscape(cmd.ID)+"/secrets", map[string]any{"label": cmd.Label, "lifetimeDays": cmd.Days},
		"id", "label", "expiresDateTime", "clientSecret")
}

type removeSecretCmd struct {
	ID       string `arg:"" name:"id" help:"The application's id."`
	SecretID string `arg:"" name:"secret-id" help:"The secret's id."`
}

// Run removes a secret.
func (cmd removeSecretCmd) Run(ctx context.Context, p *process, root *cli) error {
	return root.Admin.remove(ctx, p, principalsPath+"/"+url.PathEscape(cmd.ID)+"/secrets/"+url.PathEscape(cmd.SecretID))
}
