package service

import (
	"context"
	"strings"
	"time"

	"comporta/persistence"
	"comporta/service/gateway"
	"comporta/service/recovery"
)

// clusterKeyBits is the size of a cluster's key pair.
const clusterKeyBits = 2048

// maxQueue bounds QueueTimeout.
const maxQueue = 10 * time.Minute

// Clusters are the use cases around clusters and the rights on them.
type Clusters struct {
	*core
	guard *guard
}

// NewCluster is what a cluster is made of. MemberName names its first member; "" gives it the cluster's name.
type NewCluster struct {
	Name, MemberName, Description, Region string
	RecoveryKey                           string
	// Overwrite takes over a member of an existing cluster of that name, if the recovery key is its own: the one that MemberName names, which
	// must be there, else the primary. MustExist then refuses to make a new cluster when there is none of that name.
	Overwrite, MustExist bool
}

// Invitation is a member that waits for its machine, and the token with which one machine may take it over once.
type Invitation struct {
	ClusterID, MemberID gateway.ID
	Token               string
	ExpiresAt           time.Time
}

// Create makes a cluster and its first member, which has the same id, and makes the caller its Admin.
func (s *Clusters) Create(ctx context.Context, caller *gateway.Caller, n NewCluster) (Invitation, error) {
	c, m, err := s.draft(n)
	if err != nil {
		return Invitation{}, err
	}
	if n.Overwrite {
		if old, err := s.byName(ctx, c.Name); err == nil {
			return s.takeOver(ctx, caller, old, n.RecoveryKey, n.named(m))
		} else if !gateway.IsCode(err, gateway.CodeNotFound) {
			return Invitation{}, err
		}
		if n.MustExist {
			return Invitation{}, gateway.Errorf(gateway.CodeNotFound, "There is no cluster %q that could be taken over.", c.Name)
		}
	}
	if c.Key, err = s.newKey(ctx, n.RecoveryKey); err != nil {
		return Invitation{}, err
	}
	invitation, enrolment, err := s.invite(c.ID, m.ID)
	if err != nil {
		return Invitation{}, err
	}
	err = s.changed(ctx, c.ID, func(tx persistence.Tx) error {
		return s.create(ctx, tx, caller, c, m, &enrolment)
	})
	invitation.ExpiresAt = enrolment.ExpiresAt
	return invitation, err
}

// draft checks the words of a new cluster.
func (s *Clusters) draft(n NewCluster) (gateway.Cluster, gateway.Member, error) {
	name, err := cleanName("name", n.Name)
	if err != nil {
		return gateway.Cluster{}, gateway.Member{}, err
	}
	memberName := name
	if n.MemberName != "" {
		if memberName, err = cleanName("memberName", n.MemberName); err != nil {
			return gateway.Cluster{}, gateway.Member{}, err
		}
	}
	if err := checkText("description", n.Description); err != nil {
		return gateway.Cluster{}, gateway.Member{}, err
	}
	region, err := s.region(n.Region)
	if err != nil {
		return gateway.Cluster{}, gateway.Member{}, err
	}
	if err := recovery.ValidateKey([]byte(n.RecoveryKey)); err != nil {
		return gateway.Cluster{}, gateway.Member{}, err
	}
	id := s.NewID()
	return gateway.Cluster{ID: id, PrimaryID: id, Name: name, Description: n.Description, Region: region, Mode: gateway.Failover, AllowCloudRefresh: true},
		gateway.Member{ID: id, ClusterID: id, Name: memberName, State: gateway.MemberEnabled}, nil
}

// region finds a region by its key, in any letter case; "" is the home region.
func (s *core) region(key string) (string, error) {
	for _, r := range s.Regions {
		if key == "" && r.Home || key != "" && strings.EqualFold(r.Key, key) {
			return r.Key, nil
		}
	}
	return "", gateway.Errorf(gateway.CodeInvalid, "There is no region %q. Regions are: %s.", key, strings.Join(s.regionKeys(), ", "))
}

