package term_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/internal/ir/term"
	"github.com/schedgen/schedgen/ir"
)

func TestText(t *testing.T) {
	var table term.Table
	a := table.Fold(table.Fold(table.Of(0), table.Of(1)), table.Fold(table.Of(2), table.Of(3)))
	require.Equal(t, "((01)(23))", table.Text(a, 80))
	require.Equal(t, "((01)…", table.Text(a, 8))
	require.Equal(t, "(((01)(23))10)", table.Text(table.Fold(a, table.Of(10)), 80))
	require.Equal(t, "((9 10)(11 9))", table.Text(table.Fold(table.Fold(table.Of(9), table.Of(10)), table.Fold(table.Of(11), table.Of(9))), 80))
	require.Equal(t, "7", table.Text(table.Of(7), 80))
	require.Equal(t, "?", table.Text(table.Fold(a, 0), 80))
}

func TestEqualTermsHaveOneNumber(t *testing.T) {
	var table term.Table
	x, y := table.Of(1), table.Of(2)
	require.Equal(t, table.Fold(x, y), table.Fold(table.Of(1), table.Of(2)))
	require.NotEqual(t, table.Fold(x, y), table.Fold(y, x))
	left, right, ok := table.Parts(table.Fold(x, y))
	require.True(t, ok)
	require.Equal(t, []term.Term{x, y}, []term.Term{left, right})
	require.Equal(t, 2, table.Rank(y))
	require.Equal(t, -1, table.Rank(table.Fold(x, y)))
}

func TestTermsOfASchedule(t *testing.T) {
	s, err := ir.ParseText(strings.NewReader(`schedule allreduce/test ranks=3 chunks=1
rank 0
  enter v0 v1 -> fold c0 = x0 v0 v1
  c0 -> put c0 @1, put c0 @2
  done c0
rank 1
  enter -> put x0 @0 as v0
  done c0
rank 2
  enter -> put x0 @0 as v1
  done c0
`))
	require.NoError(t, err)
	run, err := fixpoint.Run(s, fixpoint.Model{})
	require.NoError(t, err)
	r := term.Of(s, run)
	for rank := range 3 {
		require.Equal(t, "((01)2)", r.Text(r.Slot(rank, ir.Chunk(0)), 80))
	}
	require.Equal(t, "1", r.Text(r.Slot(0, ir.Value(0)), 80))
	require.Zero(t, r.Slot(1, ir.Enter))
}
