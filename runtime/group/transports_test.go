package group_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/runtime/group"
	"github.com/schedgen/schedgen/runtime/hybrid"
	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

func meets(m group.Meeting) tcp.Config {
	return tcp.Config{Rank: m.Rank, Size: m.Size, Job: m.Job, Coordinator: m.Coordinator, Listener: m.Listener}
}

// Members come, leave and die over every transport.
func TestEveryTransport(t *testing.T) {
	for name, connect := range map[string]func(context.Context, group.Meeting) (wire.Transport, error){
		"multicast": func(ctx context.Context, m group.Meeting) (wire.Transport, error) {
			return mcast.Join(ctx, mcast.Config{TCP: meets(m), Interface: "lo"})
		},
		"shared memory": func(ctx context.Context, m group.Meeting) (wire.Transport, error) {
			return hybrid.Join(ctx, hybrid.Config{TCP: meets(m)})
		},
		"both": func(ctx context.Context, m group.Meeting) (wire.Transport, error) {
			return hybrid.Join(ctx, hybrid.Config{TCP: meets(m), Mcast: &mcast.Config{Interface: "lo"}, Host: string(rune('a' + m.Rank%2))})
		},
	} {
		t.Run(name, func(t *testing.T) { changes(t, connect) })
	}
}

// changes makes a member publish while one leaves, one dies and one comes. Then all run an
// operation together.
func changes(t *testing.T, connect func(context.Context, group.Meeting) (wire.Transport, error)) {
	defer goleak.VerifyNone(t)
	const messages = 300
	c := &crowd{town: newTown(t), logs: map[*group.Group]*log{}}
	c.edit = func(cfg *group.Config) {
		impatient(cfg)
		cfg.Connect = connect
	}
	defer c.close()
	for _, g := range c.joinAll(5) {
		c.add(g)
	}
	var publishing sync.WaitGroup
	publishing.Go(func() { c.publish(c.groups[1], messages) })
	require.NoError(t, c.groups[4].Leave(c.ctx))
	group.Die(c.groups[0])
	stay := c.groups[1:4]
	for _, g := range stay {
		c.until(g, 3)
	}
	c.add(c.join())
	stay = append(stay[:3:3], c.groups[5])
	publishing.Wait()
	for _, g := range stay[1:3] {
		require.NoError(t, c.logs[g].await(c.ctx, c.groups[1].Self().ID, messages))
		gapless(t, c.logs[g].messages(c.groups[1].Self().ID))
	}
	var wg sync.WaitGroup
	for _, g := range stay {
		wg.Go(func() {
			if sizes, err := worker(c.town, g, func() bool { return len(g.View().Members) == 4 }); err != nil || sizes[len(sizes)-1] != 4 {
				t.Errorf("after %v: %v", sizes, err)
			}
		})
	}
	wg.Wait()
}
