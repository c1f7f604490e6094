package twins

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/schedule"
)

// joining joins runs of ranks that follow each other. A word holds the first and the last rank of a run.
// A rank that is left out, comes twice or comes elsewhere tears the run. It does not commute.
var joining = &runtime.Fold{Name: "join", Element: 8, Kernel: joinRuns}

// adding is a sum, for schedules that do not fold in the order of the ranks.
var adding = &runtime.Fold{Name: "add", Element: 8, Commutes: true, Kernel: func(dst, a, b []byte) {
	for i := 0; i < len(dst); i += 8 {
		binary.LittleEndian.PutUint64(dst[i:], binary.LittleEndian.Uint64(a[i:])+binary.LittleEndian.Uint64(b[i:]))
	}
}}

// torn stands for runs that do not follow each other.
const torn = 1 << 63

func joinRuns(dst, a, b []byte) {
	for i := 0; i < len(dst); i += 8 {
		left, right := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		joined := uint64(torn)
		if left != torn && right != torn && uint32(left)+1 == uint32(right>>32) {
			joined = left>>32<<32 | right&0xffffffff
		}
		binary.LittleEndian.PutUint64(dst[i:], joined)
	}
}

// Generated code folds: every rank gets the contributions that it wants, each once, and in the order
// of the ranks where the schedule has it.
func TestGeneratedFolds(t *testing.T) {
	ran := 0
	for _, tw := range folding {
		h := &tw.generated.Header
		t.Run(fmt.Sprintf("%s/%s", h.Name(), tw.name), func(t *testing.T) {
			ts, err := mem.New(h.Ranks, mem.Options{Seed: 1, Loss: 0.2, Reorder: 0.2})
			require.NoError(t, err)
			var wg sync.WaitGroup
			for _, tr := range mem.Transports(ts) {
				wg.Go(func() {
					c, err := runtime.Join(t.Context(), runtime.Config{Transport: tr})
					if !assert.NoError(t, err) {
						return
					}
					assert.NoError(t, c.Use(tw.generated))
					for _, n := range []int{1, 13, 3000} {
						assert.NoError(t, fold(t, c, tw, n))
					}
					assert.NoError(t, c.Barrier(t.Context()))
					assert.NoError(t, c.Close())
				})
			}
			wg.Wait()
		})
		ran++
	}
	require.NotZero(t, ran)
	t.Logf("%d schedules fold", ran)
}

func inOrder(name string) bool {
	return slices.ContainsFunc(schedule.Algorithms(), func(a schedule.Algorithm) bool { return a.Name == name && a.RankOrder })
}

// fold calls the collective of generated code with blocks of n words, and compares what this rank gets.
func fold(t *testing.T, c *runtime.Comm, tw twin, n int) error {
	h := &tw.generated.Header
	row := h.Row()
	op, one := adding, func(rank int) uint64 { return 1 << (8 * rank) }
	if inOrder(h.Name()) {
		op, one = joining, func(rank int) uint64 { return uint64(rank)<<32 | uint64(rank) }
	}
	repeated := func(word uint64, times int) []byte {
		return bytes.Repeat(binary.LittleEndian.AppendUint64(nil, word), times)
	}
	src := repeated(one(c.Rank()), n*row.Inputs(h.Ranks))
	src = append(src, repeated(0xa5, n*row.Held(h.Ranks, h.Root, c.Rank()).Count)...)
	var want []byte
	wanted := row.Wanted(h.Ranks, h.Root, c.Rank())
	for i := range wanted.Count {
		block := wanted.At(i)
		var total []byte
		if block < row.Question {
			total = repeated(0xa5, n)
		}
		for rank := range row.Folded(h.Ranks, block) {
			if total == nil {
				total = repeated(one(rank), n)
				continue
			}
			op.Kernel(total, total, repeated(one(rank), n))
		}
		want = append(want, total...)
	}
	dst := make([]byte, len(want))
	err := c.Do(t.Context(), runtime.Call{Collective: h.Collective, Dst: dst, Src: src, Root: h.Root, Fold: op})
	if err == nil && !bytes.Equal(dst, want) {
		err = fmt.Errorf("rank %d of %s: another result", c.Rank(), h.Name())
	}
	return err
}
