package emit

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

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

// maxRoles is the maximum number of roles: each has 200 bytes or more.
const maxRoles = maxGoText / 200

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
		if with, ok := parts.roles(maxRoles); ok {
			if without, ok := w.roles(len(with)); ok {
				return without, w, true
			}
			return with, parts, true
		}
	}
	roles, ok = w.roles(maxRoles)
	return roles, w, ok
}

// roles groups the ranks by role. ok is false if there are more than most, and roles are then the
// first of them.
func (w goProgram) roles(most int) (roles []*role, ok bool) {
	known := make(map[string][]*role) // by the outline of the program
	w.outline = true
next:
	for w.rank = range w.s.Programs {
		p := w.program()
		for _, ro := range known[p.form] {
			if ro.add(w.rank, p.numbers) {
				continue next
			}
		}
		if len(roles) == most {
			return roles, false
		}
		ro := &role{
			ranks: []int{w.rank}, numbers: p.numbers,
			fixed: slices.Repeat([]bool{true}, len(p.numbers)), moves: slices.Repeat([]bool{true}, len(p.numbers)),
		}
		known[p.form] = append(known[p.form], ro)
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

// function returns the function of the role, which is number i.
func (ro *role) function(w goProgram, i int) piece {
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
	body := w.program()
	body.fill(ro.ranks[0], ro.ranks[len(ro.ranks)-1])
	comment := jen.Commentf("%s is what %s %s.", roleName(i), numbered("rank", ro.ranks), does)
	return joint("", comment.Line().Func().Id(roleName(i)).Params(jen.Id("rank").Int()).Qual(irPath, "Program").Add, body)
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
	before []piece // statements that must come before it
	value  piece
	many   bool // the value is a list
}

// number returns the next number of the program, which is at at this rank.
func (w *goProgram) number(at, mod int) piece {
	n := operand{at: at, mod: mod}
	if w.known != nil {
		n, w.known = w.known[0], w.known[1:]
	}
	return n.piece()
}

func (w *goProgram) peer(rank int32) piece { return w.number(int(rank), w.s.Ranks) }

// program returns the body of the function that returns the program.
func (w *goProgram) program() piece {
	p := &w.s.Programs[w.rank]
	fields := []piece{fieldOf("Rank", id("rank"))}
	if p.Signals > 0 {
		fields = append(fields, fieldOf("Signals", w.number(p.Signals, 0)))
	}
	if p.Values > 0 {
		fields = append(fields, fieldOf("Values", w.number(p.Values, 0)))
	}
	body := []piece{joint("p :=", jen.Id("p").Op(":=").Qual(irPath, "Program").Values, fields...)}
	set := func(name, element string, all []goItem, sorted int) {
		if len(all) == 0 {
			return
		}
		before, value := w.list(name, element, all, sorted)
		if len(before) == 0 {
			before = []piece{assign(name, value)}
		}
		body = append(body, before...)
	}
	var rules []goItem
	for i := range p.Rules {
		rules = append(rules, w.rule(&p.Rules[i]))
	}
	set("p.Rules", "Rule", rules, 0)
	done, sorted := w.slots(p.Done, true)
	set("p.Done", "Slot", done, sorted)
	set("p.Ask", "int32", w.ranks(p.Ask), 0)
	if p.Reports {
		body = append(body, assign("p.Reports, p.ReportTo", joint("", jen.List, id("true"), w.ranks([]int32{p.ReportTo})[0].value)))
	}
	set("p.ReportFrom", "int32", w.ranks(p.ReportFrom), 0)
	set("p.Twice", "Action", w.actions(p.Twice), 0)
	return joint("", jen.Block, append(body, joint("return", jen.Return, id("p")))...)
}

// fieldOf returns a field of a composite literal.
func fieldOf(name string, value piece) piece { return joint(name, jen.Id(name).Op(":").Add, value) }

func (w *goProgram) rule(r *ir.Rule) goItem {
	slots, sorted := w.slots(r.When, w.whens)
	before, when := w.list("when", "Slot", slots, sorted)
	more, do := w.list("do", "Action", w.actions(r.Do), 0)
	fields := []piece{fieldOf("When", when), fieldOf("Do", do)}
	if r.IsRepair() {
		fields = append(fields, fieldOf("Unless", w.slot(r.Unless)), fieldOf("After", w.number(r.After, 0)))
	}
	return goItem{before: append(before, more...), value: joint("", lines, fields...)}
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
			it.value = call("McastOf", w.slot(a.Slot))
		case a.Op == ir.Fold:
			it = w.variadic("FoldOf", w.slot(a.As), "operands", slots, false)
		case renamed(message) && len(message) == 1:
			it.value = call("PutAs", w.slot(a.Slot), w.peer(a.To), w.slot(a.As))
		case renamed(message):
			to := w.peer(a.To)
			from, _ := w.slots(slots, false)
			made, _ := w.slots(as, false)
			before, slots := w.list("message", "Slot", from, 0)
			more, as := w.list("as", "Slot", made, 0)
			it = goItem{append(before, more...), call("PutAllAs", to, slots, as), true}
		case len(message) == 1:
			it.value = call("PutTo", w.slot(a.Slot), w.peer(a.To))
		default:
			it = w.variadic("PutAll", w.peer(a.To), "message", slots, w.messages)
		}
		all = append(all, it)
	}
	return all
}

