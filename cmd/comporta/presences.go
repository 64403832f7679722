package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"comporta/service"
	"comporta/service/gateway"
)

// How often a member's load is kept for the charts, and its last sign of life for the lists.
const (
	sampleEvery = 15 * time.Second
	sawEvery    = time.Minute
)

// presences carries what the tunnels show into the history, off the tunnels' own goroutines.
type presences struct {
	service *service.Service
	log     *slog.Logger
	bell    chan struct{}
	// seen belongs to run.
	seen map[gateway.ID]*seenMember

	mu      sync.Mutex
	pending map[gateway.ID]gateway.Presence
}

// seenMember is what was last written of a member.
type seenMember struct {
	online       bool
	sampled, saw time.Time
}

func newPresences(log *slog.Logger) *presences {
	return &presences{log: log, bell: make(chan struct{}, 1), seen: map[gateway.ID]*seenMember{}, pending: map[gateway.ID]gateway.Presence{}}
}

// note takes a member's newest presence in. It is quick: only the newest one of each member waits to be written.
func (p *presences) note(member gateway.ID, now gateway.Presence) {
	p.mu.Lock()
	p.pending[member] = now
	p.mu.Unlock()
	select {
	case p.bell <- struct{}{}:
	default:
	}
}

// run writes until ctx ends.
func (p *presences) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.bell:
		}
		p.mu.Lock()
		pending := p.pending
		p.pending = map[gateway.ID]gateway.Presence{}
		p.mu.Unlock()
		for member, presence := range pending {
			p.write(ctx, member, presence, time.Now())
		}
	}
}

func (p *presences) write(ctx context.Context, member gateway.ID, now gateway.Presence, at time.Time) {
	before := p.seen[member]
	if before == nil && !now.Online {
		return // it was not online for this process: there is no sign of life to write
	}
	if before == nil {
		before = &seenMember{}
		p.seen[member] = before
	}
	if now.Online && at.Sub(before.sampled) >= sampleEvery {
		before.sampled = at
		p.service.History.Sample(gateway.LoadSample{MemberID: member, At: at, Load: now.Load})
	}
	if now.Online == before.online && at.Sub(before.saw) < sawEvery {
		return
	}
	if now.Online != before.online {
		p.log.Info("a member's presence changed", "member", member, "online", now.Online, "version", now.Version, "machine", now.Machine)
	}
	before.online, before.saw = now.Online, at
	err := p.service.Members.Saw(ctx, member, now.Version, now.Machine)
	if err != nil && ctx.Err() == nil && !gateway.IsCode(err, gateway.CodeNotFound) {
		p.log.Warn("a member's last sign of life could not be written", "member", member, "error", err)
	}
	if !now.Online {
		delete(p.seen, member)
	}
}
