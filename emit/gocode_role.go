package emit

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

// role is ranks whose programs are equal except for numbers, each of which is the same at all of
// them or moves with the rank: it is the rank plus a constant, modulo the number of ranks where the
// number is a rank.
type role struct {
	ranks   []int
	numbers []operand // of the first rank
	fixed   []bool    // by number: it is the same at all ranks
	moves   []bool    // by number: it moves with the rank
}

// leastRole is the minimum number of bytes of a role.
const leastRole = 200

// rolesOf groups the ranks of s by role, and returns how their programs are written. ok is false if
// there are too many roles for maxGoText, and roles are then the first of them.
func rolesOf(s *ir.Schedule) (roles []*role, w goProgram, ok bool) {
	w.s = s
	w.whens, w.messages = ascending(s)
	switch n := s.Blocks(); {
	case s.Ranks == 1 || s.Chunks%s.Ranks > 0 || s.Chunks == 0:
	case n == s.Ranks:
		w.owners = 1
	case n == s.Ranks*s.Ranks:
		w.owners = 2
	default: // maybe the message has a part for each rank
		parts := w
		parts.owners = 1
		if with, ok := parts.roles(); ok {
			if without, ok := w.roles(); ok && len(without) <= len(with) {
				return without, w, true
			}
			return with, parts, true
		}
	}
	roles, ok = w.roles()
	return roles, w, ok
}

// roles groups the ranks by role.
func (w goProgram) roles() (roles []*role, ok bool) {
	known := make(map[string][]*role) // by the outline of the program
	w.outline = true
next:
	for w.rank = range w.s.Programs {
		p := w.program()
		for _, ro := range known[p.text] {
			if ro.add(w.rank, p.numbers) {
				continue next
			}
		}
		if len(roles) == maxGoText/leastRole {
			return roles, false
		}
		ro := &role{
			ranks: []int{w.rank}, numbers: p.numbers,
			fixed: slices.Repeat([]bool{true}, len(p.numbers)), moves: slices.Repeat([]bool{true}, len(p.numbers)),
		}
		known[p.text] = append(known[p.text], ro)
		roles = append(roles, ro)
	}
	return roles, true
}

// ascending reports whether the slots of all rules, and those of all messages, ascend. They are then
// sets.
func ascending(s *ir.Schedule) (whens, all bool) {
	whens, all = true, true
	for r := range s.Programs {
		for i := range s.Programs[r].Rules {
			rule := &s.Programs[r].Rules[i]
			whens = whens && slices.IsSorted(rule.When)
			for message := range messages(rule.Do) {
				all = all && (message[0].Op == ir.Fold || renamed(message) ||
					slices.IsSortedFunc(message, func(a, b ir.Action) int { return cmp.Compare(a.Slot, b.Slot) }))
			}
		}
	}
	return whens, all
}

// renamed reports whether a message has slots with other names at the destination.
func renamed(message []ir.Action) bool {
	return message[0].Op == ir.Put && slices.ContainsFunc(message, func(a ir.Action) bool { return a.As != ir.None })
}

// add adds a rank with the given numbers, unless the role would need another formula.
func (ro *role) add(rank int, numbers []operand) bool {
	fits := func(i int) (fixed, moves bool) {
		n, by := &ro.numbers[i], numbers[i].at-ro.numbers[i].at-(rank-ro.ranks[0])
		return ro.fixed[i] && numbers[i].at == n.at, ro.moves[i] && (by == 0 || by == -n.mod)
	}
	for i := range numbers {
		if fixed, moves := fits(i); !fixed && !moves {
			return false
		}
	}
	for i := range numbers {
		ro.fixed[i], ro.moves[i] = fits(i)
	}
	ro.ranks = append(ro.ranks, rank)
	return true
}

// write writes the function of the role, which is number i.
func (ro *role) write(b *bytes.Buffer, w goProgram, i int) {
	does := "do"
	w.rank = ro.ranks[0]
	if len(ro.ranks) == 1 {
		does, w.owners = "does", 0
	} else {
		for i, n := range ro.numbers {
			if !ro.fixed[i] {
				n.moves, n.at = true, n.at-ro.ranks[0]
			}
			w.known = append(w.known, n)
		}
	}
	fmt.Fprintf(b, "// role%d is what %s %s.\nfunc role%d(rank int) ir.Program {\n", i, numbered("rank", ro.ranks), does, i)
	w.program().write(b, ro.ranks[0], ro.ranks[len(ro.ranks)-1])
	fmt.Fprint(b, "}\n\n")
}

// goProgram writes the program of a rank as Go. As an outline it writes a shorter text without
// loops, by which it compares ranks.
type goProgram struct {
	s *ir.Schedule
	// owners is how many ranks a chunk names: 1 if it belongs to the part of the vector of one rank,
	// 2 if it belongs to the block from one rank to another, else 0.
	owners          int
	whens, messages bool // the slots of rules, and those of messages, are sets

	rank    int
	outline bool
	known   []operand // the numbers that follow; nil: those of the rank
}

