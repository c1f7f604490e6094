package runtime_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/network"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	_ "github.com/schedgen/schedgen/synth"
)

// racks has two racks whose ranks alternate, and a slow link between them.
const racks = `rank a0 b0 a1 b1
switch a b
link a0 a 1Gbit
link a1 a 1Gbit
link b0 b 1Gbit
link b1 b 1Gbit
link a b 10Mbit`

func parseNetwork(t testing.TB, text string) *network.Network {
	n, err := network.Parse(strings.NewReader(text))
	require.NoError(t, err)
	return n
}

// A communicator uses schedules that are made for its network, and so does its Dup. Communicators of
// other ranks do not.
func TestNetwork(t *testing.T) {
	comms := group(t, 4, mem.Options{NoMulticast: true}, runtime.Config{Network: parseNetwork(t, racks)})
	closed(t, comms)
	const bytesOf = 1 << 16
	gather := func(c *runtime.Comm) error {
		got := make([]byte, c.Size()*bytesOf)
		if err := c.Collective(t.Context(), "allgather", got, bytes.Repeat([]byte{byte(c.Rank())}, bytesOf), 0); err != nil {
			return err
		}
		for r := range c.Size() {
			if !bytes.Equal(got[r*bytesOf:][:bytesOf], bytes.Repeat([]byte{byte(r)}, bytesOf)) {
				return fmt.Errorf("rank %d: block %d is wrong", c.Rank(), r)
			}
		}
		return nil
	}
	uses := func(c *runtime.Comm) string {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return c.Collective(ctx, "allgather", make([]byte, c.Size()*bytesOf), make([]byte, bytesOf), 0).Error()
	}
	require.NoError(t, each(comms, gather))
	dups, splits := make([]*runtime.Comm, 4), make([]*runtime.Comm, 4)
	require.NoError(t, each(comms, func(c *runtime.Comm) (err error) {
		if dups[c.Rank()], err = c.Dup(t.Context()); err != nil {
			return err
		}
		splits[c.Rank()], err = c.Split(t.Context(), 0, 3-c.Rank())
		return err
	}))
	require.NoError(t, each(dups, gather))
	require.NoError(t, each(splits, gather))
	require.Contains(t, uses(comms[1]), "allgather/net-")
	require.Contains(t, uses(dups[1]), "allgather/net-")
	require.NotContains(t, uses(splits[1]), "allgather/net-")
}

func TestNetworkOfOthers(t *testing.T) {
	ts, err := mem.New(3, mem.Options{})
	require.NoError(t, err)
	_, err = runtime.Join(t.Context(), runtime.Config{Transport: ts[0], Network: parseNetwork(t, racks)})
	require.ErrorIs(t, err, runtime.ErrInput)
	require.ErrorContains(t, err, "Config.Network: it has 4 ranks, and there are 3")
	_, err = runtime.Join(t.Context(), runtime.Config{Transport: ts[1], Network: parseNetwork(t, "rank a b c\narc a b 1bit")})
	require.ErrorIs(t, err, runtime.ErrInput)
	require.ErrorContains(t, err, "Config.Network: nothing reaches rank 0 (a) from {b c}")
}

// The file that the environment names counts if there is neither a transport nor a network.
func TestNetworkOfEnvironment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "racks.net")
	require.NoError(t, os.WriteFile(file, []byte(racks), 0o644))
	t.Setenv("SCHEDGEN_NETWORK", file)
	_, err := runtime.Join(t.Context(), runtime.Config{})
	require.ErrorContains(t, err, "Config.Network: it has 4 ranks, and there are 1", "a process that was started alone")
	require.NoError(t, os.WriteFile(file, []byte("rank a a"), 0o644))
	_, err = runtime.Join(t.Context(), runtime.Config{})
	require.ErrorContains(t, err, "SCHEDGEN_NETWORK: "+file+": line 1: rank a: named twice")
	closed(t, group(t, 1, mem.Options{}, runtime.Config{}))
}
