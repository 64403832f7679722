package service

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"time"

	"comporta/persistence"
	"comporta/service/gateway"
	"comporta/service/recovery"
)

// enrolmentLifetime is how long a machine has to take over a member. Source: contract section 4.
const enrolmentLifetime = time.Hour

// maxVersion bounds what a machine says of itself, in bytes.
const maxVersion = 200

// invite makes an enrolment and the token that redeems it. Only the token's hash is kept.
func (s *core) invite(cluster, member gateway.ID) (Invitation, gateway.Enrolment, error) {
	var raw [32]byte
	if _, err := io.ReadFull(s.Random, raw[:]); err != nil {
		return Invitation{}, gateway.Enrolment{}, fmt.Errorf("make an enrolment token: %w", err)
	}
	token := base64.RawURLEncoding.EncodeToString(raw[:])
	hash := sha256.Sum256([]byte(token))
	return Invitation{ClusterID: cluster, MemberID: member, Token: token},
		gateway.Enrolment{TokenHash: hash[:], ClusterID: cluster, MemberID: member}, nil
}

// reinvite readies an existing member for another machine. The old machine keeps working until the new one has enrolled.
func (s *core) reinvite(ctx context.Context, caller *gateway.Caller, cluster, member gateway.ID) (Invitation, error) {
	invitation, enrolment, err := s.invite(cluster, member)
	if err != nil {
		return Invitation{}, err
	}
	err = s.changed(ctx, cluster, func(tx persistence.Tx) error {
		m, err := memberOf(ctx, tx, cluster, member)
		if err != nil {
			return err
		}
		if err := tx.DeleteEnrolments(ctx, member); err != nil {
			return err
		}
		enrolment.ExpiresAt = tx.Now().Add(enrolmentLifetime)
		if err := tx.PutEnrolment(ctx, enrolment); err != nil {
			return err
		}
		return s.audit(ctx, tx, caller, change{action: "member.restore", kind: "member", id: member, cluster: cluster, before: viewMember(m)})
	})
	invitation.ExpiresAt = enrolment.ExpiresAt
	return invitation, err
}

// BeginEnrolment answers what a machine needs to derive the verifier from the recovery key: salt and cost, no more.
func (s *Members) BeginEnrolment(ctx context.Context, token string) (gateway.ClusterKey, error) {
	c, _, err := s.enrolment(ctx, token)
	if err != nil {
		return gateway.ClusterKey{}, err
	}
	return gateway.ClusterKey{Salt: c.Key.Salt, Time: c.Key.Time, Memory: c.Key.Memory, Threads: c.Key.Threads}, nil
}

func errEnrolment() *gateway.Error {
	return gateway.Errorf(gateway.CodeEnrolmentInvalid, "The enrolment token is not known, was used, or is older than an hour. Add the member again to get a new one.")
}

// enrolment finds what a token stands for. Its hash is looked up, so the comparison's time says nothing of the token.
func (s *Members) enrolment(ctx context.Context, token string) (gateway.Cluster, gateway.Member, error) {
	var e gateway.Enrolment
	var c gateway.Cluster
	var m gateway.Member
	hash := sha256.Sum256([]byte(token))
	err := s.Store.View(ctx, func(r persistence.Reader) (err error) {
		if e, err = r.Enrolment(ctx, hash[:]); err != nil {
			return err
		}
		if c, err = r.Cluster(ctx, e.ClusterID); err != nil {
			return err
		}
		m, err = r.Member(ctx, e.MemberID)
		return err
	})
	if gateway.IsCode(err, gateway.CodeNotFound) || err == nil && !s.Now().Before(e.ExpiresAt) {
		err = errEnrolment()
	}
	return c, m, err
}

// Machine is what a machine says of itself when it enrols.
type Machine struct {
	// Verifier is derived from the recovery key and proves that the machine knows it.
	Verifier []byte
	// PublicKey is the machine's own Ed25519 key.
	PublicKey     []byte
	Version, Name string
}