func (s *core) regionKeys() []string {
	keys := make([]string, len(s.Regions))
	for i, r := range s.Regions {
		keys[i] = r.Key
	}
	return keys
}

// newKey makes the cluster's key pair. The private key leaves this function only sealed.
func (s *Clusters) newKey(ctx context.Context, recoveryKey string) (gateway.ClusterKey, error) {
	select {
	case s.guard.work <- struct{}{}:
		defer func() { <-s.guard.work }()
	case <-ctx.Done():
		return gateway.ClusterKey{}, ctx.Err()
	}
	return recovery.New([]byte(recoveryKey), s.Random, s.RecoveryCost, clusterKeyBits)
}

func (s *Clusters) create(ctx context.Context, tx persistence.Tx, caller *gateway.Caller, c gateway.Cluster, m gateway.Member, e *gateway.Enrolment) error {
	c.CreatedAt, m.CreatedAt = tx.Now(), tx.Now()
	e.ExpiresAt = tx.Now().Add(enrolmentLifetime)
	if err := tx.CreateCluster(ctx, c); err != nil {
		return err
	}
	if err := tx.CreateMember(ctx, m); err != nil {
		return err
	}
	if err := tx.PutEnrolment(ctx, *e); err != nil {
		return err
	}
	admin := gateway.Permission{ClusterID: c.ID, PrincipalID: caller.ID, Role: gateway.ClusterAdmin, CreatedAt: tx.Now()}
	if err := tx.PutPermission(ctx, admin); err != nil {
		return err
	}
	return s.audit(ctx, tx, caller, change{action: "cluster.create", kind: "cluster", id: c.ID, cluster: c.ID, after: viewCluster(c)})
}

func (s *Clusters) byName(ctx context.Context, name string) (gateway.Cluster, error) {
	var c gateway.Cluster
	err := s.Store.View(ctx, func(r persistence.Reader) (err error) {
		c, err = r.ClusterByName(ctx, name)
		return err
	})
	return c, err
}

// named is the name of the member that is asked for by name; "" when none is.
func (n *NewCluster) named(m gateway.Member) string {
	if n.MemberName == "" {
		return ""
	}
	return m.Name
}

// takeOver readies a member of an existing cluster for a new machine, by its name, or the primary when none is named: the ids, data sources
// and rights stay. It takes the cluster's recovery key and the right to manage the cluster; a caller without that right learns only that the
// cluster's name is taken.
func (s *Clusters) takeOver(ctx context.Context, caller *gateway.Caller, old gateway.Cluster, recoveryKey, name string) (Invitation, error) {
	state, err := s.directory.get(ctx, old.ID)
	if err != nil {
		return Invitation{}, err
	}
	if !caller.TenantAdmin && state.Permissions[caller.ID].Role != gateway.ClusterAdmin {
		return Invitation{}, gateway.Errorf(gateway.CodeDuplicateClusterName, "The gateway DisplayName input is already being used by another gateway")
	}
	if err := s.guard.try(ctx, old.ID, func() bool { return recovery.CheckKey([]byte(recoveryKey), old.Key) }); err != nil {
		return Invitation{}, err
	}
	if name == "" {
		return s.reinvite(ctx, caller, old.ID, old.PrimaryID)
	}
	m := memberNamed(state, name)
	if m == nil {
		return Invitation{}, noneNamed(state, name)
	}
	return s.reinvite(ctx, caller, old.ID, m.ID)
}

// ClusterPatch changes what is not nil. ResetLimits first takes all limits back to the defaults. SentBack says that the limits came with the
// whole of what was read: see sentBack. Spread says that Mode came in words that have none for LeastLoaded, which is shown as
// DistributeEvenly there: it stays when it is sent back so.
type ClusterPatch struct {
	Name, Description, Department, ContactInfo *string
	AllowCloudRefresh, AllowCustomConnectors   *bool
	Mode                                       *gateway.BalanceMode
	Limits                                     gateway.Limits
	ResetLimits, SentBack, Spread              bool
	QueueTimeout                               *time.Duration
}

