package routing_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"comporta/service/gateway"
	"comporta/service/routing"
)

var modes = []gateway.BalanceMode{gateway.Failover, gateway.DistributeEvenly, gateway.LeastLoaded}

func online(id gateway.ID) routing.Member {
	return routing.Member{ID: id, Enabled: true, Online: true}
}

func known(percent float64) gateway.Reading { return gateway.Reading{Percent: percent, Known: true} }

func seeded(seed uint64) func(int) int { return rand.New(rand.NewPCG(seed, seed)).IntN }

func plan(mode gateway.BalanceMode, members []routing.Member, random func(int) int) *routing.Route {
	var route routing.Route
	routing.Plan(&route, mode, members, random)
	return &route
}

func TestReasonOfOneMember(t *testing.T) {
	limits := gateway.EffectiveLimits{CPU: 80, Memory: 90, Concurrency: 40}
	for _, c := range []struct {
		name   string
		change func(m *routing.Member)
		want   routing.Reason
	}{
		{"idle", func(*routing.Member) {}, routing.Available},
		{"disabled before all else", func(m *routing.Member) { m.Enabled, m.Draining, m.Online = false, true, false }, routing.Disabled},
		{"draining before offline", func(m *routing.Member) { m.Draining, m.Online = true, false }, routing.Draining},
		{"offline before limits", func(m *routing.Member) { m.Online = false; m.Load.CPU = known(100) }, routing.Offline},
		{"cpu 79.9", func(m *routing.Member) { m.Load.CPU = known(79.9) }, routing.Available},
		{"cpu 80", func(m *routing.Member) { m.Load.CPU = known(80) }, routing.CPU},
		{"cpu 80.1", func(m *routing.Member) { m.Load.CPU = known(80.1) }, routing.CPU},
		{"cpu unknown", func(m *routing.Member) { m.Load.CPU = gateway.Reading{Percent: 100} }, routing.Available},
		{"cpu not a number", func(m *routing.Member) { m.Load.CPU = known(math.NaN()) }, routing.Available},
		{"cpu off", func(m *routing.Member) { m.Limits.CPU = 0; m.Load.CPU = known(100) }, routing.Available},
		{"cpu 0 and off", func(m *routing.Member) { m.Limits.CPU = 0; m.Load.CPU = known(0) }, routing.Available},
		{"memory 89.9", func(m *routing.Member) { m.Load.Memory = known(89.9) }, routing.Available},
		{"memory 90", func(m *routing.Member) { m.Load.Memory = known(90) }, routing.Memory},
		{"memory unknown", func(m *routing.Member) { m.Load.Memory = gateway.Reading{Percent: 100} }, routing.Available},
		{"39 running", func(m *routing.Member) { m.Load.Running = 39 }, routing.Available},
		{"40 running", func(m *routing.Member) { m.Load.Running = 40 }, routing.Concurrency},
		{"concurrency off", func(m *routing.Member) { m.Limits.Concurrency = 0; m.Load.Running = 4000 }, routing.Available},
		{"cpu before memory", func(m *routing.Member) { m.Load = gateway.Load{CPU: known(80), Memory: known(90), Running: 40} }, routing.CPU},
		{"memory before concurrency", func(m *routing.Member) { m.Load = gateway.Load{Memory: known(90), Running: 40} }, routing.Memory},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := online("m")
			m.Limits = limits
			c.change(&m)
			for _, mode := range modes {
				route := plan(mode, []routing.Member{m}, nil)
				if route.Reasons[0] != c.want || (len(route.Order) == 1) != (c.want == routing.Available) {
					t.Errorf("%s: reason %v, order %v; want %v", mode, route.Reasons[0], route.Order, c.want)
				}
			}
		})
	}
}

func TestFailoverIsThePrimaryWhileItIsAvailable(t *testing.T) {
	members := []routing.Member{online("a"), online("b"), online("c")}
	for _, mode := range []gateway.BalanceMode{gateway.Failover, "", "RoundRobin"} {
		for range 100 {
			if got := plan(mode, members, nil).Order; !slices.Equal(got, []int{0, 1, 2}) {
				t.Fatalf("%q: %v", mode, got)
			}
		}
	}
	members[0].Online = false
	if got := plan(gateway.Failover, members, nil).Order; !slices.Equal(got, []int{1, 2}) {
		t.Errorf("primary offline: %v", got)
	}
	members[0].Online, members[0].Load.CPU, members[0].Limits.CPU = true, known(80), 80
	if got := plan(gateway.Failover, members, nil).Order; !slices.Equal(got, []int{1, 2}) {
		t.Errorf("primary over its limit: %v", got)
	}
	members[0].Load.CPU = known(79)
	if got := plan(gateway.Failover, members, nil).Order; !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("primary back: %v", got)
	}
}

