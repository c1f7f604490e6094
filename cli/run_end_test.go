package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/schedule"
)

// patience is the time after which a test gives up.
const patience = 5 * time.Minute

// execute runs a command line in this process. Ranks that are not goroutines are processes.
func execute(t *testing.T, args string) (code int, out, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	code, out, said = invoke(ctx, nil, strings.Fields(args)...)
	require.NoError(t, ctx.Err(), "%s hangs: %s", args, said)
	return code, out, said
}

// object runs a command line, which must succeed, and returns the object that --json prints.
func object(t *testing.T, args string) (o runObject) {
	t.Helper()
	code, out, said := execute(t, args+" --json")
	require.Zero(t, code, said)
	require.NoError(t, json.Unmarshal([]byte(out), &o))
	require.True(t, o.Good)
	return o
}

// names returns the algorithms of a collective, or with -short the first alone. The tests of the
// transports run all.
func names(collective string) (out []string) {
	for _, a := range schedule.Algorithms() {
		if a.Collective == collective && (len(out) == 0 || !testing.Short()) {
			out = append(out, a.Name)
		}
	}
	return out
}

// transports returns the transports that work on this machine.
func transports(t *testing.T) []string {
	lo, err := interfaceName("")
	require.NoError(t, err)
	all := []string{overMem, overTCP}
	if crew.CanShare() {
		all = append(all, overShm)
	}
	l := crew.Link{Transport: overMcast, Coordinator: loopback(false), Interface: lo}
	if _, err := l.TryMulticast(t.Context()); err != nil {
		t.Logf("without multicast: %v", err)
		return all
	}
	return append(all, overMcast)
}

// TestBroadcasts runs every broadcast algorithm, with a number of ranks that is not a power of two
// and a root other than 0.
func TestBroadcasts(t *testing.T) {
	t.Parallel()
	for i, alg := range names(schedule.Bcast) {
		for _, transport := range inTurn(transports(t), i) {
			args := fmt.Sprintf("run bcast -p 5 --size 100kB --root 3 --iterations 3 --algorithm %s --transport %s", alg, transport)
			o := object(t, args)
			require.Len(t, o.Ranks, 5)
			require.Len(t, o.SHA256, 64)
			checkOrigins(t, &o, args)
		}
	}
}

// inTurn returns the transports of the i-th of some cases. Every case runs over mem, and each of the
// other transports, whose ranks are processes, runs one of the first cases. Heavy tests run every
// case over all transports.
func inTurn(transports []string, i int) []string {
	if others := transports[1:]; heavy.Tests() {
		return transports
	} else if i < len(others) {
		return []string{transports[0], others[i]}
	}
	return transports[:1]
}

// checkOrigins requires that every rank but the root received every chunk of every iteration, by
// multicast or by put.
func checkOrigins(t *testing.T, o *runObject, args string) {
	t.Helper()
	var most uint64
	for _, r := range o.Ranks {
		most = max(most, r.Mcast+r.Put)
		require.True(t, !strings.Contains(args, "--transport tcp") || r.Mcast == 0, args)
	}
	require.NotZero(t, most, args)
	for _, r := range o.Ranks {
		if r.Rank != 3 {
			require.Equal(t, most, r.Mcast+r.Put, "%s: rank %d", args, r.Rank)
		} else {
			require.Zero(t, r.Mcast+r.Put, "%s: the root receives nothing", args)
		}
	}
}

// TestLoss runs broadcasts that lose no, some or all multicasts. If all are lost, no chunk comes by
// multicast.
func TestLoss(t *testing.T) {
	t.Parallel()
	i := 0
	for _, loss := range losses("0", "0.5", "1") {
		for _, alg := range []string{"bcast/mcast-chain", "bcast/mcast-acktree"} {
			for _, transport := range inTurn(multicasting(t), i) {
				args := fmt.Sprintf("run bcast -p 4 --size 100kB --root 3 --iterations 3 --algorithm %s --transport %s --loss %s", alg, transport, loss)
				o := object(t, args)
				checkOrigins(t, &o, args)
				for _, r := range o.Ranks {
					require.True(t, loss != "1" || r.Mcast == 0, args)
				}
			}
			i++
		}
	}
}

// multicasting returns the transports with losses.
func multicasting(t *testing.T) []string {
	return slices.DeleteFunc(transports(t), func(name string) bool { return name == overTCP || name == overShm })
}

// losses returns three losses, first the one in the middle, or with -short that one alone.
func losses(none, some, all string) []string {
	if testing.Short() {
		return []string{some}
	}
	return []string{some, none, all}
}

