package schedgen

import (
	"reflect"

	"github.com/schedgen/schedgen/internal/fold"
	"github.com/schedgen/schedgen/runtime"
)

// Op is an operation that folds two elements into one, such as [Sum]. All ranks of a collective
// pass the same operation. The zero Op is no operation.
type Op struct {
	op *fold.Op
}

// These are the operations. Sum and Prod are for numbers, and Sum is also for [Exact]. Min and Max
// are for all numbers except complex ones. And, Or and Xor are for the bits of integers and for
// bools. LAnd, LOr and LXor treat every value but zero as true, and give 1 or 0. MinLoc and MaxLoc
// are for [Loc]. A named type counts as its underlying type: type Celsius float64 is added like
// float64.
//
// Integers wrap around. Floating-point numbers follow IEEE 754. A sum of two NaNs is the left one.
// Min and Max of a NaN and a number are the NaN. -0 is less than +0.
var (
	Sum    = Op{&fold.Sum}
	Prod   = Op{&fold.Prod}
	Min    = Op{&fold.Min}
	Max    = Op{&fold.Max}
	And    = Op{&fold.And}
	Or     = Op{&fold.Or}
	Xor    = Op{&fold.Xor}
	LAnd   = Op{&fold.LAnd}
	LOr    = Op{&fold.LOr}
	LXor   = Op{&fold.LXor}
	MinLoc = Op{&fold.MinLoc}
	MaxLoc = Op{&fold.MaxLoc}
)

// Loc is a value and its index, for [MinLoc] and [MaxLoc]. The result has the least, or the
// greatest, value. If several values are equal, the result is the one with the least index.
type Loc[T any] struct {
	Value T     // compared first
	Index int64 // the program's choice, such as a rank or a position
}

// Func returns an operation that the program defines. For all i, f puts into dst[i] the fold of
// dst[i], the left operand, and src[i], the right one. Both slices have the same length. f must be
// associative, and commutative if commutative is true. If it is false, contributions are folded in
// the order of the ranks; for [Ask], this order begins at the rank that asks. Ranks compare names,
// because they cannot compare functions. T is the type of the elements.
//
// f may be called with parts of the vector, in any order. If the program has several communicators,
// several goroutines may call f at a time. f must not call a communicator, which would wait for
// itself, and must not end its goroutine, as t.FailNow does.
//
// If f panics, the collective, or Request.Wait, panics at this rank with the same text and f's
// stack. The communicator has then failed, and the other ranks get ErrAborted with the text.
func Func[T any](name string, commutative bool, f func(dst, src []T)) Op {
	op := fold.Func(name, commutative, f)
	return Op{&op}
}

// String returns the name of the operation.
func (o Op) String() string {
	if o.op == nil {
		return "no operation"
	}
	return o.op.Name()
}

// folds has the last operations of a communicator, with the types of their elements. So the fold
// for a call is made once.
type folds [8]foldOf

type foldOf struct {
	op   *fold.Op
	typ  reflect.Type
	fold *runtime.Fold
}

// foldFor returns the fold of elements of type T by o.
func foldFor[T any](c *Comm, o Op) (*runtime.Fold, error) {
	typ := reflect.TypeFor[T]()
	c.folding.Lock()
	defer c.folding.Unlock()
	for i := range c.folds {
		if f := &c.folds[i]; f.op == o.op && f.typ == typ && f.fold != nil {
			return f.fold, nil
		}
	}
	var op fold.Op
	exact := false
	switch {
	case o.op == Sum.op && typ == reflect.TypeFor[Exact]():
		op, exact = addExact, true
	case o.op != nil:
		op = *o.op
		exact = op.Exact(typ)
	}
	kernel, size, err := fold.ForType(op, typ)
	if err != nil {
		return nil, err
	}
	made := &runtime.Fold{Name: op.Name() + " of " + typ.String(), Element: size, Commutes: op.Commutative(), Exact: exact, Kernel: runtime.Kernel(kernel), Trusted: !op.Custom()}
	copy(c.folds[1:], c.folds[:])
	c.folds[0] = foldOf{o.op, typ, made}
	return made, nil
}
