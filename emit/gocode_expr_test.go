package emit

import (
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever is built of expressions and put into them, what it is simplified to
// has the same value, and so has its spelling in Go.
func TestExpressionsAreSimplifiedRight(t *testing.T) {
	variables := []variable{varRank, varK, varSlot}
	rapid.Check(t, func(t *rapid.T) {
		at := env{layout: &layout{ranks: 7}}
		n := &spelling{used: make(map[op]bool)}
		for _, v := range variables {
			at.vars[v] = rapid.IntRange(0, 9).Draw(t, "value")
			n.vars[v] = strconv.Itoa(at.vars[v])
		}
		simple, plain := drawExpr(t, variables, 4)
		v, by := rapid.SampledFrom(variables).Draw(t, "replaced"), rapid.IntRange(0, 9).Draw(t, "by")
		if rapid.Bool().Draw(t, "replace") {
			simple = simple.put(v, lit(by))
			at.vars[v], n.vars[v] = by, strconv.Itoa(by)
		}
		bad := at
		want := plain.at(&bad)
		if bad.bad {
			return
		}
		require.Equal(t, want, simple.at(&at))
		require.False(t, at.bad)
		pkg := types.NewPackage("p", "p")
		pkg.Scope().Insert(types.NewConst(token.NoPos, pkg, "Ranks", types.Typ[types.UntypedInt], constant.MakeInt64(7)))
		got, err := types.Eval(token.NewFileSet(), pkg, token.NoPos, n.text(simple))
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(want), got.Value.String(), n.text(simple))
	})
}

// drawExpr draws an expression, and the same without simplification.
func drawExpr(t *rapid.T, variables []variable, depth int) (simple, plain *expr) {
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			e := variableOf(rapid.SampledFrom(variables).Draw(t, "variable"))
			return e, e
		case 1:
			e := &expr{op: opRanks}
			return e, e
		}
		e := lit(rapid.IntRange(-3, 5).Draw(t, "literal"))
		return e, e
	}
	a, plainA := drawExpr(t, variables, depth-1)
	b, plainB := drawExpr(t, variables, depth-1)
	o := rapid.SampledFrom([]op{opMul, opDiv, opMod, opAnd, opAdd, opAdd, opSub, opSub, opXor, opMin, opMax}).Draw(t, "op")
	if o == opMin || o == opMax {
		return &expr{op: o, args: []*expr{a, b}}, &expr{op: o, args: []*expr{plainA, plainB}}
	}
	return of2(o, a, b), &expr{op: o, args: []*expr{plainA, plainB}}
}
