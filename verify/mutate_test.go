package verify

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// mutation changes a schedule at a random place. It may leave the schedule as it is.
type mutation struct {
	name  string
	apply func(*mutant)
}

// mutant is a copy of a schedule that mutations change.
type mutant struct {
	*ir.Schedule
	rnd *rand.Rand
}

func mutations() []mutation {
	return []mutation{
		{"drop a when slot", func(m *mutant) { m.inRule(func(r *ir.Rule) { r.When = m.drop(r.When) }) }},
		{"drop enter", func(m *mutant) {
			m.inRule(func(r *ir.Rule) {
				r.When = slices.DeleteFunc(r.When, func(s ir.Slot) bool { return s == ir.Enter })
			})
		}},
		{"replace a when slot", func(m *mutant) { m.inRule(func(r *ir.Rule) { m.replace(r.When, m.rank(r)) }) }},
		{"add a when slot", func(m *mutant) { m.inRule(func(r *ir.Rule) { r.When = append(r.When, m.slot(m.rank(r))) }) }},
		{"drop an action", func(m *mutant) {
			m.inRule(func(r *ir.Rule) { i := m.rnd.IntN(len(r.Do)); r.Do = slices.Delete(r.Do, i, i+1) })
		}},
		{"retarget a put", func(m *mutant) { m.inAction(func(a *ir.Action) { a.To = int32(m.rnd.IntN(m.Ranks)) }) }},
		{"swap a put's slot", func(m *mutant) { m.inAction(func(a *ir.Action) { a.Slot = m.slot(int(a.To)) }) }},
		{"split a message", func(m *mutant) { m.inAction(func(a *ir.Action) { a.Joins = false }) }},
		{"duplicate a put", func(m *mutant) {
			a := ir.Action{}
			m.inAction(func(b *ir.Action) { a = *b })
			if a.Op != 0 {
				m.inRule(func(r *ir.Rule) { r.Do = append(r.Do, a) })
			}
		}},
		{"double an action", func(m *mutant) {
			m.inSome(m.repairsOrAll(), func(r *ir.Rule) { i := m.rnd.IntN(len(r.Do)); r.Do = slices.Insert(r.Do, i, r.Do[i]) })
		}},
		{"exchange two puts", (*mutant).exchange},
		{"move a put to another rule", (*mutant).move},
		{"put instead of multicast, or the other way", func(m *mutant) { m.inAction(m.otherOp) }},
		{"drop a done slot", func(m *mutant) { p := m.program(); p.Done = m.drop(p.Done) }},
		{"drop all signals of done", func(m *mutant) {
			p := m.program()
			if m.rnd.IntN(2) == 0 {
				p = &m.Programs[m.Root]
			}
			p.Done = slices.DeleteFunc(p.Done, func(s ir.Slot) bool { return s.Kind() == ir.KindSignal })
		}},
		{"replace a done slot", func(m *mutant) { p := m.program(); m.replace(p.Done, p.Rank) }},
		{"change unless", func(m *mutant) { m.inRepair(func(r *ir.Rule) { r.Unless = m.slot(m.rank(r)) }) }},
		{"make a repair plain", func(m *mutant) { m.inRepair(func(r *ir.Rule) { r.Unless, r.After = ir.None, 0 }) }},
		{"make a plain rule a repair", func(m *mutant) { m.inRule(func(r *ir.Rule) { r.Unless = m.slot(m.rank(r)) }) }},
		{"drop a rule", func(m *mutant) {
			if p := m.program(); len(p.Rules) > 0 {
				i := m.rnd.IntN(len(p.Rules))
				p.Rules = slices.Delete(p.Rules, i, i+1)
			}
		}},
	}
}

