package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/schedgen/schedgen/ir"
)

// program returns the function that chooses a rank's role.
func (g *goWriter) program() jen.Code {
	call := func(i int) jen.Code {
		args := []jen.Code{jen.Id("rank")}
		if g.roles[i].width > 0 {
			args = append(args, jen.Id("n").Index(jen.Lit(1).Op(":")))
		}
		return jen.Return(jen.Id(roleName(i)).Call(args...))
	}
	runs, most, ok := choice(g.roles)
	var cases []jen.Code
	for i := range g.roles {
		switch {
		case i == most:
		case ok:
			var when []jen.Code
			for _, run := range runs[i] {
				when = append(when, g.within(run[0], run[1]))
			}
			cases = append(cases, jen.Case(when...).Block(call(i)))
		default:
			cases = append(cases, jen.Case(jen.Lit(i)).Block(call(i)))
		}
	}
	cases = append(cases, jen.Default().Block(call(most)))
	var body jen.Code
	switch {
	case len(g.roles) == 1 && g.roles[0].width == 0:
		body = call(0)
	case ok:
		body = jen.Switch().Block(cases...)
	default:
		body = jen.Switch(jen.Id("n").Op(":=").Id("numbers").Index(jen.Id("rank")), jen.Id("n").Index(jen.Lit(0))).Block(cases...)
	}
	return jen.Comment("program returns what rank does.").Line().
		Func().Id("program").Params(jen.Id("rank").Int()).Qual(irPath, "Program").Block(body).Line()
}

func roleName(i int) string { return fmt.Sprintf("role%d", i) }

// within returns the condition that a rank is in lo … hi.
func (g *goWriter) within(lo, hi int) jen.Code {
	rank := jen.Id("rank")
	switch {
	case lo == hi:
		return rank.Op("==").Lit(lo)
	case hi == g.s.Ranks-1:
		return rank.Op(">=").Lit(lo)
	case lo == 0:
		return rank.Op("<=").Lit(hi)
	}
	return jen.Lit(lo).Op("<=").Id("rank").Op("&&").Id("rank").Op("<=").Lit(hi)
}

// table returns the table of the numbers that have no formula.
func (g *goWriter) table() jen.Code {
	if _, _, ok := choice(g.roles); ok {
		return jen.Null()
	}
	rows := make([]jen.Code, g.s.Ranks)
	for i, ro := range g.roles {
		for k, rank := range ro.ranks {
			row := []int{i}
			if ro.width > 0 {
				row = append(row, ro.table[k]...)
			}
			rows[rank] = jen.Values(literals(row)...)
		}
	}
	return jen.Comment("numbers has a line for each rank: its role and the numbers n that the role takes.").Line().
		Var().Id("numbers").Op("=").Add(lines(jen.Index(jen.Id("Ranks")).Index().Int(), rows...))
}

func literals(list []int) (code []jen.Code) {
	for _, v := range list {
		code = append(code, jen.Lit(v))
	}
	return code
}

// chunk returns the functions that number chunks and contributions by the ranks to which they
// belong.
func (g *goWriter) chunk() jen.Code {
	if g.outline.owners == 0 {
		return jen.Null()
	}
	code := g.numbering("chunk", "Chunk")
	if g.named[ir.KindInput] {
		code.Line().Add(g.numbering("input", "Input"))
	}
	return code
}

// numbering returns a function called name that calls the given function of package ir.
func (g *goWriter) numbering(name, of string) *jen.Statement {
	var params []jen.Code
	var number *jen.Statement
	var comment string
	switch g.outline.owners {
	case 1:
		comment, params, number = "of the part of a rank", []jen.Code{jen.Id("of")}, jen.Id("of")
	case 2:
		comment, params = "of the block from one rank to another", []jen.Code{jen.Id("from"), jen.Id("to")}
		number = jen.Parens(jen.Id("from").Op("*").Id("Ranks").Op("+").Id("to"))
		if g.outline.per == 1 {
			number = jen.Id("from").Op("*").Id("Ranks").Op("+").Id("to")
		}
	}
	if g.outline.per == 1 {
		comment = name + " is the one " + comment
	} else {
		comment, params, number = name+" is number k "+comment, append(params, jen.Id("k")), number.Op("*").Lit(g.outline.per).Op("+").Id("k")
	}
	return jen.Commentf("%s.", comment).Line().
		Func().Id(name).Params(jen.List(params...).Int()).Qual(irPath, "Slot").Block(jen.Return(jen.Qual(irPath, of).Call(number))).Line()
}

