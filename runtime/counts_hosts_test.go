package runtime_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/schedule"
)

// Every algorithm brings blocks of different lengths, with any number of hosts, also if every rank
// is its own host. Only a schedule in which a rank passes on blocks that it neither holds nor wants
// refuses them, unless it folds: then all ranks know all lengths.
func TestBlocksOfDifferentLengthsOnHosts(t *testing.T) {
	for _, alg := range schedule.Algorithms() {
		row, _ := ir.CollectiveNamed(alg.Collective)
		if !row.TakesCounts() {
			continue
		}
		t.Run(alg.Name, func(t *testing.T) {
			for _, ranks := range heavy.Or([]int{1, 4, 7}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9}) {
				for hosts := range ranks + 1 {
					if hosts > 0 && !slices.Contains(alg.Params, "hosts") {
						break
					}
					for _, chunks := range heavy.Or([]int{0, 3}, []int{0, 1, 2, 3}) {
						params := schedule.Params{Hosts: hosts, Chunks: chunks}
						countsOnHosts(t, &row, ranks, runtime.Algorithm{Name: alg.Name, Params: params})
					}
				}
			}
		})
	}
}

func countsOnHosts(t *testing.T, row *ir.Collective, ranks int, a runtime.Algorithm) {
	cfg := runtime.Config{Algorithms: runtime.Algorithms{row.Name: a}}
	lengths := make([]int, row.Blocks(ranks))
	for i := range lengths {
		lengths[i] = []int{3, 0, 0, 7, 1}[i%5]
	}
	virtual(t, ranks, mem.Options{Windows: a.Params.Hosts%2 == 1}, cfg, func(comms []*runtime.Comm) {
		for root := range ranks {
			if root > 0 && !row.Rooted {
				break
			}
			err := each(comms, func(c *runtime.Comm) error {
				call, want := countedCall(row, lengths, ranks, root, c.Rank())
				if err := c.Do(context.Background(), call); err != nil {
					return err
				}
				if !bytes.Equal(call.Dst, want) {
					return fmt.Errorf("rank %d has %v, want %v", c.Rank(), call.Dst, want)
				}
				return nil
			})
			if row.Inputs == nil && passesOn(t, ranks, root, a) {
				require.ErrorIs(t, err, runtime.ErrInput)
				require.ErrorContains(t, err, "pass on blocks whose lengths they do not know")
				continue
			}
			require.NoError(t, err, "%d ranks, root %d, %+v", ranks, root, a)
		}
	})
}

// passesOn reports whether the programs give a rank a block that it neither holds nor wants.
func passesOn(t *testing.T, ranks, root int, a runtime.Algorithm) bool {
	params := a.Params
	params.Ranks, params.Root = ranks, root
	spec, err := schedule.New(a.Name, params)
	require.NoError(t, err)
	h := spec.Header()
	return h.Relays(spec.Program)
}

// countedCall returns a rank's call with blocks of different lengths. Collectives that fold add
// numbers of 8 bytes.
func countedCall(row *ir.Collective, lengths []int, ranks, root, rank int) (call runtime.Call, want []byte) {
	if row.Inputs == nil {
		return counted(row, lengths, ranks, root, rank, 0)
	}
	call = runtime.Call{Collective: row.Name, Root: root, Fold: sums, Counted: true, SrcCounts: lengths}
	for b, n := range lengths {
		for i := range n {
			number := uint64(100*b + i)
			call.Src = binary.LittleEndian.AppendUint64(call.Src, number*uint64(rank+1))
			if b == rank {
				want = binary.LittleEndian.AppendUint64(want, number*uint64(ranks*(ranks+1)/2))
			}
		}
	}
	call.Dst, call.DstCounts = make([]byte, len(want)), slices.Clone(lengths[rank:rank+1])
	return call, want
}
