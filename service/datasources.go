package service

import (
	"cmp"
	"context"
	"strings"

	"comporta/persistence"
	"comporta/service/gateway"
)

// algorithmRSA is the one algorithm that clients name for every form of the envelope.
const algorithmRSA = "RSA-OAEP"

// DataSources are the use cases around data sources, their credentials and users.
type DataSources struct{ *core }

// CredentialInput is a credential as a client sends it.
type CredentialInput struct {
	// Type and Envelope are the credential itself.
	Type, Envelope string
	// Encryption, Privacy and SkipTest stay as they are where they are not given; a new data source gets Encrypted, None and false.
	Encryption, Privacy string
	SkipTest            *bool
	// Plain: the envelope is credential JSON in plain text (encryptionAlgorithm None).
	Plain bool
}

// over is what is kept once the input was checked.
func (in *CredentialInput) over(before gateway.StoredCredential) gateway.StoredCredential {
	kept := gateway.StoredCredential{Type: in.Type, Envelope: in.Envelope, Version: before.Version + 1, SkipTest: before.SkipTest,
		Encryption: cmp.Or(in.Encryption, before.Encryption, "Encrypted"), Privacy: cmp.Or(in.Privacy, before.Privacy, "None")}
	if in.Envelope != "" {
		kept.Algorithm = algorithmRSA
	}
	set(&kept.SkipTest, in.SkipTest)
	return kept
}

// NewDataSource is what a data source is made of. Credentials are keyed by member id, "" for all: the members of a cluster share one
// key, so one entry serves every member.
type NewDataSource struct {
	Name, ConnectionDetails, Annotation, SingleSignOn string
	Type                                              gateway.DataSourceType
	Credentials                                       map[gateway.ID]CredentialInput
}

// Create registers a data source on a cluster and makes the caller its Owner. It does not connect: ask for the status for that.
func (s *DataSources) Create(ctx context.Context, caller *gateway.Caller, cluster gateway.ID, n NewDataSource) (gateway.DataSource, error) {
	d, err := draftDataSource(n)
	if err != nil {
		return d, err
	}
	d.ID, d.ClusterID = s.NewID(), cluster
	state, err := s.directory.get(ctx, cluster)
	if err != nil {
		return d, err
	}
	if err := mayCreateType(caller, state, d.Type); err != nil {
		return d, err
	}
	credential, err := s.credential(state, d, n.Credentials)
	if err != nil {
		return d, err
	}
	d.Credential = credential.over(d.Credential)
	err = s.changed(ctx, cluster, func(tx persistence.Tx) error { return s.create(ctx, tx, caller, &d) })
	return d, err
}

func (s *DataSources) create(ctx context.Context, tx persistence.Tx, caller *gateway.Caller, d *gateway.DataSource) error {
	existing, err := tx.DataSources(ctx, persistence.Page{Skip: gateway.MaxDataSources - 1, Limit: 1}, d.ClusterID)
	if err != nil {
		return err
	}
	if len(existing) > 0 {
		return gateway.Errorf(gateway.CodeTooManyDataSources, "The cluster has %d data sources, which is all it takes.", gateway.MaxDataSources).About(d.ClusterID)
	}
	d.CreatedAt = tx.Now()
	if err := tx.CreateDataSource(ctx, *d); err != nil {
		return err
	}
	owner := gateway.DataSourceUser{DataSourceID: d.ID, PrincipalID: caller.ID, Role: gateway.DataSourceOwner, Right: gateway.RightRead, CreatedAt: tx.Now()}
	if err := tx.PutDataSourceUser(ctx, owner); err != nil {
		return err
	}
	return s.audit(ctx, tx, caller, change{action: "datasource.create", kind: "datasource", id: d.ID, cluster: d.ClusterID, after: viewDataSource(*d)})
}