// except returns the function for messages of all slots but one, if there are any.
func (g *goWriter) except() jen.Code {
	if !g.without {
		return jen.Null()
	}
	slot := jen.Qual(irPath, "Slot")
	same := jen.Func().Params(jen.Id("c").Add(slot)).Bool().Block(jen.Return(jen.Id("c").Op("==").Id("s")))
	return jen.Comment("without returns list without s.").Line().
		Func().Id("without").Params(jen.Id("s").Add(slot), jen.Id("list").Index().Add(slot)).Index().Add(slot).
		Block(jen.Return(jen.Qual("slices", "DeleteFunc").Call(jen.Id("list"), same))).Line()
}

// other returns the function for numbers of ringForm, if there are any.
func (g *goWriter) other() jen.Code {
	if !g.ringed {
		return jen.Null()
	}
	place := jen.Parens(jen.Id("rank").Op("-").Id("Root").Op("-").Lit(1).Op("+").Id("Ranks")).Op("%").Id("Ranks")
	ring := jen.Parens(place.Op("+").Id("d")).Op("%").Parens(jen.Id("Ranks").Op("-").Lit(1))
	return jen.Comment("other returns the rank that is d places behind rank in the circle of all but Root.").Line().
		Func().Id("other").Params(jen.List(jen.Id("rank"), jen.Id("d")).Int()).Int().
		Block(jen.Return(jen.Parens(ring.Op("+").Id("Root").Op("+").Lit(1)).Op("%").Id("Ranks"))).Line()
}

// builder writes the statements of a role.
type builder struct {
	*goWriter
	ro    *role
	loops []loop // the current loops, the outermost first
}

// loop is a loop that is being written.
type loop struct {
	*node
	counted, listed bool // its body uses the count, the list
}

// role returns the function that builds the programs of a role.
func (g *goWriter) role(i int) jen.Code {
	b := &builder{goWriter: g, ro: g.roles[i]}
	root := b.ro.program(g.outline)
	fields := []jen.Code{field("Rank", jen.Id("rank"))}
	if n := root.numbers[0]; !n.isZero() {
		fields = append(fields, field("Signals", b.number(n)))
	}
	if n := root.numbers[1]; !n.isZero() {
		fields = append(fields, field("Values", b.number(n)))
	}
	body := []jen.Code{jen.Id("p").Op(":=").Qual(irPath, "Program").Values(fields...)}
	body = append(body, b.rules(root.lists[0].list)...)
	set := func(name string, list nodes, of jen.Code, one func(*node) jen.Code) {
		if len(list.list) == 0 {
			return
		}
		before, value := b.list("p."+name, list, of, one)
		if body = append(body, before...); before == nil {
			body = append(body, jen.Id("p."+name).Op("=").Add(value))
		}
	}
	if wanted := root.lists[1]; len(wanted.list) > 0 {
		set("Done", wanted, slotType, b.slot)
		body = append(body, b.appends("p.Done", root.lists[2].list, b.slot)...)
	} else {
		set("Done", root.lists[2], slotType, b.slot)
	}
	set("Ask", root.lists[3], jen.Int32(), b.rank)
	if to := root.lists[4].list; len(to) > 0 {
		body = append(body, jen.List(jen.Id("p.Reports"), jen.Id("p.ReportTo")).Op("=").List(jen.True(), b.rank(&to[0])))
	}
	set("ReportFrom", root.lists[5], jen.Int32(), b.rank)
	set("Twice", root.lists[6], actionType, b.action)
	body = append(body, jen.Return(jen.Id("p")))
	params := []jen.Code{jen.Id("rank").Int()}
	if b.ro.width > 0 {
		params = append(params, jen.Id("n").Index().Int())
	}
	return b.about(i).Func().Id(roleName(i)).Params(params...).Qual(irPath, "Program").Block(body...).Line()
}

var (
	slotType   = jen.Qual(irPath, "Slot")
	actionType = jen.Qual(irPath, "Action")
)

// about returns the comment of a role.
func (b *builder) about(i int) *jen.Statement {
	ranks := b.ro.ranks
	does := "do"
	if len(ranks) == 1 {
		does = "does"
	}
	return jen.Commentf("%s is what %s %s.", roleName(i), numbered("rank", ranks), does).Line()
}