// chiSquare returns Pearson's statistic of the counts against a uniform distribution.
func chiSquare(counts map[[3]int]int, cells, total int) float64 {
	expected := float64(total) / float64(cells)
	sum := float64(cells-len(counts)) * expected
	for _, n := range counts {
		sum += (float64(n) - expected) * (float64(n) - expected) / expected
	}
	return sum
}

func TestDistributeEvenlyIsUniformOverAllOrders(t *testing.T) {
	for name, ids := range map[string][]gateway.ID{"one list order": {"a", "b", "c"}, "another": {"c", "a", "b"}} {
		t.Run(name, func(t *testing.T) {
			// A disabled member in the middle must not lend its share to a neighbour.
			members := []routing.Member{online(ids[0]), {ID: "off"}, online(ids[1]), online(ids[2])}
			random, counts := seeded(7), map[[3]int]int{}
			const total = 60000
			for range total {
				counts[[3]int(plan(gateway.DistributeEvenly, members, random).Order)]++
			}
			// 20.5 is the 99.9 % point with five degrees of freedom.
			if x := chiSquare(counts, 6, total); x > 20.5 {
				t.Errorf("chi-square %.1f, counts %v", x, counts)
			}
		})
	}
}

func TestLeastLoadedPrefersTheLessBusy(t *testing.T) {
	busy, calm := online("busy"), online("calm")
	busy.Load.Running = 9
	hot, cool, blind := online("hot"), online("cool"), online("blind")
	hot.Load.CPU, cool.Load.CPU = known(70), known(20)
	random := seeded(1)
	for range 200 {
		if got := plan(gateway.LeastLoaded, []routing.Member{busy, calm}, random).Order; !slices.Equal(got, []int{1, 0}) {
			t.Fatalf("running: %v", got)
		}
		if got := plan(gateway.LeastLoaded, []routing.Member{hot, cool}, random).Order; !slices.Equal(got, []int{1, 0}) {
			t.Fatalf("cpu: %v", got)
		}
	}
	firsts := [2]int{}
	for range 2000 {
		firsts[plan(gateway.LeastLoaded, []routing.Member{blind, hot}, random).Order[0]]++
	}
	if firsts[0] < 850 || firsts[1] < 850 {
		t.Errorf("an unknown CPU must neither win nor lose: %v", firsts)
	}
}

// With two distinct uniform choices of n members ranked by load, the member of rank r (0 is least busy) comes first with probability
// 2(n-1-r)/(n(n-1)); so the busiest never does.
func TestLeastLoadedIsTwoRandomChoices(t *testing.T) {
	const n, total = 4, 60000
	var members []routing.Member
	for i := range n {
		m := online("m")
		m.Load.Running = i
		members = append(members, m)
	}
	random, firsts := seeded(3), [n]int{}
	for range total {
		firsts[plan(gateway.LeastLoaded, members, random).Order[0]]++
	}
	for rank, got := range firsts {
		want := float64(total) * 2 * float64(n-1-rank) / (n * (n - 1))
		if math.Abs(float64(got)-want) > 5*math.Sqrt(want+1) {
			t.Errorf("rank %d came first %d times, want about %.0f", rank, got, want)
		}
	}
}

func readings() *rapid.Generator[gateway.Reading] {
	return rapid.Custom(func(t *rapid.T) gateway.Reading {
		return gateway.Reading{Percent: rapid.SampledFrom([]float64{0, 50, 79.9, 80, 80.1, 100}).Draw(t, "percent"), Known: rapid.Bool().Draw(t, "known")}
	})
}

func memberList() *rapid.Generator[[]routing.Member] {
	one := rapid.Custom(func(t *rapid.T) routing.Member {
		return routing.Member{
			ID:       gateway.ID(rapid.StringMatching("[a-f]{4}").Draw(t, "id")),
			Enabled:  rapid.IntRange(0, 4).Draw(t, "enabled") > 0,
			Draining: rapid.IntRange(0, 4).Draw(t, "draining") == 0,
			Online:   rapid.IntRange(0, 4).Draw(t, "online") > 0,
			Load:     gateway.Load{CPU: readings().Draw(t, "cpu"), Memory: readings().Draw(t, "memory"), Running: rapid.IntRange(0, 3).Draw(t, "running")},
			Limits: gateway.EffectiveLimits{CPU: rapid.SampledFrom([]int{0, 80}).Draw(t, "cpuLimit"),
				Memory: rapid.SampledFrom([]int{0, 80}).Draw(t, "memoryLimit"), Concurrency: rapid.IntRange(0, 3).Draw(t, "limit")},
		}
	})
	return rapid.SliceOfN(one, 0, 14)
}