// CompleteEnrolment makes the machine the member, uses the token up and hands out the sealed cluster key. An older machine of the same
// member is cut off. A wrong verifier counts as a wrong recovery key.
func (s *Members) CompleteEnrolment(ctx context.Context, caller *gateway.Caller, token string, machine Machine) (gateway.Enrolled, error) {
	if len(machine.PublicKey) != ed25519.PublicKeySize {
		return gateway.Enrolled{}, gateway.Errorf(gateway.CodeInvalid, "publicKey must be an Ed25519 public key (32 bytes, base64).")
	}
	if len(machine.Version) > maxVersion || len(machine.Name) > maxVersion {
		return gateway.Enrolled{}, gateway.Errorf(gateway.CodeInvalid, "version and machine take at most %d bytes.", maxVersion)
	}
	c, m, err := s.enrolment(ctx, token)
	if err != nil {
		return gateway.Enrolled{}, err
	}
	if err := s.guard.try(ctx, c.ID, func() bool { return recovery.CheckVerifier(c.Key, machine.Verifier) }); err != nil {
		return gateway.Enrolled{}, err
	}
	hash := sha256.Sum256([]byte(token))
	err = s.changed(ctx, c.ID, func(tx persistence.Tx) error { return s.enrol(ctx, tx, caller, hash[:], &m, machine) })
	if err != nil {
		return gateway.Enrolled{}, err
	}
	s.Tunnels.Disconnect(m.ID, "Another machine took this member over with the recovery key.")
	key := c.Key
	key.VerifierHash = nil
	return gateway.Enrolled{ClusterID: c.ID, ClusterName: c.Name, MemberID: m.ID, MemberName: m.Name, Key: key}, nil
}

func (s *Members) enrol(ctx context.Context, tx persistence.Tx, caller *gateway.Caller, hash []byte, m *gateway.Member, machine Machine) error {
	// Read again inside the transaction: of two machines with one token only one may win.
	e, err := tx.Enrolment(ctx, hash)
	if gateway.IsCode(err, gateway.CodeNotFound) {
		return errEnrolment()
	}
	if err != nil {
		return err
	}
	if *m, err = tx.Member(ctx, e.MemberID); err != nil {
		return err
	}
	before := viewMember(*m)
	m.PublicKey, m.Version, m.Machine = machine.PublicKey, machine.Version, machine.Name
	if err := tx.UpdateMember(ctx, *m); err != nil {
		return err
	}
	if err := tx.DeleteEnrolments(ctx, m.ID); err != nil {
		return err
	}
	who := &gateway.Caller{ID: m.ID, Name: "machine " + machine.Name, From: caller.From, RequestID: caller.RequestID}
	return s.audit(ctx, tx, who, change{action: "member.enrol", kind: "member", id: m.ID, cluster: m.ClusterID, before: before, after: viewMember(*m)})
}

// TunnelKey says with which key a member's tunnels prove themselves and what the member is to be told. CodeNotFound for a member that
// was removed or has no machine yet.
func (s *Members) TunnelKey(ctx context.Context, member gateway.ID) (ed25519.PublicKey, gateway.MemberSettings, error) {
	var m gateway.Member
	err := s.Store.View(ctx, func(r persistence.Reader) (err error) {
		m, err = r.Member(ctx, member)
		return err
	})
	if gateway.IsCode(err, gateway.CodeNotFound) || err == nil && !m.Enrolled() {
		return nil, gateway.MemberSettings{}, errRemoved()
	}
	if err != nil {
		return nil, gateway.MemberSettings{}, err
	}
	// Through the directory, so that later changes of this cluster reach the member.
	state, err := s.directory.get(ctx, m.ClusterID)
	if err != nil {
		return nil, gateway.MemberSettings{}, err
	}
	return m.PublicKey, settingsOf(&state.Cluster, &m), nil
}

// Saw keeps what a connected machine says of itself.
func (s *Members) Saw(ctx context.Context, member gateway.ID, version, machine string) error {
	return s.Store.InTx(ctx, func(tx persistence.Tx) error {
		return tx.SawMember(ctx, member, version, machine, tx.Now())
	})
}