// foldMutations returns mutations of folds and of the puts of their operands.
func foldMutations() []mutation {
	return []mutation{
		{"swap two operands", func(m *mutant) {
			m.inFold(func(_ int, fold []ir.Action) {
				i, j := m.rnd.IntN(len(fold)), m.rnd.IntN(len(fold))
				fold[i].Slot, fold[j].Slot = fold[j].Slot, fold[i].Slot
			})
		}},
		{"replace an operand", func(m *mutant) {
			m.inFold(func(rank int, fold []ir.Action) { fold[m.rnd.IntN(len(fold))].Slot = m.operand(rank) })
		}},
		{"double an operand", func(m *mutant) {
			m.inFold(func(_ int, fold []ir.Action) { fold[m.rnd.IntN(len(fold))].Slot = fold[0].Slot })
		}},
		{"fold into another slot", func(m *mutant) {
			m.inFold(func(rank int, fold []ir.Action) {
				made := m.operand(rank)
				for i := range fold {
					fold[i].As = made
				}
			})
		}},
		{"put as another slot", func(m *mutant) {
			m.inAction(func(a *ir.Action) {
				if n := m.Programs[a.To].Values; a.Op == ir.Put && n > 0 {
					a.As = ir.Value(m.rnd.IntN(n))
				}
			})
		}},
		{"put what another action puts", func(m *mutant) {
			m.inAction(func(a *ir.Action) {
				m.inAction(func(b *ir.Action) {
					if a.Op == ir.Put && a.As != ir.None && b.Slot.Kind() != ir.KindSignal {
						a.Slot = b.Slot
					}
				})
			})
		}},
	}
}

// recoveryMutations returns mutations of the recovery of a schedule.
func recoveryMutations() []mutation {
	return []mutation{
		{"drop an asked rank", func(m *mutant) { m.inProgram(func(p *ir.Program) { m.dropRank(&p.Ask) }) }},
		{"ask nobody", func(m *mutant) { m.inProgram(func(p *ir.Program) { p.Ask = nil }) }},
		{"replace an asked rank", func(m *mutant) { m.inProgram(func(p *ir.Program) { m.replaceRank(p.Ask, p.Rank) }) }},
		{"ask another rank in the end", func(m *mutant) {
			m.inProgram(func(p *ir.Program) { p.Ask = append(p.Ask, m.other(p.Rank)) })
		}},
		{"ask in reverse", func(m *mutant) { m.inProgram(func(p *ir.Program) { slices.Reverse(p.Ask) }) }},
		{"drop a report", func(m *mutant) { m.inProgram(func(p *ir.Program) { p.Reports, p.ReportTo = false, 0 }) }},
		{"retarget a report", func(m *mutant) { m.inProgram(m.retargetReport) }},
		{"retarget a report at both ends", func(m *mutant) {
			m.inProgram(func(p *ir.Program) {
				m.retargetReport(p)
				for r := range m.Programs {
					q := &m.Programs[r]
					q.ReportFrom = slices.DeleteFunc(q.ReportFrom, func(from int32) bool { return int(from) == p.Rank })
				}
				to := &m.Programs[p.ReportTo]
				to.ReportFrom = append(to.ReportFrom, int32(p.Rank))
			})
		}},
		{"drop a reporter", func(m *mutant) { m.inProgram(func(p *ir.Program) { m.dropRank(&p.ReportFrom) }) }},
		{"replace a reporter", func(m *mutant) { m.inProgram(func(p *ir.Program) { m.replaceRank(p.ReportFrom, p.Rank) }) }},
		{"add a reporter", func(m *mutant) {
			m.inProgram(func(p *ir.Program) { p.ReportFrom = append(p.ReportFrom, m.other(p.Rank)) })
		}},
		{"double no signal", func(m *mutant) { m.inProgram(func(p *ir.Program) { p.Twice = nil }) }},
		{"double another signal", func(m *mutant) { m.inProgram(m.doubleAnother) }},
	}
}

// mutate returns a changed copy of s and the names of the changes.
func mutate(s *ir.Schedule, rnd *rand.Rand) (*ir.Schedule, []string) {
	m := &mutant{clone(s), rnd}
	var names []string
	all := mutations()
	if s.Recovers {
		all = append(all, recoveryMutations()...)
	}
	if s.Folds() {
		all = append(all, foldMutations()...)
	}
	for range 1 + rnd.IntN(3)*rnd.IntN(2) {
		mut := all[rnd.IntN(len(all))]
		mut.apply(m)
		m.tidy()
		names = append(names, mut.name)
	}
	return m.Schedule, names
}

