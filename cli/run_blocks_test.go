package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// moving returns the collectives of the kind blocks.
func moving() (rows []ir.Collective) {
	for _, row := range ir.Collectives() {
		if kindOf(&row) == &kinds.blocks {
			rows = append(rows, row)
		}
	}
	return rows
}

// TestKinds checks that every collective has a kind, and so a verb.
func TestKinds(t *testing.T) {
	require.Equal(t, &kinds.message, kindOf(rowOf("bcast")))
	require.Equal(t, &kinds.synchronizing, kindOf(rowOf("barrier")))
	require.Equal(t, &kinds.published, kindOf(rowOf("anycast")))
	for _, name := range []string{"scatter", "gather", "allgather", "alltoall"} {
		require.Equal(t, &kinds.blocks, kindOf(rowOf(name)), name)
	}
	require.Len(t, runnable(), len(ir.Collectives()))
	require.Nil(t, kindOf(rowOf("nothing")))
	require.Equal(t, "bcast", verbOf("nothing"))
	require.Equal(t, "bcast", verbOf("anycast"), "a message from a file is one of its origin")
	require.Equal(t, "alltoall", verbOf("alltoall"))
}

// TestLengths checks that a list of one length for each rank gives, in an alltoall, the lengths of
// the blocks to that rank.
func TestLengths(t *testing.T) {
	j := crew.Job{Collective: "alltoall", Params: schedule.Params{Ranks: 3}}
	require.NoError(t, (&countsFlag{byteCounts{1, 0, 5000}}).set(&j, nil, 3))
	for block, want := range []int64{1, 0, 5000, 1, 0, 5000, 1, 0, 5000} {
		require.Equal(t, want, j.Length(block))
	}
	require.Equal(t, "0 B to 5000 B", lengths(&j))
	most, err := mostBytes(&j, 3, 0)
	require.NoError(t, err)
	require.EqualValues(t, 15000, most, "what rank 2 gets")
	require.EqualValues(t, 2*5001, movedBytes(&j), "all blocks but those that ranks have for themselves")
	j.Counts = []int64{maxMessage, 1, 0}
	_, err = mostBytes(&j, 3, 0)
	require.ErrorContains(t, err, "--counts: a rank has 3 blocks of more than")
}

// TestFlippedBitInABlockIsNotAccepted flips one bit in one block at one rank. The run fails with
// exit code 1 for every collective.
func TestFlippedBitInABlockIsNotAccepted(t *testing.T) {
	size := byteSize(1000)
	for _, row := range moving() {
		t.Run(row.Name, func(t *testing.T) {
			var out bytes.Buffer
			cmd := newCollectiveCmd(row, &kinds.blocks)
			cmd.data.fold = foldFlags{Op: "sum", Type: "uint8"}
			cmd.data.size.Size, cmd.runFlags = &size, runFlags{Ranks: &source.Ranks{Lo: 3, Hi: 3}, Transport: overMem, Timeout: time.Minute}
			s := &session{flags: &cmd.runFlags, std: terminal.Stdio{Out: &out, Err: io.Discard, Getenv: os.Getenv}}
			r, err := cmd.prepare(t.Context(), s)
			require.NoError(t, err)
			victim := 2
			if row.Held(3, 0, 0).Count == row.Held(3, 0, 1).Count && row.Rooted {
				victim = 0 // only the root receives
			}
			s.Wrap = func(tr wire.Transport) wire.Transport {
				if tr.Rank() != victim {
					return tr
				}
				return &flip{Transport: tr, done: new(bool)}
			}
			err = s.finish(t.Context(), r)
			var no *terminal.NoError
			require.ErrorAs(t, err, &no)
			require.ErrorContains(t, err, "wrong data: found at ")
			require.ErrorContains(t, err, ": iteration 0: received block ")
			require.Contains(t, out.String(), fmt.Sprintf("rank %d: WRONG 1 times", victim)) // and other ranks, if the victim passes the block on
			require.NotContains(t, out.String(), "every byte")
		})
	}
}

// TestMostBytes checks the bytes of the largest buffer of a rank, which decide whether blocks are
// too large.
func TestMostBytes(t *testing.T) {
	for collective, want := range map[string]int64{"scatter": 50, "gather": 50, "allgather": 50, "alltoall": 50, "bcast": 10} {
		j := crew.Job{Collective: collective, Size: 10, Params: schedule.Params{Ranks: 5}}
		most, err := mostBytes(&j, 5, 0)
		require.NoError(t, err)
		require.Equal(t, want, most, collective)
		j.Size = maxMessage + 1
		_, err = mostBytes(&j, 5, 0)
		require.ErrorContains(t, err, "--size=", collective)
	}
	for collective, want := range map[string]int64{"scatter": 4, "gather": 4, "allgather": 20, "alltoall": 20} {
		j := crew.Job{Collective: collective, Size: 10, Params: schedule.Params{Ranks: 5}}
		require.Equal(t, 10*want, movedBytes(&j), collective)
	}
}

// TestVerbsHelpNamesThem checks that the help of every verb names its own collective and no other.
func TestVerbsHelpNamesThem(t *testing.T) {
	for _, name := range runnable() {
		code, out, said := invoke(t.Context(), nil, "run", name, "--help")
		require.Zero(t, code, said)
		require.Contains(t, out, "schedgen run "+name+" -p ")
		for _, other := range runnable() {
			require.False(t, other != name && strings.Contains(out, "run "+other+" "), "%s names %s", name, other)
		}
	}
}
