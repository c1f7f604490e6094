package emit

import (
	"encoding/binary"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// role is ranks whose code differs at most in where its actions go.
type role struct {
	*goCode
	ranks []int
	calls []step // how a rank's list of actions is built
	table table  // what is no formula of the rank
}

// table has a row for each rank of a role.
type table struct {
	rows [][]int
	seen map[string]int // column -> its number
}

// roles sorts the ranks of s by their code. It is linear in the schedule.
func roles(s *ir.Schedule) []*role {
	var list []*role
	known := make(map[string]*role)
	lists := make(map[*role][][]call)
	for r := range s.Programs {
		c := takeApart(s, r)
		key := c.key()
		ro := known[key]
		if ro == nil {
			ro = &role{goCode: c}
			known[key] = ro
			list = append(list, ro)
		}
		ro.ranks = append(ro.ranks, r)
		lists[ro] = append(lists[ro], c.calls)
	}
	for _, ro := range list {
		ro.build(lists[ro], s.Ranks)
		ro.goCode.calls = nil
	}
	return list
}

// key spells all of the code but the numbers that may follow the rank.
func (c *goCode) key() string {
	var b keyBuilder
	b.add(c.signals, c.must, flag(c.holds), flag(c.keeps), len(c.need))
	b.add(c.need...)
	for _, done := range c.done {
		b.add(flag(done))
	}
	b.effect(&c.enter)
	for _, list := range [][]stretch{c.chunk, c.signal} {
		b.add(len(list))
		for i := range list {
			b.add(list[i].lo, list[i].hi)
			b.effect(&list[i].effect)
		}
	}
	for i := range c.calls {
		a := &c.calls[i]
		b.add(int(a.fn), int(a.slot.Kind()), a.after, a.n)
		if a.fn != callPut || a.slot.Kind() != ir.KindSignal {
			b.add(a.slot.Index())
		}
	}
	return string(b)
}

type keyBuilder []byte

func (b *keyBuilder) add(numbers ...int) {
	for _, n := range numbers {
		*b = binary.AppendVarint(*b, int64(n))
	}
}

func (b *keyBuilder) effect(e *effect) {
	b.add(flag(e.done), len(e.items))
	for i := range e.items {
		it := &e.items[i]
		b.add(int(it.cond), it.word, it.must, it.doN, it.armN)
		*b = binary.LittleEndian.AppendUint64(*b, it.mask)
		for _, l := range []line{it.arg, it.do, it.arm} {
			b.add(l.base, l.step)
		}
	}
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// build finds the formulas by which all ranks of the role build their lists.
func (ro *role) build(lists [][]call, ranks int) {
	ro.table = table{rows: make([][]int, len(lists)), seen: make(map[string]int)}
	steps := make([]step, len(lists[0]))
	column := make([]int, len(lists))
	for i, a := range lists[0] {
		st := step{fn: a.fn, kind: a.slot.Kind(), after: a.after, n: a.n, times: 1}
		for k := range lists {
			column[k] = lists[k][i].slot.Index()
		}
		st.slot = ro.formula(column, 0)
		if a.fn == callPut {
			for k := range lists {
				column[k] = lists[k][i].to
			}
			st.to = ro.formula(column, ranks)
		}
		steps[i] = st
	}
	ro.calls = loops(steps, ranks)
}

// formula returns how the numbers of a column come from the ranks; mod 0 is
// for numbers that are no ranks.
func (ro *role) formula(column []int, mod int) expr {
	for _, e := range []expr{constant(column), affine(ro.ranks, column), wrapped(ro.ranks, column, mod)} {
		if e.form != looked && e.fits(ro.ranks, column, mod) {
			return e
		}
	}
	var key keyBuilder
	key.add(column...)
	number, ok := ro.table.seen[string(key)]
	if !ok {
		number = len(ro.table.seen)
		ro.table.seen[string(key)] = number
		for k := range ro.table.rows {
			ro.table.rows[k] = append(ro.table.rows[k], column[k])
		}
	}
	return expr{form: looked, base: number}
}

// expr is a number as a formula of the rank.
type expr struct {
	form form
	rank int // factor of the rank
	base int
}

type form uint8

const (
	looked  form = iota // column base of the rank's row in the table
	exact               // rank·r + base
	modular             // the same modulo the number of ranks
)

func (e expr) at(r, mod int) int {
	if n := e.rank*r + e.base; e.form == exact || mod == 0 {
		return n
	} else {
		return n % mod
	}
}

func (e expr) fits(ranks, column []int, mod int) bool {
	for k, r := range ranks {
		if e.at(r, mod) != column[k] {
			return false
		}
	}
	return true
}

func constant(column []int) expr { return expr{form: exact, base: column[0]} }

// affine returns the formula through the first two ranks.
func affine(ranks, column []int) expr {
	if len(ranks) < 2 || (column[1]-column[0])%(ranks[1]-ranks[0]) != 0 {
		return expr{}
	}
	factor := (column[1] - column[0]) / (ranks[1] - ranks[0])
	return expr{form: exact, rank: factor, base: column[0] - factor*ranks[0]}
}

// wrapped returns the formula modulo the number of ranks through two
// neighbours; without neighbours that of a rotation.
func wrapped(ranks, column []int, mod int) expr {
	if mod == 0 || len(ranks) < 2 {
		return expr{}
	}
	factor := 1
	for k := range ranks[1:] {
		if ranks[k+1] == ranks[k]+1 {
			factor = residue(column[k+1]-column[k], mod)
			break
		}
	}
	return expr{form: modular, rank: factor, base: residue(column[0]-factor*ranks[0], mod)}
}

func residue(n, mod int) int { return ((n % mod) + mod) % mod }

// contiguous returns the ranks of a role as runs [first, last].
func contiguous(ranks []int) [][2]int {
	var runs [][2]int
	for _, r := range ranks {
		if n := len(runs); n > 0 && runs[n-1][1] == r-1 {
			runs[n-1][1] = r
		} else {
			runs = append(runs, [2]int{r, r})
		}
	}
	return slices.Clip(runs)
}
