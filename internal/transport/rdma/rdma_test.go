package rdma_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/test/transporttest"
	"github.com/schedgen/schedgen/internal/transport/rdma"
	"github.com/schedgen/schedgen/runtime/wire"
)

func TestMain(m *testing.M) {
	heavy.Rapid("30")
	goleak.VerifyTestMain(m)
}

func TestFrames(t *testing.T) { transporttest.Frames(t, connect(rdma.Config{})) }

func TestCommunicators(t *testing.T) { transporttest.Communicators(t, connect(rdma.Config{})) }

// TestComm loses datagrams.
func TestComm(t *testing.T) { transporttest.CommDaily(t, connect(rdma.Config{Loss: 0.2, Seed: 1})) }

func TestCommQuiet(t *testing.T) {
	heavy.Needs(t, heavy.Transports) // otherwise as TestComm, but for the losses
	transporttest.CommSample(t, connect(rdma.Config{}))
}

func TestSplit(t *testing.T) { transporttest.SplitDaily(t, connect(rdma.Config{})) }

// connect returns a function that makes transports over a fabric.
func connect(base rdma.Config) transporttest.Make {
	return func(t testing.TB, size int) []wire.Transport {
		n := rdma.NewFabric()
		trs, errs := rdma.JoinAll(t, size, func(_ int, c *rdma.Config) {
			c.Loss, c.Seed = base.Loss, base.Seed
			c.Open = n.Open(1024, true)
		})
		require.NoError(t, errors.Join(errs...))
		t.Cleanup(func() { require.Zero(t, n.Starved, "messages for which no buffer was posted") })
		var list []wire.Transport
		for _, tr := range trs {
			list = append(list, tr)
		}
		return list
	}
}
