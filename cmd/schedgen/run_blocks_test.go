package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

// deliver copies the blocks of all ranks to the ranks that want them, as the collective does.
func deliver(all []*pattern) {
	for _, to := range all {
		for i := range to.wanted.Count {
			for _, from := range all {
				if k := from.held.Index(to.wanted.At(i)); k >= 0 {
					copy(to.received(i), from.sent(k))
				}
			}
		}
	}
}

// TestPatternFindsEveryByte changes every byte of every block in turn, and leaves blocks out. The
// comparison finds each.
func TestPatternFindsEveryByte(t *testing.T) {
	const ranks, size = 4, 3
	for _, row := range moving() {
		t.Run(row.Name, func(t *testing.T) {
			var all []*pattern
			root := 0
			if row.Rooted {
				root = 2
			}
			for rank := range ranks {
				j := &job{Collective: row.Name, Rank: rank, Size: size, Seed: 7, Params: schedule.Params{Ranks: ranks, Root: root}}
				if row.Inputs != nil {
					j.Fold = folding{"sum", "uint8"}
				}
				all = append(all, newPattern(newBuffers(j)))
			}
			require.Equal(t, size, len(all[root].sent(0)))
			compared := func(iteration int) (wrong findings) {
				for _, p := range all {
					p.check(&wrong, iteration)
				}
				return wrong
			}
			for _, b := range all {
				b.prepare(5)
			}
			got := 0
			for _, b := range all {
				got += b.wanted.Count
			}
			require.Equal(t, got, compared(5).Count, "nothing has come")
			if deliver(all); row.Inputs != nil {
				for _, b := range all {
					for i := range b.wanted.Count {
						copy(b.received(i), b.folded(5, b.wanted.At(i), size))
					}
				}
			}
			require.Zero(t, compared(5))
			require.NotZero(t, compared(6).Count, "the blocks of another iteration")
			for rank, b := range all {
				for _, buf := range [][]byte{b.dst, b.src} {
					for k := range buf {
						buf[k] ^= 0x40
						wrong := compared(5)
						require.Equal(t, 1, wrong.Count, "rank %d byte %d", rank, k)
						require.Contains(t, wrong.First, fmt.Sprintf(" as byte %d, not 0x", k%size))
						buf[k] ^= 0x40
					}
				}
			}
		})
	}
}

// TestCountedBlocks checks blocks with their own lengths, some of them 0: they have the same length
// at both ends, and every byte is compared.
func TestCountedBlocks(t *testing.T) {
	for collective, counts := range map[string][]int64{
		"scatter": {3, 0, 5}, "gather": {3, 0, 5}, "allgather": {3, 0, 5}, "alltoall": {1, 2, 0, 4, 5, 0, 7, 8, 9},
	} {
		var all []*pattern
		var wrong findings
		bytes, own := int64(0), int64(0)
		for rank := range 3 {
			j := &job{Collective: collective, Rank: rank, Size: 9, Seed: 7, Counts: counts, Params: schedule.Params{Ranks: 3}}
			b := newPattern(newBuffers(j))
			for i := range b.wanted.Count {
				require.Len(t, b.received(i), int(counts[b.wanted.At(i)]))
				if b.held.Index(b.wanted.At(i)) >= 0 {
					own += counts[b.wanted.At(i)]
				}
			}
			for i := range b.held.Count {
				require.Len(t, b.sent(i), int(counts[b.held.At(i)]))
			}
			bytes += int64(len(b.dst))
			if all = append(all, b); rank == 2 {
				require.Equal(t, bytes-own, j.moved(), collective)
			}
			b.prepare(0)
		}
		deliver(all)
		for _, b := range all {
			b.check(&wrong, 0)
		}
		require.Zero(t, wrong, collective)
		for _, b := range all {
			for k := range b.dst {
				b.dst[k]++
				b.check(&wrong, 0)
				b.dst[k]--
			}
		}
		require.EqualValues(t, bytes, wrong.Count, collective)
	}
}

// TestLengths checks that a list of one length for each rank gives, in an alltoall, the lengths of
// the blocks to that rank.
func TestLengths(t *testing.T) {
	j := job{Collective: "alltoall", Params: schedule.Params{Ranks: 3}}
	require.NoError(t, (&countsFlag{byteCounts{1, 0, 5000}}).set(&j, nil, 3))
	for block, want := range []int64{1, 0, 5000, 1, 0, 5000, 1, 0, 5000} {
		require.Equal(t, want, j.length(block))
	}
	require.Equal(t, "0 B to 5000 B", j.lengths())
	most, err := j.mostBytes(3, 0)
	require.NoError(t, err)
	require.EqualValues(t, 15000, most, "what rank 2 gets")
	j.Counts = []int64{maxMessage, 1, 0}
	_, err = j.mostBytes(3, 0)
	require.ErrorContains(t, err, "--counts: a rank has 3 blocks of more than")
}

// TestBlocksDiffer checks that blocks differ from each other, and from one iteration and run to the
// next.
func TestBlocksDiffer(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(3) {
		p := newPattern(newBuffers(&job{Seed: seed}))
		for iteration := -1; iteration < 3; iteration++ {
			for number := range 3 {
				seen[string(p.block(32, iteration, number))] = true
			}
		}
	}
	require.Len(t, seen, 3*4*3)
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
			cmd.data.size.Size, cmd.runFlags = &size, runFlags{Ranks: &rankRange{3, 3}, Transport: overMem, Timeout: time.Minute}
			s := &session{flags: &cmd.runFlags, std: stdio{Out: &out, Err: io.Discard, Getenv: os.Getenv}}
			r, err := cmd.prepare(t.Context(), s)
			require.NoError(t, err)
			victim := 2
			if row.Held(3, 0, 0).Count == row.Held(3, 0, 1).Count && row.Rooted {
				victim = 0 // only the root receives
			}
			s.wrap = func(tr wire.Transport) wire.Transport {
				if tr.Rank() != victim {
					return tr
				}
				return &flip{Transport: tr, done: new(bool)}
			}
			err = s.finish(t.Context(), r)
			var no *noError
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
		j := job{Collective: collective, Size: 10, Params: schedule.Params{Ranks: 5}}
		most, err := j.mostBytes(5, 0)
		require.NoError(t, err)
		require.Equal(t, want, most, collective)
		j.Size = maxMessage + 1
		_, err = j.mostBytes(5, 0)
		require.ErrorContains(t, err, "--size=", collective)
	}
	for collective, want := range map[string]int64{"scatter": 4, "gather": 4, "allgather": 20, "alltoall": 20} {
		j := job{Collective: collective, Size: 10, Params: schedule.Params{Ranks: 5}}
		require.Equal(t, 10*want, j.moved(), collective)
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