func clone(s *ir.Schedule) *ir.Schedule {
	c := *s
	c.Programs = slices.Clone(s.Programs)
	for r := range c.Programs {
		p := &c.Programs[r]
		p.Done, p.Rules = slices.Clone(p.Done), slices.Clone(p.Rules)
		p.Ask, p.ReportFrom, p.Twice = slices.Clone(p.Ask), slices.Clone(p.ReportFrom), slices.Clone(p.Twice)
		for i := range p.Rules {
			p.Rules[i].When = slices.Clone(p.Rules[i].When)
			p.Rules[i].Do = slices.Clone(p.Rules[i].Do)
		}
	}
	return &c
}

// tidy removes rules that wait for nothing or do nothing, and sorts what is sorted in every
// schedule.
func (m *mutant) tidy() {
	sortRecovery(m.Schedule)
	for r := range m.Programs {
		m.Programs[r].Rules = slices.DeleteFunc(m.Programs[r].Rules, func(r ir.Rule) bool {
			return len(r.When) == 0 || len(r.Do) == 0
		})
		for i := range m.Programs[r].Rules {
			tidyMessages(m.Programs[r].Rules[i].Do)
		}
	}
}

// tidyMessages removes actions from messages that cannot be in one.
func tidyMessages(do []ir.Action) {
	start := 0
	for i := range do {
		a := &do[i]
		if a.Joins && i > start && a.Op == ir.Fold && do[start].Op == ir.Fold && a.As == do[start].As {
			continue
		}
		if a.Joins && i > start && a.Op == ir.Put && a.To == do[start].To &&
			a.Slot.Kind() != ir.KindSignal && do[start].Op == ir.Put && do[start].Slot.Kind() != ir.KindSignal &&
			!slices.ContainsFunc(do[start:i], func(b ir.Action) bool { return b.Slot == a.Slot || b.Sets() == a.Sets() }) {
			continue
		}
		a.Joins, start = false, i
	}
}

func (m *mutant) program() *ir.Program { return &m.Programs[m.rnd.IntN(m.Ranks)] }