func draftDataSource(n NewDataSource) (gateway.DataSource, error) {
	name, err := cleanName("datasourceName", n.Name)
	if err != nil {
		return gateway.DataSource{}, err
	}
	if err := checkText("datasourceAnnotation", n.Annotation); err != nil {
		return gateway.DataSource{}, err
	}
	if !n.Type.Served() {
		return gateway.DataSource{}, gateway.Errorf(gateway.CodeUnsupportedDataSource, "Data sources of type %s are not supported. Supported are %s.", n.Type, servedWords())
	}
	if _, err := readConnection(n.Type, n.ConnectionDetails); err != nil {
		return gateway.DataSource{}, err
	}
	return gateway.DataSource{Name: name, Type: n.Type, ConnectionDetails: n.ConnectionDetails, Annotation: n.Annotation, SingleSignOn: n.SingleSignOn}, nil
}

func servedWords() string {
	words := make([]string, len(gateway.ServedTypes))
	for i, t := range gateway.ServedTypes {
		words[i] = string(t)
		if t == gateway.TypeExtension {
			words[i] = "Extension (kind SQLite)"
		}
	}
	return strings.Join(words, ", ")
}

// readConnection refuses details that no member could use. The member checks them further, against its own configuration.
func readConnection(t gateway.DataSourceType, details string) (gateway.Place, error) {
	if err := checkText("connectionDetails", details); err != nil {
		return gateway.Place{}, err
	}
	return gateway.ParsePlace(t, details)
}

// DataSourceView is a data source as an answer shows it.
type DataSourceView struct {
	gateway.DataSource
	Users []DataSourceUserView
}

// DataSourceUserView is a user with what is known of the principal.
type DataSourceUserView struct {
	gateway.DataSourceUser
	Principal gateway.Principal
}

// List returns the cluster's data sources that the caller may see, oldest first.
func (s *DataSources) List(ctx context.Context, caller *gateway.Caller, cluster gateway.ID, page persistence.Page) ([]DataSourceView, error) {
	state, err := s.directory.get(ctx, cluster)
	if err != nil {
		return nil, err
	}
	var views []DataSourceView
	err = s.Store.View(ctx, func(r persistence.Reader) error {
		listed, err := listed(ctx, r, caller, state, page)
		if err == nil {
			views, err = s.views(ctx, r, listed)
		}
		return err
	})
	return views, err
}

// Plain lists all that the caller may see, without their users.
func (s *DataSources) Plain(ctx context.Context, caller *gateway.Caller, cluster gateway.ID) (list []gateway.DataSource, err error) {
	state, err := s.directory.get(ctx, cluster)
	if err != nil {
		return nil, err
	}
	err = s.Store.View(ctx, func(r persistence.Reader) (err error) {
		list, err = listed(ctx, r, caller, state, Page{})
		return err
	})
	return list, err
}

// listed reads a page of the data sources that the caller may see, all or those on which he has a role.
func listed(ctx context.Context, r persistence.Reader, caller *gateway.Caller, state *gateway.ClusterState, page persistence.Page) ([]gateway.DataSource, error) {
	if Decide(SeeDataSource, Rights{TenantAdmin: caller.TenantAdmin, Cluster: state.Permissions[caller.ID].Role}) == Allowed {
		return r.DataSources(ctx, page, state.Cluster.ID)
	}
	return r.UserDataSources(ctx, page, state.Cluster.ID, caller.ID)
}

// Get returns one data source.
func (s *DataSources) Get(ctx context.Context, cluster, id gateway.ID) (DataSourceView, error) {
	var view DataSourceView
	err := s.Store.View(ctx, func(r persistence.Reader) error {
		d, err := r.DataSource(ctx, cluster, id)
		if err != nil {
			return err
		}
		views, err := s.views(ctx, r, []gateway.DataSource{d})
		if err == nil {
			view = views[0]
		}
		return err
	})
	return view, err
}

func (s *DataSources) views(ctx context.Context, r persistence.Reader, list []gateway.DataSource) ([]DataSourceView, error) {
	views, at, ids := make([]DataSourceView, len(list)), map[gateway.ID]int{}, make([]gateway.ID, len(list))
	for i, d := range list {
		views[i], at[d.ID], ids[i] = DataSourceView{DataSource: d, Users: []DataSourceUserView{}}, i, d.ID
	}
	if len(list) == 0 {
		return views, nil
	}
	users, err := r.DataSourceUsers(ctx, ids...)
	if err != nil {
		return nil, err
	}
	known := map[gateway.ID]gateway.Principal{}
	for _, u := range users {
		who, ok := known[u.PrincipalID]
		if !ok {
			if who, err = r.Principal(ctx, u.PrincipalID); err != nil && !gateway.IsCode(err, gateway.CodeNotFound) {
				return nil, err
			}
			known[u.PrincipalID] = who
		}
		v := &views[at[u.DataSourceID]]
		v.Users = append(v.Users, DataSourceUserView{u, who})
	}
	return views, nil
}

