package golden

import (
	"fmt"
	"slices"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// requireComb checks that the only multicast is a trunk with an arm along the lane of each
// receiver.
func (b *browser) requireComb(ranks int) {
	b.Helper()
	require.Equal(b, 1, ask[int](b, "document.querySelectorAll('#diagram .trunk').length"))
	arms := ask[[][]float64](b, `[...document.querySelectorAll('#diagram .leg.mcast')].map(n => {
		const lane = document.querySelector('.lane[data-rank="' + n.dataset.to + '"] .wire'), s = n.querySelector('.shaft');
		return [s.getAttribute('y1'), s.getAttribute('y2'), lane.getAttribute('y1')].map(Number);
	})`)
	require.Len(b, arms, ranks-1)
	for _, y := range arms {
		require.Equal(b, []float64{y[2], y[2], y[2]}, y)
	}
}

// requireCrossesAtArrival checks that a cross is on the lane of the losing rank, where the copy
// would have arrived.
func (b *browser) requireCrossesAtArrival(n int) {
	b.Helper()
	off := ask[[][]float64](b, `[...document.querySelectorAll('#diagram .leg.lost')].map(n => {
		const lane = document.querySelector('.lane[data-rank="' + n.dataset.to + '"] .wire').getAttribute('y1');
		const box = n.querySelector('.cross').getBBox(), x = view.x[Number(n.dataset.arrive)];
		return [box.y + box.height / 2 - lane, x - (box.x + box.width / 2)];
	})`)
	require.Len(b, off, n)
	for _, d := range off {
		require.InDelta(b, 0, d[0], 0.5, "above or below its lane")
		require.InDelta(b, 0, d[1], 20, "before its arrival")
	}
}

// manySizes opens pages of several numbers of ranks, from one to the largest number shown.
func manySizes(b *browser) {
	for _, ranks := range []int{1, 2, 32} {
		s := made(b.T, "bcast/mcast-acktree", schedule.Params{Ranks: ranks, Chunks: 2})
		b.open(s, emit.Options{})
		b.requireShown(s, nil)
		require.True(b, ask[bool](b, "document.querySelector('#limits').hidden && document.querySelector('#shown').hidden"))
	}
	b.open(made(b.T, "bcast/linear", schedule.Params{Ranks: 32, Chunks: 64}), emit.Options{})
	require.Contains(b, b.text("#limits"), "992 of 1,984 transfers are drawn: the others carry later chunks.")
	require.LessOrEqual(b, ask[int](b, "document.querySelectorAll('#diagram .leg').length"), 1200)
}

// manyRanks opens pages of more ranks than are readable. They show an extract and say so. Daily
// tests open the first algorithm of each collective. TestPicturesOfManyRanks checks the extracts of
// all.
func manyRanks(b *browser) {
	b.open(made(b.T, "barrier/exchange", schedule.Params{Ranks: 100}), emit.Options{})
	seen := map[string]bool{} // the collectives so far
	for _, alg := range schedule.Algorithms() {
		if seen[alg.Collective] && !heavy.Tests() {
			continue
		}
		seen[alg.Collective] = true
		for _, ranks := range heavy.Or([]int{100}, []int{100, 4096}) {
			spec, err := schedule.New(alg.Name, schedule.Params{Ranks: ranks})
			require.NoError(b, err)
			row := alg.Row()
			if alg.CutsItself() && ranks > 100 || row.Blocks != nil && ranks*row.Blocks(ranks) > mostDrawn { // P² puts are too many for a page
				continue
			}
			if _, actions := spec.Size(); actions > 1<<17 {
				continue
			}
			b.replace(spec.Schedule())
			name, widest := fmt.Sprint(alg.Name, " ", ranks), 4000.0
			if alg.CutsItself() { // the names of its messages are lists of chunks
				widest = 9000
			}
			if row.Inputs != nil && row.Blocks(2) > 1 { // names of partial results are long, too
				widest = 16000
			}
			lanes := ask[int](b, "document.querySelectorAll('#diagram .lane').length")
			require.LessOrEqual(b, lanes, 32, name)
			require.Positive(b, ask[int](b, "document.querySelectorAll('#diagram .leg').length"), name)
			require.Regexp(b, fmt.Sprintf(`^%d of [0-9,]+ ranks: .* transfers are drawn(: the others carry later chunks)?\.$`, lanes), b.text("#limits"), name)
			require.LessOrEqual(b, ask[float64](b, "document.querySelector('#diagram').getBBox().width"), widest, name)
		}
	}
}

// chosenLanes makes the page show other ranks than at the start.
func chosenLanes(b *browser) {
	lanes := func() []int {
		return ask[[]int](b, "[...document.querySelectorAll('#diagram .lane')].map(n => Number(n.dataset.rank))")
	}
	choose := func(what string) {
		b.do(chromedp.SetValue("#lanes", what), chromedp.Evaluate("document.querySelector('#lanes').onchange()", nil))
	}
	s := made(b.T, "bcast/binomial", schedule.Params{Ranks: 64})
	b.open(s, emit.Options{})
	path := []int{0, 32, 48, 56, 60, 62, 63}
	require.Equal(b, path, lanes())
	choose("all")
	require.Len(b, lanes(), 64)
	b.requireShown(s, nil)
	choose("part")
	require.Equal(b, []int{0, 1, 2, 4, 8, 16, 32}, lanes())
	b.keys("r")
	require.Equal(b, []int{0, 1}, lanes(), "rank 1 only gets")
	choose("path")
	require.Equal(b, path, lanes())

	b.open(made(b.T, "bcast/chain", schedule.Params{Ranks: 1024}), emit.Options{})
	b.keys(kb.Home, kb.ArrowRight, kb.ArrowRight, kb.ArrowRight, kb.ArrowRight)
	require.Equal(b, "1023 of 1023", b.text("#round"), "rounds that are left out are passed over")
	require.False(b, slices.Contains(ask[[]string](b, "[...document.querySelector('#lanes').options].map(o => o.value)"), "all"))
}

// sayings reads the sentences of the page about repairs and returns.
func sayings(b *browser) {
	b.open(made(b.T, "bcast/mcast-acktree", schedule.Params{Ranks: 8}), emit.Options{})
	b.keys("a")
	rules := ask[[]string](b, "[...document.querySelectorAll('#rules li')].map(n => n.textContent)")
	require.Contains(b, rules, "enter unless s2 after 3 → put c0 @4fired at the start, after 3 time-outs, when nothing else moved")
	require.Contains(b, rules, "enter → mcast c0fired at the start")
	require.Equal(b, "9 of 9", b.text("#round"), "the end stays the end")
	b.keys("n", kb.Home, kb.ArrowRight, "r")
	require.Equal(b, "Rank 1 must still send. Its call returns after round 2.", b.text("#doing"))

	b.open(made(b.T, "bcast/mcast-chain", schedule.Params{Ranks: 4}), emit.Options{})
	b.clickLeg("0:1:c0")
	require.Contains(b, b.text("#say"), "to rank 1 is lost. c0 arrives by put from rank 0, round 1.")

	s := &ir.Schedule{Header: ir.Header{Collective: "barrier", Algorithm: "test", Ranks: 1000}}
	for r := range s.Ranks {
		s.Programs = append(s.Programs, ir.Program{Rank: r, Signals: 1, Done: []ir.Slot{ir.Signal(0)},
			Rules: []ir.Rule{{When: []ir.Slot{ir.Enter}, Do: []ir.Action{ir.PutTo(ir.Signal(0), r^1)}}}})
	}
	b.open(s, emit.Options{})
	require.Equal(b, "1 round · 1,000 signals", b.text("#totals"))
}