func TestDelays(t *testing.T) {
	t.Parallel()
	multicast := slices.DeleteFunc(transports(t), func(name string) bool { return name == overTCP })
	for i, delay := range []string{"adaptive", "random-peer", "fixed", "fixed --root-delay 1us"} {
		for _, transport := range inTurn(multicast, i) {
			object(t, "run bcast -p 3 --size 10kB --iterations 5 --transport "+transport+" --delay "+delay)
		}
	}
}

// TestLossOfBarriers runs barriers that lose no, some or all releases.
func TestLossOfBarriers(t *testing.T) {
	t.Parallel()
	for i, loss := range losses("0", "0.3", "1") {
		for _, transport := range inTurn(multicasting(t), i) {
			o := object(t, fmt.Sprintf("run barrier -p 8 --iterations 20 --algorithm barrier/hsb-mcast --transport %s --loss %s", transport, loss))
			require.Len(t, o.Ranks, 8)
		}
	}
}

func TestBarriers(t *testing.T) {
	t.Parallel()
	for i, alg := range names(schedule.Barrier) {
		for _, transport := range inTurn(transports(t), i) {
			o := object(t, fmt.Sprintf("run barrier -p 6 --iterations 50 --algorithm %s --transport %s", alg, transport))
			require.Len(t, o.Ranks, 6)
			require.Positive(t, o.Slowest.Median)
		}
	}
}

func TestAnycasts(t *testing.T) {
	t.Parallel()
	for i, alg := range names(schedule.Anycast) {
		for _, transport := range inTurn(transports(t), i) {
			for _, size := range []string{"0", "1KiB"} {
				o := object(t, fmt.Sprintf("run anycast -p 5 --messages 50 --size %s --algorithm %s --transport %s", size, alg, transport))
				for _, r := range o.Ranks {
					require.Equal(t, 4*50, r.Received)
				}
			}
		}
	}
}

// TestFileArrives checks that every rank writes the bytes of the input file.
func TestFileArrives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := filepath.Join(dir, "in.bin")
	data := bytes.Repeat([]byte("all bytes count\n"), 12345)
	require.NoError(t, os.WriteFile(in, data, 0o666))
	for i, transport := range transports(t) {
		to := filepath.Join(dir, fmt.Sprint("out", i))
		object(t, fmt.Sprintf("run bcast -p 3 --input %s --output %s --iterations 1 --transport %s", in, to, transport))
		for rank := range 3 {
			got, err := os.ReadFile(filepath.Join(to, fmt.Sprintf("in.bin.rank%d", rank)))
			require.NoError(t, err)
			require.True(t, bytes.Equal(data, got), "%s: rank %d", transport, rank)
		}
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	all := transports(t)
	for i, args := range []string{"-p 4 --size 3MiB --iterations 2", "-p 7 --hosts 2 --size 100kB --iterations 5", "-p 2 --size 0", "-p 1 --size 5", "-p 2 --size 1", "-p 3 --size 3 --chunks 7"} {
		for _, transport := range inTurn(all, i) {
			object(t, "run bcast --transport "+transport+" "+args)
		}
	}
	object(t, "run barrier -p 1 --iterations 3 --transport tcp")
	object(t, "run barrier -p 7 --iterations 3 --hosts 3 --transport mem")
	object(t, "run anycast -p 1 --messages 3 --transport tcp")
	object(t, "run anycast -p 2 --messages 0 --transport mem")
	object(t, "run anycast -p 3 --messages 2 --size 2MiB --transport tcp")
}

func TestIPv6(t *testing.T) {
	l, err := net.Listen("tcp", loopback(true))
	if err != nil {
		t.Skipf("no IPv6: %v", err)
	}
	require.NoError(t, l.Close())
	object(t, "run bcast -p 3 --size 100kB --iterations 2 --ipv6")
	object(t, "run barrier -p 3 --iterations 2 --ipv6 --transport tcp")
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	code, out, said := execute(t, "run bcast -p 2 --size 1 --transport tcp --coordinator "+l.Addr().String())
	require.Equal(t, terminal.Bad, code)
	require.Contains(t, said, fmt.Sprintf("schedgen: --coordinator=%v: ", l.Addr()))
	require.Contains(t, said, "address already in use")
	require.Empty(t, out)
}

// TestRankThatCannotWrite checks the error of a rank that cannot write its file: it names the rank,
// and counts as bad input.
func TestRankThatCannotWrite(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "message.rank1"), 0o777))
	code, _, said := execute(t, "run bcast -p 3 --size 1 --iterations 1 --transport tcp --output "+dir)
	require.Equal(t, terminal.Bad, code)
	require.Contains(t, said, "schedgen: rank 1: --output: ")
}
