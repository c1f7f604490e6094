package emit

import (
	"slices"
	"strconv"

	"github.com/schedgen/schedgen/ir"
)

// role is ranks whose programs differ only in numbers.
type role struct {
	ranks   []int
	shape   []byte
	numbers []operand // in the order of shape
	moved   []bool    // by list of slots: some rank must sort it
	width   int       // columns of the table: numbers of each rank without a formula
	table   [][]int   // by rank of the role: its numbers
}

// operand is one number of a role's programs.
type operand struct {
	form   form
	column int    // column of the table, for columnForm
	list   []int  // the list into which the table has indices, for columnForm; nil: none
	at     int    // what is added; for xorForm the other operand
	mod    int    // the sum is modulo mod; 0: it is not
	by     []step // for each loop around it, the innermost first
}

// step is how much a number grows from one turn of a loop to the next, unless it uses the loop's
// list.
type step struct {
	column, at int
	listed     bool
}

// form says how a number follows from the rank.
type form uint8

const (
	constForm form = iota // at
	rankForm              // rank + at
	xorForm               // rank ^ at
	ringForm              // the rank that is at places behind on the circle of all ranks except the root
	// table[rank][column] + at; with a list: list[table[rank][column]] + at, + rank if the number
	// is a rank
	columnForm
)

// rolesOf groups the ranks of a schedule by what they do, and finds how their numbers follow from
// the rank. The roles have no tables if these would have more than most numbers together.
func rolesOf(o *outline, picks bool, most int) (roles []*role, numbers int) {
	known := make(map[string]*fit)
	var fits []*fit
	var c coded
	for rank := range o.s.Programs {
		o.take(&c, rank)
		f := known[string(c.shape)]
		if f == nil {
			f = newFit(&c, rank, &o.s.Header)
			known[string(c.shape)] = f
			fits = append(fits, f)
		}
		f.see(&c, rank)
	}
	left := most
	for _, f := range fits {
		n := f.tabulate(o, picks, left)
		numbers += n
		left = max(0, left-n)
		roles = append(roles, &f.role)
	}
	return roles, numbers
}

// fit finds the numbers of a role, which is the ranks of one shape.
type fit struct {
	role
	first  []int              // the numbers of the first rank
	isRank []bool             // by number: it is a rank
	is     [columnForm][]bool // by form and number: the form is right at all ranks seen
	h      *ir.Header
}

func newFit(c *coded, rank int, h *ir.Header) *fit {
	f := &fit{first: slices.Clone(c.numbers), isRank: slices.Clone(c.ranks), h: h}
	f.shape, f.moved = slices.Clone(c.shape), make([]bool, len(c.moved))
	for form := range f.is {
		f.is[form] = slices.Repeat([]bool{true}, len(f.first))
	}
	return f
}

// see compares another rank with the formulas that are right at the earlier ones.
func (f *fit) see(c *coded, rank int) {
	f.ranks = append(f.ranks, rank)
	for i, moved := range c.moved {
		f.moved[i] = f.moved[i] || moved
	}
	first := f.ranks[0]
	for i, v := range c.numbers {
		f.is[constForm][i] = f.is[constForm][i] && v == f.first[i]
		f.is[rankForm][i] = f.is[rankForm][i] && f.less(i, v, rank) == f.less(i, f.first[i], first)
		f.is[xorForm][i] = f.is[xorForm][i] && v^rank == f.first[i]^first
		f.is[ringForm][i] = f.is[ringForm][i] && f.isRank[i] && f.behind(v, rank) >= 0 && f.behind(v, rank) == f.behind(f.first[i], first)
	}
}

// behind returns how many places rank a is behind rank b on the circle of all ranks except the
// root, or -1 if one of them is not on it.
func (f *fit) behind(a, b int) int {
	n := f.h.Ranks
	if !f.h.Rooted() || n < 3 || a == f.h.Root || b == f.h.Root {
		return -1
	}
	place := func(rank int) int { return (rank - f.h.Root - 1 + n) % n }
	return (place(a) - place(b) + n - 1) % (n - 1)
}

// less returns a - b, modulo the number of ranks if number i is a rank.
func (f *fit) less(i, a, b int) int {
	if f.isRank[i] && a < b {
		return a - b + f.h.Ranks
	}
	return a - b
}

// tabulate chooses the formulas and assigns columns to the numbers that have none. It returns how
// many numbers the table has. It may give up if there are more than most. Numbers that have the
// same difference at all ranks share a column.
func (f *fit) tabulate(o *outline, picks bool, most int) int {
	f.numbers = make([]operand, len(f.first))
	forms := f.preferred()
	var odd []int // the numbers without a formula
	for i := range f.numbers {
		n := &f.numbers[i]
		if f.isRank[i] {
			n.mod = f.h.Ranks
		}
		n.form = columnForm
		for _, form := range forms {
			if f.is[form][i] {
				n.form = form
				break
			}
		}
		switch n.form {
		case constForm:
			n.at, n.mod = f.first[i], 0
		case rankForm:
			n.at = f.less(i, f.first[i], f.ranks[0])
		case xorForm:
			n.at, n.mod = f.first[i]^f.ranks[0], 0
		case ringForm:
			n.at, n.mod = f.behind(f.first[i], f.ranks[0]), f.h.Ranks-1
		default:
			odd = append(odd, i)
		}
	}
	if len(odd) == 0 {
		return 0
	}
	room := most // for numbers that may become indices into lists later
	if picks {
		room *= packed
	}
	lead := f.share(o, odd, room/len(f.ranks))
	var leads []int
	for _, i := range odd {
		if lead[i] == i {
			leads = append(leads, i)
		}
	}
	if size := len(leads) * len(f.ranks); size > room {
		return size
	}
	f.setTable(o, picks, leads)
	for _, i := range odd {
		of := f.numbers[lead[i]]
		f.numbers[i].column, f.numbers[i].list = of.column, of.list
		f.numbers[i].at = f.less(i, f.first[i], f.first[lead[i]])
	}
	return f.width * len(f.ranks)
}

