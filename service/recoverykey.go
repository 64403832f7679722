package service

import (
	"context"

	"comporta/persistence"
	"comporta/service/gateway"
	"comporta/service/recovery"
)

// ChangeRecoveryKey seals the cluster's private key anew. Members that are joined go on working; a later join takes the new key.
func (s *Clusters) ChangeRecoveryKey(ctx context.Context, caller *gateway.Caller, id gateway.ID, current, next string) error {
	for _, key := range []string{current, next} {
		if err := recovery.ValidateKey([]byte(key)); err != nil {
			return err
		}
	}
	var c gateway.Cluster
	err := s.Store.View(ctx, func(r persistence.Reader) (err error) {
		c, err = r.Cluster(ctx, id)
		return err
	})
	if err != nil {
		return err
	}
	var key gateway.ClusterKey
	var sealErr error
	err = s.guard.try(ctx, id, func() bool {
		key, sealErr = recovery.Reseal([]byte(current), []byte(next), c.Key, s.Random, s.RecoveryCost)
		return sealErr == nil
	})
	if sealErr != nil && !gateway.IsCode(sealErr, gateway.CodeRecoveryKeyWrong) {
		return sealErr
	}
	if err != nil {
		return err
	}
	return s.changed(ctx, id, func(tx persistence.Tx) error {
		now, err := tx.Cluster(ctx, id)
		if err != nil {
			return err
		}
		if string(now.Key.Sealed) != string(c.Key.Sealed) {
			return gateway.Errorf(gateway.CodeConflict, "The recovery key was changed by somebody else at the same moment.").About(id)
		}
		now.Key = key
		if err := tx.UpdateCluster(ctx, now); err != nil {
			return err
		}
		return s.audit(ctx, tx, caller, change{action: "cluster.recoverykey", kind: "cluster", id: id, cluster: id})
	})
}
