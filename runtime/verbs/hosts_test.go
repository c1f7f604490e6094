//go:build verbs && linux && cgo

package verbs_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/meet/launch"
	"github.com/schedgen/schedgen/internal/test/transporttest"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/verbs"
	"github.com/schedgen/schedgen/schedule"
)

// TestHosts is one of several ranks, each on a host of its own, that all run it with the same
// variables except SCHEDGEN_RANK. It runs every algorithm, those that multicast with lost
// datagrams, in a group joined either way.
func TestHosts(t *testing.T) {
	name := adapter(t)
	if os.Getenv("SCHEDGEN_COORDINATOR") == "" {
		t.Skip("SCHEDGEN_COORDINATOR, _RANK and _SIZE name no ranks on other hosts")
	}
	at, err := launch.Find(os.Getenv)
	require.NoError(t, err)
	for _, a := range schedule.Algorithms() {
		losses := []float64{0}
		if strings.Contains(a.Name, "mcast") {
			losses = []float64{0, 0.01, 0.1, 0.5}
		}
		for _, loss := range losses {
			t.Run(fmt.Sprintf("%s/loss=%v", a.Name, loss), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				m, err := at.Meet(ctx)
				require.NoError(t, err)
				cfg := m.Config(&at)
				cfg.Job = t.Name()
				port := verbs.Config{TCP: cfg, Device: name, Loss: loss, Seed: 1}
				if loss == 0.1 {
					port.Managed()
				}
				tr, err := verbs.Join(ctx, port)
				require.NoError(t, err)
				c, err := runtime.Join(ctx, runtime.Config{Transport: tr, Algorithms: runtime.Algorithms{a.Collective: {Name: a.Name}}})
				require.NoError(t, err)
				exercise := exercises[a.Collective]
				if exercise == nil {
					exercise = moves(a.Collective)
				}
				require.NoError(t, exercise(ctx, c))
				require.NoError(t, c.Close())
			})
		}
	}
}

// exercises covers the collectives that have calls of their own. [moves] covers the others.
var exercises = map[string]func(context.Context, *runtime.Comm) error{
	schedule.Bcast: func(ctx context.Context, c *runtime.Comm) error {
		for i, size := range []int{0, 1, 3000, 100_000, 7, 20_000} {
			want := bytesOf(i, size)
			got, err := c.BcastBytes(ctx, want, i%c.Size()) // the other ranks' bytes are ignored
			if err != nil {
				return err
			}
			if !bytes.Equal(got, want) {
				return fmt.Errorf("broadcast %d brings other bytes", i)
			}
		}
		return nil
	},
	schedule.Barrier: func(ctx context.Context, c *runtime.Comm) error {
		for range 100 {
			if err := c.Barrier(ctx); err != nil {
				return err
			}
		}
		return nil
	},
	schedule.Anycast: func(ctx context.Context, c *runtime.Comm) error {
		const messages = 50
		for i := range messages {
			if err := c.Publish(ctx, bytesOf(c.Rank()*messages+i, 500)); err != nil {
				return err
			}
		}
		for range messages * (c.Size() - 1) {
			m, err := c.Next(ctx)
			if err != nil {
				return err
			}
			if !bytes.Equal(m.Data, bytesOf(m.Origin*messages+int(m.Seq), 500)) {
				return fmt.Errorf("message %d of rank %d has other bytes", m.Seq, m.Origin)
			}
		}
		return c.Barrier(ctx)
	},
}

// moves returns the exercise of a collective that moves or folds blocks: blocks of several sizes,
// from several roots if it has a root. It compares every byte.
func moves(collective string) func(context.Context, *runtime.Comm) error {
	return func(ctx context.Context, c *runtime.Comm) error {
		row, ok := ir.CollectiveNamed(collective)
		if !ok {
			return fmt.Errorf("no collective %q", collective)
		}
		for i, size := range []int{0, 1, 3000, 100_000, 7, 20_000} {
			root := 0
			if row.Rooted {
				root = i % c.Size()
			}
			if row.Inputs != nil {
				if err := transporttest.FoldOnce(ctx, c, &row, i, size/8, root); err != nil {
					return fmt.Errorf("%s %d, of %d numbers: %w", collective, i, size/8, err)
				}
				continue
			}
			content := func(blocks ir.Blocks) (all []byte) {
				for k := range blocks.Count {
					all = append(all, bytesOf(1000*i+blocks.At(k), size)...)
				}
				return all
			}
			src, want := content(row.Held(c.Size(), root, c.Rank())), content(row.Wanted(c.Size(), root, c.Rank()))
			dst := make([]byte, len(want))
			if err := c.Collective(ctx, collective, dst, src, root); err != nil {
				return err
			}
			if !bytes.Equal(dst, want) {
				return fmt.Errorf("%s %d, of blocks of %d bytes, brings other bytes", collective, i, size)
			}
		}
		return c.Barrier(ctx)
	}
}

// bytesOf returns n bytes that depend on i alone.
func bytesOf(i, n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(i), byte(i >> 8)}).Read(b)
	return b
}