// goItem is an element of a list, or several.
type goItem struct {
	before piece // statements that must come before it
	value  piece
	many   bool // the value is a list
}

// number returns the next number of the program, which is at at this rank.
func (w *goProgram) number(at, mod int) piece {
	n := operand{at: at, mod: mod}
	if w.known != nil {
		n, w.known = w.known[0], w.known[1:]
	}
	return piece{text: hole, numbers: []operand{n}}
}

func (w *goProgram) peer(rank int32) piece { return w.number(int(rank), w.s.Ranks) }

// program returns the statements of the function that returns the program.
func (w *goProgram) program() piece {
	p := &w.s.Programs[w.rank]
	code := joint("p := ir.Program{Rank: rank")
	if p.Signals > 0 {
		code = joint(code, ", Signals: ", w.number(p.Signals, 0))
	}
	if p.Values > 0 {
		code = joint(code, ", Values: ", w.number(p.Values, 0))
	}
	parts := []any{code, "}\n"}
	set := func(name, element string, all []goItem, sorted int) {
		before, value := w.list("p."+name, element, all, sorted)
		switch {
		case len(all) == 0:
		case before.text != "":
			parts = append(parts, before)
		default:
			parts = append(parts, "p."+name+" = ", value, "\n")
		}
	}
	var rules []goItem
	for i := range p.Rules {
		rules = append(rules, w.rule(&p.Rules[i]))
	}
	set("Rules", "ir.Rule", rules, 0)
	done, sorted := w.slots(p.Done, true)
	set("Done", "ir.Slot", done, sorted)
	set("Ask", "int32", w.ranks(p.Ask), 0)
	if p.Reports {
		parts = append(parts, "p.Reports, p.ReportTo = true, ", w.ranks([]int32{p.ReportTo})[0].value, "\n")
	}
	set("ReportFrom", "int32", w.ranks(p.ReportFrom), 0)
	set("Twice", "ir.Action", w.actions(p.Twice), 0)
	return joint(append(parts, "return p\n")...)
}

func (w *goProgram) rule(r *ir.Rule) goItem {
	slots, sorted := w.slots(r.When, w.whens)
	before, when := w.list("when", "ir.Slot", slots, sorted)
	more, do := w.list("do", "ir.Action", w.actions(r.Do), 0)
	value := joint("{\nWhen: ", when, ",\nDo: ", do, ",\n")
	if r.IsRepair() {
		value = joint(value, "Unless: ", w.slot(r.Unless), ",\nAfter: ", w.number(r.After, 0), ",\n")
	}
	return goItem{before: joint(before, more), value: joint(value, "}")}
}

func (w *goProgram) ranks(list []int32) (all []goItem) {
	for _, r := range list {
		n := w.peer(r)
		n.numbers[0].int32 = true
		all = append(all, goItem{value: n})
	}
	return all
}

// actions returns the messages and folds of a list of actions.
func (w *goProgram) actions(do []ir.Action) (all []goItem) {
	for message := range messages(do) {
		a := message[0]
		var slots, as []ir.Slot
		for _, a := range message {
			slots, as = append(slots, a.Slot), append(as, a.Sets())
		}
		var it goItem
		switch {
		case a.Op == ir.Mcast:
			it.value = joint("ir.McastOf(", w.slot(a.Slot), ")")
		case a.Op == ir.Fold:
			made := w.slot(a.As)
			it.many = true
			it.before, it.value = w.arguments("operands", slots, false)
			it.value = joint("ir.FoldOf(", made, ", ", it.value, ")")
		case renamed(message) && len(message) == 1:
			it.value = joint("ir.PutAs(", w.slot(a.Slot), ", ", w.peer(a.To), ", ", w.slot(a.As), ")")
		case renamed(message):
			to := w.peer(a.To)
			from, _ := w.slots(slots, false)
			made, _ := w.slots(as, false)
			before, slots := w.list("message", "ir.Slot", from, 0)
			more, as := w.list("as", "ir.Slot", made, 0)
			it = goItem{joint(before, more), joint("ir.PutAllAs(", to, ", ", slots, ", ", as, ")"), true}
		case len(message) == 1:
			it.value = joint("ir.PutTo(", w.slot(a.Slot), ", ", w.peer(a.To), ")")
		default:
			to := w.peer(a.To)
			it.many = true
			it.before, it.value = w.arguments("message", slots, w.messages)
			it.value = joint("ir.PutAll(", to, ", ", it.value, ")")
		}
		all = append(all, it)
	}
	return all
}

// arguments returns slots as the last arguments of a variadic function.
func (w *goProgram) arguments(name string, list []ir.Slot, set bool) (before, value piece) {
	all, sorted := w.slots(list, set)
	before, value = w.list(name, "ir.Slot", all, sorted)
	if text, literal := strings.CutPrefix(value.text, "[]ir.Slot{"); literal {
		value.text = strings.TrimSuffix(text, "}")
		return before, value
	}
	return before, joint(value, "...")
}

