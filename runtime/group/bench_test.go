package group_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/group"
	"github.com/schedgen/schedgen/runtime/membership"
	"github.com/schedgen/schedgen/runtime/membership/embedded"
)

// members returns a group over TCP.
func members(b *testing.B, n int) []*group.Group {
	var seeds []string
	groups := make([]*group.Group, n)
	for i := range groups {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(b, err)
		m, err := embedded.New(embedded.Config{Group: b.Name(), Listener: l, Seeds: seeds, TTL: 10 * time.Second})
		require.NoError(b, err)
		seeds = append(seeds, m.Addr())
		groups[i], err = group.Join(b.Context(), group.Config{Name: "g", Address: "127.0.0.1:0", Manager: m, Connect: overTCP})
		require.NoError(b, err)
		b.Cleanup(func() { groups[i].Close() })
	}
	for _, g := range groups {
		for v := g.View(); len(v.Members) != n; {
			var err error
			v, err = g.Await(b.Context(), v.Epoch)
			require.NoError(b, err)
		}
	}
	return groups
}

// BenchmarkPublish times one member's messages to three others.
func BenchmarkPublish(b *testing.B) {
	groups := members(b, 4)
	msg := make([]byte, 64)
	var wg sync.WaitGroup
	for _, g := range groups[1:] {
		wg.Go(func() {
			for range b.N {
				if _, err := g.Next(b.Context()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		require.NoError(b, groups[0].Publish(b.Context(), msg))
	}
	wg.Wait()
}

// BenchmarkAdvance times Advance without a newer view.
func BenchmarkAdvance(b *testing.B) {
	groups := members(b, 4)
	var wg sync.WaitGroup
	b.ResetTimer()
	for _, g := range groups {
		wg.Go(func() {
			for range b.N {
				if _, err := g.Advance(b.Context()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkView times a change of the view of four members, from the request until all have begun
// it.
func BenchmarkView(b *testing.B) {
	groups := members(b, 4)
	now := groups[0].View()
	b.ResetTimer()
	for range b.N {
		require.NoError(b, group.Renew(b.Context(), groups[1]))
		next := membership.View{}
		for _, g := range groups {
			var err error
			next, err = g.Await(context.Background(), now.Epoch)
			require.NoError(b, err)
		}
		now = next
	}
}