// rules returns the statements that add rules to the program.
func (b *builder) rules(list []node) (code []jen.Code) {
	const rules = "p.Rules"
	var single []jen.Code // rules that one statement appends
	flush := func() {
		if len(single) > 0 {
			code = append(code, appended(rules, single))
		}
		single = nil
	}
	for i := range list {
		r := &list[i]
		if r.kind == loopNode {
			flush()
			code = append(code, b.loop(r, b.rules))
			continue
		}
		before, when := b.list("when", r.lists[0], slotType, b.slot)
		more, do := b.actions(r.lists[1])
		fields := []jen.Code{field("When", when), field("Do", do)}
		if unless := r.lists[2].list; len(unless) > 0 {
			fields = append(fields, field("Unless", b.slot(&unless[0])))
			if n := r.numbers[0]; !n.isZero() {
				fields = append(fields, field("After", b.number(n)))
			}
		}
		rule := lines(jen.Qual(irPath, "Rule"), fields...)
		if before = append(before, more...); before == nil {
			single = append(single, rule)
			continue
		}
		flush()
		code = append(code, jen.Block(append(before, appended(rules, []jen.Code{rule}))...))
	}
	flush()
	return code
}

// appended returns the statement that appends values to a variable.
func appended(name string, values []jen.Code) jen.Code {
	return jen.Id(name).Op("=").Append(append([]jen.Code{jen.Id(name)}, values...)...)
}

// loop returns a loop around the code that body returns for its pieces.
func (b *builder) loop(n *node, body func([]node) []jen.Code) jen.Code {
	depth := len(b.loops)
	b.loops = append(b.loops, loop{node: n})
	code := body(n.lists[0].list)
	l := b.loops[depth]
	b.loops = b.loops[:depth]
	count, list := jen.Id("_"), jen.Id(listName(depth))
	if l.counted {
		count = jen.Id(loopName(depth))
	}
	if l.listed {
		return jen.For(jen.List(count, list).Op(":=").Range().Index().Int().Values(literals(n.values)...)).Block(code...)
	}
	if !l.counted {
		return jen.For(jen.Range().Lit(n.times)).Block(code...)
	}
	return jen.For(count.Op(":=").Range().Lit(n.times)).Block(code...)
}

// listName returns the variable for the list of a loop at the given depth.
func listName(depth int) string { return loopName(depth) + "v" }

// loopName returns the variable of a loop at the given depth.
func loopName(depth int) string {
	if names := "ijkmuvwxyz"; depth < len(names) {
		return names[depth : depth+1]
	}
	return fmt.Sprintf("i%d", depth)
}

// actions returns the value of a rule's actions, and the statements that must come before it.
func (b *builder) actions(list nodes) (before []jen.Code, value jen.Code) {
	if len(list.list) == 1 && isMessage(&list.list[0]) {
		before, slots := b.message(&list.list[0])
		return before, slots
	}
	return b.list("do", list, actionType, b.action)
}

// list returns the value of a list, and the statements that must come before it. The value is a
// literal if the list has neither loops nor messages of several slots and its order is right.
// Otherwise it is a variable that the statements make.
func (b *builder) list(name string, list nodes, of jen.Code, one func(*node) jen.Code) (before []jen.Code, value jen.Code) {
	var all []jen.Code // the pieces of a literal
	for i := range list.list {
		n := &list.list[i]
		if n.kind == loopNode || isMessage(n) {
			break
		}
		all = append(all, one(n))
	}
	if len(all) == len(list.list) && !list.sort {
		return nil, jen.Index().Add(of).Values(all...)
	}
	local := !strings.HasPrefix(name, "p.")
	begin := jen.Index().Add(of).Values(all...)
	switch {
	case local && all != nil:
		before = append(before, jen.Id(name).Op(":=").Add(begin))
	case local:
		before = append(before, jen.Var().Id(name).Index().Add(of))
	case all != nil:
		before = append(before, jen.Id(name).Op("=").Add(begin))
	}
	before = append(before, b.appends(name, list.list[len(all):], one)...)
	if list.sort {
		before = append(before, jen.Qual("slices", "Sort").Call(jen.Id(name)))
	}
	return before, jen.Id(name)
}