// rules returns the rules for which pass is true.
func (m *mutant) rules(pass func(*ir.Rule) bool) []*ir.Rule {
	var rules []*ir.Rule
	for r := range m.Programs {
		for i := range m.Programs[r].Rules {
			if rule := &m.Programs[r].Rules[i]; pass(rule) {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// repairsOrAll returns, at random, the repairs if there are any, or all rules.
func (m *mutant) repairsOrAll() []*ir.Rule {
	if repairs := m.rules((*ir.Rule).IsRepair); len(repairs) > 0 && m.rnd.IntN(2) == 0 {
		return repairs
	}
	return m.rules(func(*ir.Rule) bool { return true })
}

func (m *mutant) inSome(rules []*ir.Rule, f func(*ir.Rule)) {
	if len(rules) > 0 {
		f(rules[m.rnd.IntN(len(rules))])
	}
}

func (m *mutant) inRule(f func(*ir.Rule)) {
	m.inSome(m.rules(func(*ir.Rule) bool { return true }), f)
}

func (m *mutant) inRepair(f func(*ir.Rule)) { m.inSome(m.rules((*ir.Rule).IsRepair), f) }

func (m *mutant) inAction(f func(*ir.Action)) {
	m.inRule(func(r *ir.Rule) { f(&r.Do[m.rnd.IntN(len(r.Do))]) })
}

// rank returns the rank that has the rule.
func (m *mutant) rank(r *ir.Rule) int {
	for rank := range m.Programs {
		for i := range m.Programs[rank].Rules {
			if r == &m.Programs[rank].Rules[i] {
				return rank
			}
		}
	}
	return -1
}

// slot returns a random slot of rank.
func (m *mutant) slot(rank int) ir.Slot {
	signals := m.Programs[rank].Signals
	i := m.rnd.IntN(1 + m.Chunks + signals + m.Programs[rank].Values)
	switch {
	case i == 0:
		return ir.Enter
	case i <= m.Chunks:
		return ir.Chunk(i - 1)
	case i <= m.Chunks+signals:
		return ir.Signal(i - 1 - m.Chunks)
	}
	return ir.Value(i - 1 - m.Chunks - signals)
}

// operand returns a random slot of rank that can be folded.
func (m *mutant) operand(rank int) ir.Slot {
	inputs := m.InputChunks()
	i := m.rnd.IntN(m.Chunks + inputs + m.Programs[rank].Values)
	switch {
	case i < m.Chunks:
		return ir.Chunk(i)
	case i < m.Chunks+inputs:
		return ir.Input(i - m.Chunks)
	}
	return ir.Value(i - m.Chunks - inputs)
}

// inFold calls f with a random fold and its rank, if there is any.
func (m *mutant) inFold(f func(rank int, fold []ir.Action)) {
	m.inSome(m.rules(func(r *ir.Rule) bool {
		return slices.ContainsFunc(r.Do, func(a ir.Action) bool { return a.Op == ir.Fold })
	}), func(r *ir.Rule) {
		var folds [][]ir.Action
		for i := 0; i < len(r.Do); {
			message := ir.MessageOf(r.Do[i:])
			if message[0].Op == ir.Fold {
				folds = append(folds, message)
			}
			i += len(message)
		}
		f(m.rank(r), folds[m.rnd.IntN(len(folds))])
	})
}

func (m *mutant) drop(slots []ir.Slot) []ir.Slot {
	if len(slots) == 0 {
		return slots
	}
	i := m.rnd.IntN(len(slots))
	return slices.Delete(slots, i, i+1)
}

func (m *mutant) replace(slots []ir.Slot, rank int) {
	if len(slots) > 0 {
		slots[m.rnd.IntN(len(slots))] = m.slot(rank)
	}
}

// exchange swaps two actions, so that every slot keeps its number of writers.
func (m *mutant) exchange() {
	m.inAction(func(a *ir.Action) {
		m.inAction(func(b *ir.Action) { *a, *b = *b, *a })
	})
}

// move moves an action from one rule to the end of another of the same rank.
func (m *mutant) move() {
	m.inRule(func(from *ir.Rule) {
		p := &m.Programs[m.rank(from)]
		to := &p.Rules[m.rnd.IntN(len(p.Rules))]
		i := m.rnd.IntN(len(from.Do))
		a := from.Do[i]
		from.Do = slices.Delete(from.Do, i, i+1)
		to.Do = append(to.Do, a)
	})
}

func (m *mutant) otherOp(a *ir.Action) {
	if a.Op == ir.Mcast {
		*a = ir.PutTo(a.Slot, m.rnd.IntN(m.Ranks))
	} else {
		*a = ir.McastOf(a.Slot)
	}
}

func (m *mutant) inProgram(f func(*ir.Program)) { f(m.program()) }

func (m *mutant) dropRank(ranks *[]int32) {
	if n := len(*ranks); n > 0 {
		i := m.rnd.IntN(n)
		*ranks = slices.Delete(*ranks, i, i+1)
	}
}

func (m *mutant) replaceRank(ranks []int32, rank int) {
	if n := len(ranks); n > 0 {
		ranks[m.rnd.IntN(n)] = m.other(rank)
	}
}

// other returns another rank, if there is one.
func (m *mutant) other(rank int) int32 {
	return int32((rank + 1 + m.rnd.IntN(max(1, m.Ranks-1))) % m.Ranks)
}

func (m *mutant) retargetReport(p *ir.Program) {
	p.Reports, p.ReportTo = true, m.other(p.Rank)
}

// doubleAnother adds a random signal of some rank to the signals that are sent twice.
func (m *mutant) doubleAnother(p *ir.Program) {
	to := m.program()
	if to.Signals > 0 {
		p.Twice = append(p.Twice, ir.PutTo(ir.Signal(m.rnd.IntN(to.Signals)), to.Rank))
	}
}

// sortRecovery sorts the lists of the recovery and removes duplicates.
func sortRecovery(s *ir.Schedule) {
	for r := range s.Programs {
		p := &s.Programs[r]
		slices.Sort(p.ReportFrom)
		p.ReportFrom = slices.Compact(p.ReportFrom)
		slices.SortFunc(p.Twice, func(a, b ir.Action) int { return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.Slot, b.Slot)) })
		p.Twice = slices.Compact(p.Twice)
	}
}
