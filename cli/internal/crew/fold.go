package crew

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"sync"

	"github.com/schedgen/schedgen/internal/fold"
	"github.com/schedgen/schedgen/runtime"
)

// Folding holds the names of the operation and the type of a job's folds. The zero value means that
// nothing is folded.
type Folding struct {
	Op, Type string
}

// foldOps are the operations by their names.
var foldOps = sync.OnceValue(func() map[string]fold.Op {
	ops := make(map[string]fold.Op)
	for _, op := range []fold.Op{fold.Sum, fold.Prod, fold.Min, fold.Max, fold.And, fold.Or, fold.Xor, fold.LAnd, fold.LOr, fold.LXor} {
		ops[op.Name()] = op
	}
	return ops
})

// element is a type of elements, and the function that makes an element from a byte. The elements
// are small, so that sums of many, and products of few, are exact in any order.
type element struct {
	typ  reflect.Type
	make func(to []byte, from byte)
}

var elements = map[string]element{
	"int8":       {reflect.TypeFor[int8](), func(to []byte, from byte) { to[0] = from }},
	"int16":      {reflect.TypeFor[int16](), func(to []byte, from byte) { binary.NativeEndian.PutUint16(to, uint16(int16(int8(from)))) }},
	"int32":      {reflect.TypeFor[int32](), func(to []byte, from byte) { binary.NativeEndian.PutUint32(to, uint32(int32(int8(from)))) }},
	"int64":      {reflect.TypeFor[int64](), func(to []byte, from byte) { binary.NativeEndian.PutUint64(to, uint64(int64(int8(from)))) }},
	"uint8":      {reflect.TypeFor[uint8](), func(to []byte, from byte) { to[0] = from }},
	"uint16":     {reflect.TypeFor[uint16](), func(to []byte, from byte) { binary.NativeEndian.PutUint16(to, uint16(from)) }},
	"uint32":     {reflect.TypeFor[uint32](), func(to []byte, from byte) { binary.NativeEndian.PutUint32(to, uint32(from)) }},
	"uint64":     {reflect.TypeFor[uint64](), func(to []byte, from byte) { binary.NativeEndian.PutUint64(to, uint64(from)) }},
	"float32":    {reflect.TypeFor[float32](), putFloat32},
	"float64":    {reflect.TypeFor[float64](), putFloat64},
	"complex64":  {reflect.TypeFor[complex64](), func(to []byte, from byte) { putFloat32(to, from>>4); putFloat32(to[4:], from&15) }},
	"complex128": {reflect.TypeFor[complex128](), func(to []byte, from byte) { putFloat64(to, from>>4); putFloat64(to[8:], from&15) }},
	"bool":       {reflect.TypeFor[bool](), func(to []byte, from byte) { to[0] = from & 1 }},
}

func putFloat32(to []byte, from byte) {
	binary.NativeEndian.PutUint32(to, math.Float32bits(float32(int8(from))))
}

func putFloat64(to []byte, from byte) {
	binary.NativeEndian.PutUint64(to, math.Float64bits(float64(int8(from))))
}

// FoldOps returns the names of the operations that fold, in alphabetical order.
func FoldOps() []string { return slices.Sorted(maps.Keys(foldOps())) }

// FoldTypes returns the names of the types of elements, in alphabetical order.
func FoldTypes() []string { return slices.Sorted(maps.Keys(elements)) }

// Fold returns the fold for the runtime, or an error if the operation is not defined for the type.
func (f Folding) Fold() (*runtime.Fold, error) {
	op, known := foldOps()[f.Op]
	e, is := elements[f.Type]
	if !known || !is {
		return nil, fmt.Errorf("no operation %q of %q", f.Op, f.Type)
	}
	kernel, size, err := fold.ForType(op, e.typ)
	if err != nil {
		return nil, err
	}
	return &runtime.Fold{Name: f.Op + " of " + f.Type, Element: size, Commutes: op.Commutative(), Exact: op.Exact(e.typ), Kernel: runtime.Kernel(kernel), Trusted: !op.Custom()}, nil
}

// values writes elements to the bytes of to. It makes each from the first of the bytes of made at
// its place. For products the elements are 1, 2 and their negatives; others would make large
// products inexact.
func (f Folding) values(to, made []byte) {
	e := elements[f.Type]
	size := int(e.typ.Size())
	for i := 0; i < len(to); i += size {
		b := made[i]
		if f.Op == "prod" {
			b = [4]byte{1, 2, 255, 254}[b%4]
		}
		e.make(to[i:i+size], b)
	}
}

// markContributions sets the first and the last element of each contributed or held block to a
// value that depends on the iteration, the block and, for contributions, the rank.
func (b *buffers) markContributions(iteration int) {
	inputs := b.job.Row().Inputs(b.job.Params.Ranks)
	for i := range b.held.Count {
		mark := iteration + b.held.At(i)
		if i < inputs {
			mark += b.job.Rank
		}
		b.markElements(b.sent(i), mark)
	}
}

// markElements sets the first and the last element of a block to a value that depends on mark.
func (b *buffers) markElements(block []byte, mark int) {
	if n := b.fold.Element; len(block) > 0 {
		b.job.Fold.values(block[:n], bytes.Repeat([]byte{byte(mark & 7)}, n))
		copy(block[len(block)-n:], block[:n])
	}
}

// checkElements reports whether the first and the last element of a block are folded from the
// marked elements of all ranks.
func (b *buffers) checkElements(block []byte, iteration, number int) bool {
	if len(block) == 0 {
		return true
	}
	row, n := b.job.Row(), b.fold.Element
	want, x := make([]byte, n), make([]byte, n)
	if number < row.Question {
		b.markElements(want, iteration+row.Inputs(b.job.Params.Ranks)+number)
	}
	for rank := range row.Folded(b.job.Params.Ranks, number) {
		b.markElements(x, iteration+rank+number%row.Inputs(b.job.Params.Ranks))
		if rank == 0 {
			copy(want, x)
			continue
		}
		b.fold.Kernel(want, want, x)
	}
	return bytes.Equal(block[:n], want) && bytes.Equal(block[len(block)-n:], want)
}