// appends returns the statements that append pieces to a variable.
func (b *builder) appends(name string, list []node, one func(*node) jen.Code) (code []jen.Code) {
	var single []jen.Code // pieces that one statement appends
	flush := func() {
		if len(single) > 0 {
			code = append(code, appended(name, single))
		}
		single = nil
	}
	for i := range list {
		n := &list[i]
		switch {
		case n.kind == loopNode:
			flush()
			code = append(code, b.loop(n, func(body []node) []jen.Code { return b.appends(name, body, one) }))
		case isMessage(n):
			flush()
			before, message := b.message(n)
			all := jen.Id(name).Op("=").Append(jen.Id(name), jen.Add(message).Op("..."))
			if before == nil {
				code = append(code, all)
			} else {
				code = append(code, jen.Block(append(before, all)...))
			}
		default:
			single = append(single, one(n))
		}
	}
	flush()
	return code
}

// isMessage reports whether a piece is several actions: a put of several slots, or a fold.
func isMessage(n *node) bool {
	several := func() bool { return len(n.lists[0].list) > 1 || n.lists[0].list[0].kind == loopNode }
	switch n.kind {
	case foldNode:
		return true
	case putNode:
		return n.but || several()
	case putAsNode:
		return several()
	}
	return false
}

// message returns the actions of a put of several slots or of a fold, and the statements that must
// come before them.
func (b *builder) message(n *node) (before []jen.Code, actions jen.Code) {
	switch n.kind {
	case foldNode:
		before, operands := b.list("operands", n.lists[1], slotType, b.slot)
		args := []jen.Code{b.slot(&n.lists[0].list[0])}
		if before != nil {
			args = append(args, jen.Add(operands).Op("..."))
		} else {
			for i := range n.lists[1].list {
				args = append(args, b.slot(&n.lists[1].list[i]))
			}
		}
		return before, jen.Qual(irPath, "FoldOf").Call(args...)
	case putAsNode:
		before, slots := b.list("message", n.lists[0], slotType, b.slot)
		more, as := b.list("as", n.lists[1], slotType, b.slot)
		return append(before, more...), jen.Qual(irPath, "PutAllAs").Call(b.number(n.numbers[0]), slots, as)
	}
	before, slots := b.list("message", n.lists[0], slotType, b.slot)
	args := []jen.Code{b.number(n.numbers[0])}
	if n.but {
		b.without = true
		slots = jen.Id("without").Call(jen.Id("chunk").Call(b.number(n.numbers[0])), slots)
	}
	if before != nil || n.but {
		args = append(args, jen.Add(slots).Op("..."))
	} else {
		for i := range n.lists[0].list {
			args = append(args, b.slot(&n.lists[0].list[i]))
		}
	}
	return before, jen.Qual(irPath, "PutAll").Call(args...)
}

// action returns an action that is a message by itself.
func (b *builder) action(n *node) jen.Code {
	slot := b.slot(&n.lists[0].list[0])
	switch n.kind {
	case mcastNode:
		return jen.Qual(irPath, "McastOf").Call(slot)
	case putAsNode:
		return jen.Qual(irPath, "PutAs").Call(slot, b.number(n.numbers[0]), b.slot(&n.lists[1].list[0]))
	}
	return jen.Qual(irPath, "PutTo").Call(slot, b.number(n.numbers[0]))
}

func (b *builder) slot(n *node) jen.Code {
	switch n.slot {
	case ir.KindSignal:
		return jen.Qual(irPath, "Signal").Call(b.number(n.numbers[0]))
	case ir.KindValue:
		return jen.Qual(irPath, "Value").Call(b.number(n.numbers[0]))
	case ir.KindChunk, ir.KindInput:
		call, of := "Chunk", "chunk"
		if n.slot == ir.KindInput {
			call, of = "Input", "input"
		}
		if len(n.numbers) == 1 {
			return jen.Qual(irPath, call).Call(b.number(n.numbers[0]))
		}
		b.named[n.slot] = true
		var parts []jen.Code
		for _, part := range n.numbers[:b.outline.owners] {
			parts = append(parts, b.number(part))
		}
		if b.outline.per > 1 {
			parts = append(parts, b.number(n.numbers[b.outline.owners]))
		}
		return jen.Id(of).Call(parts...)
	}
	return jen.Qual(irPath, "Enter")
}

// rank returns a rank in the type of recovery.
func (b *builder) rank(n *node) jen.Code {
	if v := n.numbers[0]; v.form == constForm && len(v.by) == 0 {
		return jen.Lit(v.at)
	}
	return jen.Int32().Parens(b.number(n.numbers[0]))
}

// isZero reports whether a number is 0 at all ranks.
func (n *operand) isZero() bool {
	return n.form == constForm && n.at == 0 && !slices.ContainsFunc(n.by, func(s step) bool { return s.at != 0 || s.listed })
}