// variadic returns the call of a function of package ir that returns several actions, and whose last
// arguments are slots.
func (w *goProgram) variadic(function string, first piece, name string, list []ir.Slot, set bool) goItem {
	all, sorted := w.slots(list, set)
	before, values, plain := w.values(name, "Slot", all, sorted)
	if !plain {
		values[0] = spread(values[0])
	}
	return goItem{before, call(function, append([]piece{first}, values...)...), true}
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
	name := ""
	switch s.Kind() {
	case ir.KindChunk:
		name = "Chunk"
	case ir.KindInput:
		name = "Input"
	case ir.KindSignal:
		return call("Signal", w.number(s.Index(), 0))
	case ir.KindValue:
		return call("Value", w.number(s.Index(), 0))
	default:
		return piece{form: "ir.Enter", code: []jen.Code{jen.Qual(irPath, "Enter")}}
	}
	if w.owners == 0 || s.Kind() == ir.KindInput && w.s.InputChunks() != w.s.Chunks {
		return call(name, w.number(s.Index(), 0))
	}
	owners, k := w.parts(s.Index())
	var arguments []piece
	for _, owner := range owners {
		arguments = append(arguments, w.number(owner, w.s.Ranks))
	}
	if w.per() > 1 {
		arguments = append(arguments, w.number(k, 0))
	}
	if !w.outline && !slices.ContainsFunc(arguments, piece.moves) { // the chunk is the same at all ranks
		return call(name, operand{at: s.Index()}.piece())
	}
	name = strings.ToLower(name)
	return joint(name, jen.Id(name).Call, arguments...)
}

// list returns the value of a list and the statements that must come before it.
func (w *goProgram) list(name, element string, all []goItem, sorted int) (before []piece, value piece) {
	before, values, plain := w.values(name, element, all, sorted)
	if plain {
		return nil, joint("[]ir."+element, jen.Index().Add(typeOf(element)).Values, values...)
	}
	return before, values[0]
}

// values returns the values of a list if it is plain: it needs neither loops nor sorting. Otherwise
// it returns one value, the list: a call, or a variable that the statements make. The first sorted
// elements are to be sorted.
func (w *goProgram) values(name, element string, all []goItem, sorted int) (before, values []piece, plain bool) {
	if w.outline {
		values = append(values, id(strconv.Itoa(sorted)))
	}
	plain = true
	var parts []piece
	moves := false
	for i, it := range all {
		plain = plain && len(it.before) == 0 && !it.many
		moves = moves || i < sorted && it.value.moves()
		values = append(values, it.value)
		if !w.outline {
			parts = append(parts, it.part(name, element))
		}
	}
	if w.outline {
		return nil, values, true
	}
	first, rest := roll(parts[:sorted], name), roll(parts[sorted:], name)
	switch {
	case plain && !moves && len(first)+len(rest) == len(all):
		return nil, values, true
	case len(all) == 1 && len(all[0].before) == 0:
		return nil, values, false
	}
	if !strings.HasPrefix(name, "p.") {
		before = append(before, joint("var "+name, jen.Var().Id(name).Index().Add(typeOf(element)).Add))
	}
	before = append(before, merged(first, name)...)
	if moves {
		before = append(before, joint("slices.Sort", jen.Qual("slices", "Sort").Call, id(name)))
	}
	return append(before, merged(rest, name)...), []piece{id(name)}, false
}

// typeOf returns the type of a list's elements: int32, or one of package ir.
func typeOf(element string) jen.Code {
	if element == "int32" {
		return jen.Int32()
	}
	return jen.Qual(irPath, element)
}

// part returns an element for a statement that appends it to a variable, or the statements if it
// needs its own.
func (it *goItem) part(name, element string) piece {
	value := it.value
	switch {
	case element == "Rule":
		value = joint("ir.Rule", jen.Qual(irPath, "Rule").Add, value)
	case it.many:
		value = spread(value)
	}
	if len(it.before) > 0 {
		return joint("", jen.Block, append(it.before, appending(name, value))...)
	}
	if it.many {
		return appending(name, value)
	}
	value.element = true
	return value
}