// Update changes a cluster. Two updates at once both hold: each is read and written in one transaction.
func (s *Clusters) Update(ctx context.Context, caller *gateway.Caller, id gateway.ID, patch ClusterPatch) error {
	if err := patch.check(); err != nil {
		return err
	}
	return s.changed(ctx, id, func(tx persistence.Tx) error {
		before, err := tx.Cluster(ctx, id)
		if err != nil {
			return err
		}
		after := patch.apply(before)
		if err := tx.UpdateCluster(ctx, after); err != nil {
			return err
		}
		return s.audit(ctx, tx, caller, change{action: "cluster.update", kind: "cluster", id: id, cluster: id, before: viewCluster(before), after: viewCluster(after)})
	})
}

func (p *ClusterPatch) check() error {
	if p.Name != nil {
		name, err := cleanName("name", *p.Name)
		if err != nil {
			return err
		}
		p.Name = &name
	}
	for property, text := range map[string]*string{"description": p.Description, "department": p.Department, "contactInformation": p.ContactInfo} {
		if text != nil {
			if err := checkText(property, *text); err != nil {
				return err
			}
		}
	}
	if p.QueueTimeout != nil && (*p.QueueTimeout < 0 || *p.QueueTimeout > maxQueue) {
		return gateway.Errorf(gateway.CodeInvalid, "%s must be between 0 and %d.", gateway.SettingQueue, int(maxQueue.Seconds()))
	}
	return p.Limits.Validate()
}

func (p *ClusterPatch) apply(c gateway.Cluster) gateway.Cluster {
	set(&c.Name, p.Name)
	set(&c.Description, p.Description)
	set(&c.Department, p.Department)
	set(&c.ContactInfo, p.ContactInfo)
	set(&c.AllowCloudRefresh, p.AllowCloudRefresh)
	set(&c.AllowCustomConnectors, p.AllowCustomConnectors)
	if !(p.Spread && c.Mode == gateway.LeastLoaded && p.Mode != nil && *p.Mode == gateway.DistributeEvenly) {
		set(&c.Mode, p.Mode)
	}
	set(&c.QueueTimeout, p.QueueTimeout)
	shown := c.Limits.Effective()
	if p.ResetLimits {
		c.Limits = gateway.Limits{}
	}
	given := p.Limits
	if p.SentBack {
		given = sentBack(given, c.Limits, shown)
	}
	c.Limits = given.Over(c.Limits)
	return c
}

// sentBack leaves out what a client read and sent back unchanged with the rest of the object: a limit that is not set here and equals the one
// that is shown. Reading, changing another property and writing must not turn limits that are inherited into ones that are set.
func sentBack(given, own gateway.Limits, shown gateway.EffectiveLimits) gateway.Limits {
	keep := func(given, own *int, shown int) *int {
		if given != nil && own == nil && *given == shown {
			return nil
		}
		return given
	}
	return gateway.Limits{
		CPU:           keep(given.CPU, own.CPU, shown.CPU),
		Memory:        keep(given.Memory, own.Memory, shown.Memory),
		WindowMinutes: keep(given.WindowMinutes, own.WindowMinutes, int(shown.Window/time.Minute)),
		Concurrency:   keep(given.Concurrency, own.Concurrency, shown.Concurrency),
	}
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// Delete removes a cluster and everything in it.
func (s *Clusters) Delete(ctx context.Context, caller *gateway.Caller, id gateway.ID) error {
	return s.changed(ctx, id, func(tx persistence.Tx) error { return s.delete(ctx, tx, caller, id) })
}

func (s *core) delete(ctx context.Context, tx persistence.Tx, caller *gateway.Caller, id gateway.ID) error {
	before, err := tx.Cluster(ctx, id)
	if err != nil {
		return err
	}
	if err := tx.DeleteCluster(ctx, id); err != nil {
		return err
	}
	return s.audit(ctx, tx, caller, change{action: "cluster.delete", kind: "cluster", id: id, cluster: id, before: viewCluster(before)})
}