// DataSourcePatch changes what is not nil.
type DataSourcePatch struct {
	Name, Annotation, SingleSignOn, ConnectionDetails *string
	// Credentials replace the stored ones when not nil; id, users and bindings stay.
	Credentials map[gateway.ID]CredentialInput
}

// Update changes a data source. New credentials take effect with the next request of every member.
func (s *DataSources) Update(ctx context.Context, caller *gateway.Caller, cluster, id gateway.ID, patch DataSourcePatch) error {
	state, err := s.directory.get(ctx, cluster)
	if err != nil {
		return err
	}
	if patch.Name != nil {
		name, err := cleanName("datasourceName", *patch.Name)
		if err != nil {
			return err
		}
		patch.Name = &name
	}
	if patch.Annotation != nil {
		if err := checkText("datasourceAnnotation", *patch.Annotation); err != nil {
			return err
		}
	}
	var credential *CredentialInput
	if patch.Credentials != nil {
		known := state.DataSources[id]
		if known == nil {
			return hiddenError(Target{Cluster: cluster, DataSource: id})
		}
		c, err := s.credential(state, known.DataSource, patch.Credentials)
		if err != nil {
			return err
		}
		credential = &c
	}
	return s.changed(ctx, cluster, func(tx persistence.Tx) error { return s.update(ctx, tx, caller, cluster, id, patch, credential) })
}

func (s *DataSources) update(ctx context.Context, tx persistence.Tx, caller *gateway.Caller, cluster, id gateway.ID, patch DataSourcePatch, credential *CredentialInput) error {
	before, err := tx.DataSource(ctx, cluster, id)
	if err != nil {
		return err
	}
	after := before
	set(&after.Name, patch.Name)
	set(&after.Annotation, patch.Annotation)
	set(&after.SingleSignOn, patch.SingleSignOn)
	if patch.ConnectionDetails != nil {
		after.ConnectionDetails = *patch.ConnectionDetails
		if err := checkMove(&before, after.ConnectionDetails, credential != nil); err != nil {
			return err
		}
	}
	if credential != nil {
		after.Credential = credential.over(before.Credential)
	}
	if err := tx.UpdateDataSource(ctx, after); err != nil {
		return err
	}
	return s.audit(ctx, tx, caller, change{action: "datasource.update", kind: "datasource", id: id, cluster: cluster, before: viewDataSource(before), after: viewDataSource(after)})
}

// checkMove refuses details that lead elsewhere without new credentials: whoever may change a data source need not know its password, and
// would else have it sent to a machine of his own. Anonymous holds no secret. See docs/adr/0006.
func checkMove(before *gateway.DataSource, details string, renewed bool) error {
	to, err := readConnection(before.Type, details)
	if err != nil {
		return err
	}
	if renewed || strings.EqualFold(before.Credential.Type, "Anonymous") {
		return nil
	}
	from, unreadable := gateway.ParsePlace(before.Type, before.ConnectionDetails)
	if unreadable == nil && from.Same(to) {
		return nil
	}
	return gateway.Errorf(gateway.CodeCredentialFormat, "A new place takes new credentials: connectionDetails lead elsewhere than before, and the stored credentials are not sent there. Send credentialDetails for the new place in the same request.").About(before.ID)
}

// Delete removes a data source with its users.
func (s *DataSources) Delete(ctx context.Context, caller *gateway.Caller, cluster, id gateway.ID) error {
	return s.changed(ctx, cluster, func(tx persistence.Tx) error {
		before, err := tx.DataSource(ctx, cluster, id)
		if err != nil {
			return err
		}
		if err := tx.DeleteDataSource(ctx, cluster, id); err != nil {
			return err
		}
		return s.audit(ctx, tx, caller, change{action: "datasource.delete", kind: "datasource", id: id, cluster: cluster, before: viewDataSource(before)})
	})
}