// number returns a number as an expression of the rank, of the line n of the table and of loops.
func (b *builder) number(n operand) *jen.Statement {
	switch n.form {
	case constForm:
		return b.sum(nil, n.at, n.by)
	case xorForm:
		other := b.sum(nil, n.at, n.by)
		if len(n.by) > 0 {
			other = jen.Parens(other)
		}
		return jen.Id("rank").Op("^").Add(other)
	case ringForm:
		b.ringed = true
		for lo, _ := b.bounds(n.at, n.by); lo < 0; lo += n.mod {
			n.at += n.mod
		}
		return jen.Id("other").Call(jen.Id("rank"), b.sum(nil, n.at, n.by))
	case rankForm:
		return b.moved(jen.Id("rank"), n, b.ro.ranks[0], b.ro.ranks[len(b.ro.ranks)-1])
	}
	var columns []step
	for _, s := range n.by {
		columns = append(columns, step{at: s.column})
	}
	first, last := b.bounds(n.column, columns)
	least, most := b.ro.table[0][first], 0
	for _, row := range b.ro.table {
		least, most = min(least, slices.Min(row[first:last+1])), max(most, slices.Max(row[first:last+1]))
	}
	base := jen.Id("n").Index(b.sum(nil, n.column, columns))
	if n.list == nil {
		return b.moved(base, n, least, most)
	}
	least, most = slices.Min(n.list), slices.Max(n.list)
	base = jen.Index().Int().Values(literals(n.list)...).Index(base)
	if n.mod > 0 {
		base = jen.Id("rank").Op("+").Add(base)
		least, most = 0, n.mod-1 // the number itself, which is a rank
	}
	return b.moved(base, n, least, most)
}

// moved returns base plus what n adds. base is in least … most at all ranks. The sum is modulo
// n.mod if necessary.
func (b *builder) moved(base *jen.Statement, n operand, least, most int) *jen.Statement {
	lo, hi := b.bounds(n.at, n.by)
	lo, hi = lo+least, hi+most
	switch {
	case n.mod == 0 || lo >= 0 && hi < n.mod:
	case lo >= n.mod && hi < 2*n.mod:
		n.at -= n.mod
	default:
		for ; lo < 0; lo += n.mod {
			n.at += n.mod
		}
		return jen.Parens(b.sum(base, n.at, n.by)).Op("%").Id("Ranks")
	}
	return b.sum(base, n.at, n.by)
}

// around returns the i-th loop around the current one, as operand.by counts them.
func (b *builder) around(i int) *loop { return &b.loops[len(b.loops)-1-i] }

// bounds returns the least and the largest value that at reaches in its loops.
func (b *builder) bounds(at int, by []step) (lo, hi int) {
	lo, hi = at, at
	for i, s := range by {
		l := b.around(i)
		if s.listed {
			lo, hi = lo+slices.Min(l.values), hi+slices.Max(l.values)
			continue
		}
		d := s.at * (l.times - 1)
		lo, hi = lo+min(d, 0), hi+max(d, 0)
	}
	return lo, hi
}

// sum returns the sum of base, if there is one, at, and the growth of at in loops.
func (b *builder) sum(base *jen.Statement, at int, by []step) *jen.Statement {
	out := base
	add := func(sign int, term *jen.Statement) {
		switch {
		case out != nil && sign > 0:
			out = out.Op("+").Add(term)
		case out != nil:
			out = out.Op("-").Add(term)
		case sign > 0:
			out = term
		default:
			out = jen.Op("-").Add(term)
		}
	}
	loops := func(sign int) {
		for i := len(by) - 1; i >= 0; i-- {
			depth := len(b.loops) - 1 - i
			switch d := by[i].at * sign; {
			case by[i].listed && sign > 0:
				b.around(i).listed = true
				add(sign, jen.Id(listName(depth)))
			case d == 1:
				b.around(i).counted = true
				add(sign, jen.Id(loopName(depth)))
			case d > 1:
				b.around(i).counted = true
				add(sign, jen.Lit(d).Op("*").Id(loopName(depth)))
			}
		}
	}
	loops(1)
	switch {
	case at > 0:
		add(1, jen.Lit(at))
	case at < 0:
		add(-1, jen.Lit(-at))
	}
	loops(-1)
	if out == nil {
		return jen.Lit(0)
	}
	return out
}
