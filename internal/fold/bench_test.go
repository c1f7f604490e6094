package fold

import (
	"bytes"
	"fmt"
	"testing"
)

// BenchmarkKernels folds into the left operand and into a third vector, in the cache of a core and
// far beyond it, and compares with copy of the same number of bytes:
//
//	go test ./internal/fold -run '^$' -bench Kernels/sum-float
func BenchmarkKernels(b *testing.B) {
	for _, size := range []int{8 << 10, 64 << 20} {
		left, right, third := bytes.Repeat([]byte{1}, size), bytes.Repeat([]byte{2}, size), bytes.Repeat([]byte{3}, size)
		measure := func(what string, dst []byte, k Kernel) {
			b.Run(fmt.Sprintf("%s/%d", what, size), func(b *testing.B) {
				b.SetBytes(int64(size))
				for b.Loop() {
					k(dst, left, right)
				}
			})
		}
		measure("copy", left, func(dst, _, b []byte) { copy(dst, b) })
		each(func(op code, c class) {
			if typ := typeOf[c].String(); testing.Short() && typ != "float64" {
				return
			}
			name := fmt.Sprintf("%s-%v", allOps[op-1], typeOf[c])
			measure(name+"/left", left, kernels()[op][c])
			measure(name+"/apart", third, kernels()[op][c])
			measure(name+"/Go", left, plainKernels[op][c])
		})
	}
}

// BenchmarkOne folds a single element, and finds a kernel.
func BenchmarkOne(b *testing.B) {
	x, y := make([]byte, 8), make([]byte, 8)
	b.Run("fold", func(b *testing.B) {
		k, _, _ := For[float64](Sum)
		for b.Loop() {
			k(x, x, y)
		}
	})
	b.Run("find", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _, _ = For[float64](Sum)
		}
	})
}