// slots returns a list of slots. If it is a set, its first sorted slots ascend in the program, but
// come here in the order of their distance from the rank. So they are equal at ranks that do the
// same.
func (w *goProgram) slots(list []ir.Slot, set bool) (all []goItem, sorted int) {
	chunks := 0
	for set && w.owners > 0 && sorted < len(list) && (sorted == 0 || list[sorted-1] < list[sorted]) {
		chunks += count01(list[sorted].Kind() == ir.KindChunk)
		sorted++
	}
	if chunks < 2 {
		sorted = 0
	}
	list = slices.Clone(list)
	slices.SortFunc(list[:sorted], func(a, b ir.Slot) int { return w.order(a) - w.order(b) })
	for _, s := range list {
		all = append(all, goItem{value: w.slot(s)})
	}
	return all, sorted
}

func count01(b bool) int {
	if b {
		return 1
	}
	return 0
}

// order returns a number by which slots are sorted in the same way at all ranks.
func (w *goProgram) order(s ir.Slot) int {
	if s.Kind() != ir.KindChunk {
		return int(s)
	}
	owners, k := w.parts(s.Index())
	key := 0
	for _, owner := range owners {
		key = key*w.s.Ranks + (owner-w.rank+w.s.Ranks)%w.s.Ranks
	}
	return int(ir.Chunk(0)) + key*w.per() + k
}

// per returns the number of chunks that name the same ranks.
func (w *goProgram) per() int {
	per := w.s.Chunks
	for range w.owners {
		per /= w.s.Ranks
	}
	return per
}

// parts returns the ranks that a chunk names, and its index among the chunks that name the same.
func (w *goProgram) parts(chunk int) (owners []int, k int) {
	per := w.per()
	switch owner := chunk / per; w.owners {
	case 1:
		owners = []int{owner}
	case 2:
		owners = []int{owner / w.s.Ranks, owner % w.s.Ranks}
	}
	return owners, chunk % per
}

func (w *goProgram) slot(s ir.Slot) piece {
	call := ""
	switch s.Kind() {
	case ir.KindChunk:
		call = "Chunk"
	case ir.KindInput:
		call = "Input"
	case ir.KindSignal:
		return joint("ir.Signal(", w.number(s.Index(), 0), ")")
	case ir.KindValue:
		return joint("ir.Value(", w.number(s.Index(), 0), ")")
	default:
		return joint("ir.Enter")
	}
	if w.owners == 0 || s.Kind() == ir.KindInput && w.s.InputChunks() != w.s.Chunks {
		return joint("ir."+call+"(", w.number(s.Index(), 0), ")")
	}
	owners, k := w.parts(s.Index())
	var parts []any
	for _, owner := range owners {
		parts = append(parts, ", ", w.number(owner, w.s.Ranks))
	}
	if w.per() > 1 {
		parts = append(parts, ", ", w.number(k, 0))
	}
	args := joint(parts[1:]...)
	if !w.outline && !args.moves() { // the chunk is the same at all ranks
		args = piece{text: hole, numbers: []operand{{at: s.Index()}}}
		return joint("ir."+call+"(", args, ")")
	}
	return joint(strings.ToLower(call)+"(", args, ")")
}

// list returns the value of a list and the statements that must come before it. The value is a
// literal or a call if it needs neither loops nor sorting. Otherwise it is a variable that the
// statements make. The first sorted elements are to be sorted.
func (w *goProgram) list(name, element string, all []goItem, sorted int) (before, value piece) {
	if w.outline {
		parts := []any{fmt.Sprint(name, sorted)}
		for _, it := range all {
			parts = append(parts, it.value, ",")
		}
		return piece{}, joint(parts...)
	}
	plain := true // a literal will do
	var statements []piece
	moves := false
	for i, it := range all {
		plain = plain && it.before.text == "" && !it.many
		moves = moves || i < sorted && it.value.moves()
		statements = append(statements, it.appended(name, element))
	}
	first, rest := roll(statements[:sorted], name), roll(statements[sorted:], name)
	switch {
	case plain && !moves && len(first)+len(rest) == len(all):
		parts := []any{"[]" + element + "{"}
		for i, it := range all {
			if i > 0 {
				parts = append(parts, ", ")
			}
			parts = append(parts, it.value)
		}
		return piece{}, joint(append(parts, "}")...)
	case len(all) == 1 && all[0].before.text == "":
		return piece{}, all[0].value
	}
	if !strings.HasPrefix(name, "p.") {
		before = joint("var ", name, " []", element, "\n")
	}
	before = joint(before, merged(first, name))
	if moves {
		before = joint(before, "slices.Sort(", name, ")\n")
	}
	return joint(before, merged(rest, name)), joint(name)
}

// appended returns the statement that appends an item to a variable.
func (it *goItem) appended(name, element string) piece {
	value := it.value
	if strings.HasPrefix(value.text, "{") {
		value.text = element + value.text
	}
	if it.many {
		value = joint(value, "...")
	}
	statement := joint(name, " = append(", name, ", ", value, ")\n")
	if it.before.text == "" {
		return statement
	}
	return joint("{\n", it.before, statement, "}\n")
}
