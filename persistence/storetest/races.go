package storetest

import (
	"context"
	"strconv"
	"sync"
	"time"

	"comporta/persistence"
	"comporta/service/gateway"
)

// together runs fn n times at once and returns the errors.
func (s *suite) together(n int, fn func(i int) error) []error {
	errs := make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { errs[i] = fn(i) })
	}
	wait.Wait()
	return errs
}

// viewIsOneMoment: two reads of one View agree although a commit came between them.
func viewIsOneMoment(s *suite) {
	c := s.cluster()
	s.ok(s.store.View(s.Context(), func(r persistence.Reader) error {
		ctx := s.Context()
		before, err := r.ClusterState(ctx, c.ID)
		if err != nil {
			return err
		}
		s.member(c.ID)
		other := s.cluster()
		after, err := r.ClusterState(ctx, c.ID)
		if err != nil {
			return err
		}
		s.same(after, before)
		_, err = r.Cluster(ctx, other.ID)
		s.code(err, gateway.CodeNotFound)
		return nil
	}))
	s.same(len(read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.Member, error) { return r.Members(ctx, c.ID) })), 1)
}

// noLostUpdate: concurrent read-modify-writes of one row all count.
func noLostUpdate(s *suite) {
	const writers, rounds = 4, 10
	c := s.cluster()
	c.Description = "0"
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.UpdateCluster(ctx, c) })
	for _, err := range s.together(writers, func(int) error {
		for range rounds {
			if err := s.try(func(ctx context.Context, tx persistence.Tx) error { return increment(ctx, tx, c.ID) }); err != nil {
				return err
			}
		}
		return nil
	}) {
		s.ok(err)
	}
	got, err := s.getCluster(c.ID)
	s.ok(err)
	s.same(got.Description, strconv.Itoa(writers*rounds))
}

func increment(ctx context.Context, tx persistence.Tx, id gateway.ID) error {
	c, err := tx.Cluster(ctx, id)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(c.Description)
	if err != nil {
		return err
	}
	c.Description = strconv.Itoa(n + 1)
	return tx.UpdateCluster(ctx, c)
}

// noOvercount: who counts, then inserts, never makes more than the bound.
func noOvercount(s *suite) {
	const bound = 3
	c := s.cluster()
	newMembers := make([]gateway.Member, 8)
	for i := range newMembers {
		newMembers[i] = s.newMember(c.ID)
	}
	full := 0
	for _, err := range s.together(len(newMembers), func(i int) error {
		return s.try(func(ctx context.Context, tx persistence.Tx) error {
			members, err := tx.Members(ctx, c.ID)
			if err != nil {
				return err
			}
			if len(members) >= bound {
				return gateway.Errorf(gateway.CodeTooManyMembers, "full")
			}
			return tx.CreateMember(ctx, newMembers[i])
		})
	}) {
		if gateway.IsCode(err, gateway.CodeTooManyMembers) {
			full++
			continue
		}
		s.ok(err)
	}
	s.same(full, len(newMembers)-bound)
	s.same(len(read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.Member, error) { return r.Members(ctx, c.ID) })), bound)
}

// oneWinner: of several who take one name at once exactly one gets it, and the others are told so by the right code.
func oneWinner(s *suite) {
	for range 5 {
		name := string(newID())
		list := make([]gateway.Cluster, 6)
		for i := range list {
			list[i] = s.newCluster()
			list[i].Name = name
		}
		won := 0
		for _, err := range s.together(len(list), func(i int) error {
			return s.try(func(ctx context.Context, tx persistence.Tx) error { return tx.CreateCluster(ctx, list[i]) })
		}) {
			if err == nil {
				won++
				continue
			}
			s.code(err, gateway.CodeDuplicateClusterName)
		}
		s.same(won, 1)
	}
}

// changesSeenInOrder: one who follows the change numbers while others write misses nothing.
func changesSeenInOrder(s *suite) {
	const writers, rounds = 3, 15
	lists := make([][]gateway.Cluster, writers)
	for i := range lists {
		for range rounds {
			lists[i] = append(lists[i], s.newCluster())
		}
	}
	written := make(chan struct{})
	var errs []error
	go func() {
		defer close(written)
		errs = s.together(writers, func(i int) error {
			for _, c := range lists[i] {
				if err := s.try(func(ctx context.Context, tx persistence.Tx) error { return tx.CreateCluster(ctx, c) }); err != nil {
					return err
				}
			}
			return nil
		})
	}()
	seen := map[gateway.ID]bool{}
	since, last := int64(0), false
	for !last {
		select {
		case <-written:
			last = true
		default:
		}
		v := s.changes(since)
		for id := range v.changed {
			seen[id] = true
		}
		since = v.newest
	}
	for _, err := range errs {
		s.ok(err)
	}
	s.same(len(seen), writers*rounds)
}

// nowFollowsCommits: a transaction that sees another's rows is not older than it, and its time has no more than microseconds.
func nowFollowsCommits(s *suite) {
	c := s.cluster()
	for _, err := range s.together(4, func(int) error {
		for range 10 {
			if err := s.try(func(ctx context.Context, tx persistence.Tx) error { return stampLater(ctx, tx, c.ID) }); err != nil {
				return err
			}
		}
		return nil
	}) {
		s.ok(err)
	}
}

func stampLater(ctx context.Context, tx persistence.Tx, id gateway.ID) error {
	c, err := tx.Cluster(ctx, id)
	if err != nil {
		return err
	}
	now := tx.Now()
	if now != now.UTC().Truncate(time.Microsecond) || now != tx.Now() {
		return gateway.Errorf(gateway.CodeInternal, "the transaction's time is %v", now)
	}
	if last, err := time.Parse(time.RFC3339Nano, c.Department); err == nil && now.Before(last) {
		return gateway.Errorf(gateway.CodeInternal, "the transaction's time went back from %v to %v", last, now)
	}
	c.Department = now.Format(time.RFC3339Nano)
	return tx.UpdateCluster(ctx, c)
}
