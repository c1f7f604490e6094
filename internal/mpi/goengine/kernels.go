//go:build cgo

package main

import (
	"reflect"

	"github.com/schedgen/schedgen/internal/fold"
	"github.com/schedgen/schedgen/runtime"
)

// Elements and operations that package fold supports, in the order of types.h of the library.
var (
	elements = [...]reflect.Type{
		reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](), reflect.TypeFor[int64](),
		reflect.TypeFor[uint8](), reflect.TypeFor[uint16](), reflect.TypeFor[uint32](), reflect.TypeFor[uint64](),
		reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[complex64](), reflect.TypeFor[complex128](),
		reflect.TypeFor[bool](),
	}
	operations = [...]fold.Op{fold.Sum, fold.Prod, fold.Min, fold.Max, fold.LAnd, fold.LOr, fold.LXor, fold.And, fold.Or, fold.Xor}
)

// anOperation is the name of all folds, because ranks may describe the same elements by different
// types.
const anOperation = "an operation of MPI"

// folds maps the library's numbers, 1 + 10·element + operation, to folds.
var folds = func() (all [1 + len(elements)*len(operations)]*runtime.Fold) {
	for i, typ := range elements {
		for k, op := range operations {
			if kernel, size, err := fold.ForType(op, typ); err == nil {
				all[1+i*len(operations)+k] = &runtime.Fold{Name: anOperation, Element: size, Commutes: true, Exact: op.Exact(typ), Kernel: runtime.Kernel(kernel), Trusted: true}
			}
		}
	}
	return all
}()
