package runtime_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/runtime/mem"
)

// flood is a schedule of any collective: each rank that holds a chunk puts it to all ranks that
// want it. bundle is how many chunks to one rank share a message.
func flood(t require.TestingT, collective string, ranks, root, per int, bundle bool) *machine.Schedule {
	h := ir.Header{Collective: collective, Algorithm: "flood", Ranks: ranks, Root: root}
	h.Chunks = h.Blocks() * per
	s := &ir.Schedule{Header: h}
	for rank := range ranks {
		p := ir.Program{Rank: rank}
		held := h.Held(rank)
		for to := range ranks {
			var chunks []ir.Slot
			wanted, theirs := h.Wanted(to), h.Held(to)
			for k := range held.All() {
				if to != rank && wanted.Has(k) && !theirs.Has(k) {
					chunks = append(chunks, ir.Chunk(k))
				}
			}
			for len(chunks) > 0 {
				n := 1
				if bundle {
					n = len(chunks)
				}
				p.Rules = append(p.Rules, ir.Rule{When: []ir.Slot{ir.Enter}, Do: ir.PutAll(to, chunks[:n]...)})
				chunks = chunks[n:]
			}
		}
		wanted := h.Wanted(rank)
		for k := range wanted.All() {
			if !held.Has(k) {
				p.Done = append(p.Done, ir.Chunk(k))
			}
		}
		if p.Done == nil {
			p.Done = []ir.Slot{ir.Enter}
		}
		s.Programs = append(s.Programs, p)
	}
	ready, err := machine.Of(s)
	require.NoError(t, err)
	return ready
}

// blocks returns the bytes of blocks of n bytes each. Every block of every round has its own
// content.
func blocks(h *ir.Header, of ir.Blocks, n, round int) []byte {
	var all []byte
	for i := range of.Count {
		one := fmt.Sprintf("%s, round %d, block %d.", h.Collective, round, of.At(i))
		all = append(all, bytes.Repeat([]byte(one), n/len(one)+1)[:n]...)
	}
	return all
}

// Every collective of the table brings every rank the blocks that it wants, for any length, number
// of ranks, root and number of chunks per block.
func TestCollectives(t *testing.T) {
	for _, row := range ir.Collectives() {
		if row.Blocks == nil || row.Published || row.Inputs != nil { // see TestFolds for what folds
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				ranks := rapid.IntRange(1, 7).Draw(rt, "ranks")
				root := 0
				if row.Rooted {
					root = rapid.IntRange(0, ranks-1).Draw(rt, "root")
				}
				n := rapid.SampledFrom([]int{0, 1, 2, 7, 100, 5000, 70_000}).Draw(rt, "bytes of a block")
				s := flood(rt, row.Name, ranks, root, rapid.IntRange(1, 4).Draw(rt, "chunks of a block"), rapid.Bool().Draw(rt, "bundles"))
				comms := group(t, ranks, mem.Options{}, runtime.Config{})
				require.NoError(rt, each(comms, func(c *runtime.Comm) error {
					if err := c.Use(s); err != nil {
						return err
					}
					held, wanted := row.Held(ranks, root, c.Rank()), row.Wanted(ranks, root, c.Rank())
					for round := range 3 {
						src, dst := blocks(&s.Header, held, n, round), make([]byte, wanted.Count*n)
						if err := c.Collective(t.Context(), row.Name, dst, src, root); err != nil {
							return err
						}
						if !bytes.Equal(dst, blocks(&s.Header, wanted, n, round)) {
							return fmt.Errorf("rank %d, round %d: the blocks are not those that were sent", c.Rank(), round)
						}
						if !bytes.Equal(src, blocks(&s.Header, held, n, round)) {
							return fmt.Errorf("rank %d, round %d: src was written", c.Rank(), round)
						}
					}
					return c.Barrier(t.Context())
				}))
				for _, c := range comms {
					require.NoError(rt, c.Close())
				}
			})
		})
	}
}