// oracleReason is contract section 8 written plainly: collect everything that speaks against the member, then take the first.
func oracleReason(m routing.Member) string {
	var against []string
	add := func(holds bool, word string) {
		if holds {
			against = append(against, word)
		}
	}
	add(!m.Enabled, "disabled")
	add(m.Draining, "draining")
	add(!m.Online, "offline")
	add(m.Limits.CPU != 0 && m.Load.CPU.Known && m.Load.CPU.Percent >= float64(m.Limits.CPU), "cpu")
	add(m.Limits.Memory != 0 && m.Load.Memory.Known && m.Load.Memory.Percent >= float64(m.Limits.Memory), "memory")
	add(m.Limits.Concurrency != 0 && m.Load.Running >= m.Limits.Concurrency, "concurrency")
	return append(against, "available")[0]
}

func oracleAvailable(members []routing.Member) []int {
	available := []int{}
	for i, m := range members {
		if oracleReason(m) == "available" {
			available = append(available, i)
		}
	}
	return available
}

func TestPlanAgainstOracle(t *testing.T) {
	var reused routing.Route
	rapid.Check(t, func(t *rapid.T) {
		members, mode := memberList().Draw(t, "members"), rapid.SampledFrom(modes).Draw(t, "mode")
		seed := rapid.Uint64().Draw(t, "seed")
		routing.Plan(&reused, mode, members, seeded(seed))
		if len(reused.Reasons) != len(members) {
			t.Fatalf("%d reasons for %d members", len(reused.Reasons), len(members))
		}
		for i, m := range members {
			if got, want := reused.Reasons[i].String(), oracleReason(m); got != want {
				t.Fatalf("member %d: %s, want %s", i, got, want)
			}
		}
		available, sorted := oracleAvailable(members), slices.Sorted(slices.Values(reused.Order))
		if len(available) != len(sorted) || len(available) > 0 && !reflect.DeepEqual(available, sorted) {
			t.Fatalf("order %v is no order of %v", reused.Order, available)
		}
		if mode == gateway.Failover && !slices.Equal(reused.Order, available) {
			t.Fatalf("failover order %v, want %v", reused.Order, available)
		}
		if again := plan(mode, members, seeded(seed)); !slices.Equal(again.Order, reused.Order) {
			t.Fatalf("same input, another plan: %v and %v", again.Order, reused.Order)
		}
	})
}

// Whatever the random source says, no place but the last goes to the one busiest member left.
func TestLeastLoadedNeverTakesTheBusiestFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := memberList().Draw(t, "members")
		order := plan(gateway.LeastLoaded, members, seeded(rapid.Uint64().Draw(t, "seed"))).Order
		for place := 0; place+1 < len(order); place++ {
			here, strictlyBusiest := members[order[place]].Load.Running, true
			for _, other := range order[place+1:] {
				strictlyBusiest = strictlyBusiest && here > members[other].Load.Running
			}
			if strictlyBusiest {
				t.Fatalf("place %d of %v went to the busiest", place, order)
			}
		}
	})
}

func tenMembers() []routing.Member {
	members := make([]routing.Member, gateway.MaxMembers)
	for i := range members {
		members[i] = online(gateway.ID("m"))
		members[i].Load = gateway.Load{CPU: known(float64(20 + i)), Memory: known(50), Running: i % 4}
		members[i].Limits = gateway.EffectiveLimits{CPU: 80, Memory: 90, Concurrency: 40}
	}
	return members
}

func TestPlanDoesNotAllocate(t *testing.T) {
	members, random, route := tenMembers(), seeded(1), routing.Route{}
	for _, mode := range modes {
		routing.Plan(&route, mode, members, random)
		if n := testing.AllocsPerRun(100, func() { routing.Plan(&route, mode, members, random) }); n != 0 {
			t.Errorf("%s: %v allocations", mode, n)
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	for _, mode := range modes {
		b.Run(string(mode), func(b *testing.B) {
			members, route := tenMembers(), routing.Route{}
			b.ReportAllocs()
			for b.Loop() {
				routing.Plan(&route, mode, members, rand.IntN)
			}
		})
	}
}