// packed is the maximum factor by which indices into lists reduce the numbers of a table.
const packed = 6

// setTable makes the table of some numbers. Numbers with few distinct distances from the rank share
// a column with an index of the distance.
func (f *fit) setTable(o *outline, picks bool, leads []int) {
	values := make([][]int, len(leads)) // by lead and rank: the number
	var c coded
	for _, rank := range f.ranks {
		o.take(&c, rank)
		for k, i := range leads {
			values[k] = append(values[k], c.numbers[i])
		}
	}
	var packs []*digit
	for k, i := range leads {
		base := f.ranks
		if !f.isRank[i] {
			base = make([]int, len(f.ranks))
		}
		if !picks || !slices.ContainsFunc(packs, func(p *digit) bool { return p.addNumber(k, base, values[k]) }) {
			p := &digit{which: make([]int, len(f.ranks)), picks: 1}
			p.addNumber(k, base, values[k])
			packs = append(packs, p)
		}
	}
	f.table = make([][]int, len(f.ranks))
	column := func(values []int) {
		for r, v := range values {
			f.table[r] = append(f.table[r], v)
		}
		f.width++
	}
	for _, p := range packs {
		if saved := p.length - len("0, ")*len(f.ranks); !picks || p.picks == 0 || saved < leastSaved*len(p.numbers) {
			for _, k := range p.numbers {
				f.numbers[leads[k]].column = f.width
				column(values[k])
			}
			continue
		}
		for m, k := range p.numbers {
			n := &f.numbers[leads[k]]
			n.column, n.list = f.width, p.lists[m]
		}
		column(p.which)
	}
}

// digit is numbers that share one column.
type digit struct {
	numbers []int   // in the order of leads
	lists   [][]int // by number: its possible distances from the rank
	which   []int   // by rank: index in lists
	picks   int     // length of lists; 0: the column holds one number itself
	length  int     // length of the text of all the numbers
}

const (
	maxPicks   = 10  // maximum number of distances in a column
	leastSaved = 200 // bytes that a list must save
)

// addNumber adds a number to p. It reports false if p would then have too many distances.
func (p *digit) addNumber(k int, base, values []int) bool {
	if len(p.numbers) > 0 && p.picks == 0 {
		return false
	}
	type pick struct{ which, distance int }
	known := make(map[pick]int)
	which := make([]int, len(values))
	var of []pick
	length := 0
	for r, v := range values {
		at := pick{p.which[r], v - base[r]}
		if _, ok := known[at]; !ok {
			known[at] = len(of)
			of = append(of, at)
		}
		which[r] = known[at]
		length += len(strconv.Itoa(v)) + len(", ")
		if len(of) > maxPicks && len(p.numbers) > 0 {
			return false
		}
	}
	p.numbers, p.length = append(p.numbers, k), p.length+length
	if len(of) > maxPicks {
		p.picks = 0
		return true
	}
	lists := make([][]int, len(p.numbers))
	for _, at := range of {
		for m := range p.lists {
			lists[m] = append(lists[m], p.lists[m][at.which])
		}
		lists[len(p.lists)] = append(lists[len(p.lists)], at.distance)
	}
	p.lists, p.which, p.picks = lists, which, len(of)
	return true
}

// preferred returns the formulas, sorted by how many numbers they fit. Numbers with the same
// formula are more often one loop.
func (f *fit) preferred() []form {
	forms := []form{constForm, rankForm, xorForm, ringForm}
	right := func(form form) (n int) {
		for _, is := range f.is[form] {
			n += count01(is)
		}
		return n
	}
	slices.SortStableFunc(forms, func(a, b form) int { return right(b) - right(a) })
	return forms
}

// share returns, for each of the odd numbers, the first odd number from which it has the same
// distance at all ranks. If there are more than most such, it may give a wrong answer.
func (f *fit) share(o *outline, odd []int, most int) map[int]int {
	lead := make(map[int]int, len(odd))
	for _, i := range odd {
		lead[i] = odd[slices.IndexFunc(odd, func(j int) bool { return f.isRank[j] == f.isRank[i] })]
	}
	type class struct{ lead, moved int }
	var c coded
	for _, rank := range f.ranks[1:] {
		o.take(&c, rank)
		leads := make(map[class]int)
		for _, i := range odd {
			k := class{lead[i], f.less(i, c.numbers[i], f.first[i])}
			if f.isRank[i] {
				k.moved = (k.moved + f.h.Ranks) % f.h.Ranks
			}
			if _, ok := leads[k]; !ok {
				leads[k] = i
			}
			lead[i] = leads[k]
		}
		if len(leads) > most {
			break
		}
	}
	return lead
}

// choice returns a condition for each role, as runs of ranks, and the index of the role with the
// most ranks. ok is false if the conditions are longer than a table.
func choice(roles []*role) (runs [][][2]int, most int, ok bool) {
	total := 0
	for i, ro := range roles {
		var list [][2]int
		for _, r := range ro.ranks {
			if n := len(list); n > 0 && list[n-1][1] == r-1 {
				list[n-1][1] = r
			} else {
				list = append(list, [2]int{r, r})
			}
		}
		runs = append(runs, list)
		if len(ro.ranks) > len(roles[most].ranks) {
			most = i
		}
		total += len(list)
		ok = ok || ro.width > 0
	}
	return runs, most, !ok && total-len(runs[most]) <= maxRuns
}

// maxRuns is the maximum number of runs of ranks in a choice of roles.
const maxRuns = 6
