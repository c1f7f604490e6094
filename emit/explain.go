package emit

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/internal/ir/term"
	"github.com/schedgen/schedgen/ir"
)

// explainWidth is the line width of [Explain].
const explainWidth = 80

// Explain describes the program of one rank in plain sentences: what the rank waits for, which
// ranks send that, what the rank then does, what it does about lost multicasts ([ir.Recovery]), and
// when its call returns. It fails if s has no such rank, or if s names ranks or slots that do not
// exist.
func Explain(w io.Writer, s *ir.Schedule, rank int) error {
	if rank < 0 || rank >= len(s.Programs) {
		return fmt.Errorf("explain %s: rank %d is not in 0 … %d", s.Name(), rank, len(s.Programs)-1)
	}
	calm, err := fixpoint.Run(s, fixpoint.Model{})
	if err != nil {
		return fmt.Errorf("explain %s: %w", s.Name(), err)
	}
	e := &explainer{s: s, p: &s.Programs[rank], calm: calm, term: term.Of(s, calm), from: senders(s, rank), told: map[ir.Slot]bool{}}
	if _, err := io.WriteString(w, e.text()); err != nil {
		return fmt.Errorf("explain %s: %w", s.Name(), err)
	}
	return nil
}

type explainer struct {
	s    *ir.Schedule
	p    *ir.Program
	calm *fixpoint.Result // nothing is lost
	term *term.Run        // of the calm run
	from map[ir.Slot]source
	told map[ir.Slot]bool // the slots whose source has been told
}

// source is the ranks that send a slot to a rank, ascending.
type source struct {
	ranks  []int
	repair bool // all of them send it only as a repair
	folded bool // the rank folds it itself
}

// senders returns the ranks that send each slot to rank. Repairs count only for slots that come in
// no other way.
func senders(s *ir.Schedule, rank int) map[ir.Slot]source {
	out := map[ir.Slot]source{}
	for from := range s.Programs {
		for i := range s.Programs[from].Rules {
			rule := &s.Programs[from].Rules[i]
			for _, a := range rule.Do {
				switch {
				case a.Op == ir.Fold && from == rank:
					out[a.As] = source{folded: true}
				case a.Op == ir.Put && int(a.To) == rank, a.Op == ir.Mcast && from != rank:
					out[a.Sets()] = out[a.Sets()].with(from, rule.IsRepair())
				}
			}
		}
	}
	return out
}

func (s source) with(rank int, repair bool) source {
	switch {
	case s.folded:
		return s
	case len(s.ranks) == 0, s.repair && !repair:
		return source{ranks: []int{rank}, repair: repair}
	case repair && !s.repair:
		return s
	}
	return source{ranks: set(append(s.ranks, rank)), repair: repair}
}

func (e *explainer) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "rank %d of %s (%s)\n\n", e.p.Rank, e.s.Name(), headerFacts(&e.s.Header))
	switch {
	case len(e.p.Rules) > 0:
	case e.p.Recovery.IsNone():
		b.WriteString(item("", "It sends nothing."))
	default:
		b.WriteString(item("", "It has no rules."))
	}
	for i := range e.p.Rules {
		b.WriteString(item(strconv.Itoa(i+1)+".", e.rule(&e.p.Rules[i])))
	}
	for _, sentence := range append(e.together(), e.recovery()...) {
		b.WriteString(item("", sentence))
	}
	b.WriteString(item("", e.done()))
	if names := namesOf(e.p); len(names) > 0 {
		b.WriteString(item("", "Names: "+strings.Join(names, ", ")+"."))
	}
	return b.String()
}

// together names the repairs that can be due at the same time: they put chunks, and wait equally
// long for the same slots. The rank then makes one at a time ([ir.Rule]).
func (e *explainer) together() (sentences []string) {
	rules, told := e.p.Rules, map[int]bool{}
	for i := range rules {
		if told[i] || !putsInRepair(&rules[i]) {
			continue
		}
		numbers := []int{i + 1}
		for k := i + 1; k < len(rules); k++ {
			if r := &rules[k]; putsInRepair(r) && r.After == rules[i].After && slices.Equal(r.When, rules[i].When) {
				numbers, told[k] = append(numbers, k+1), true
			}
		}
		if len(numbers) > 1 {
			sentences = append(sentences, fmt.Sprintf("Repairs %s can be due together. It then makes one at a time, and each of the others "+
				"waits at least twice as long as the one before it.", list(intRuns(numbers, " to "))))
		}
	}
	return sentences
}

// putsInRepair reports whether r is a repair that puts a chunk.
func putsInRepair(r *ir.Rule) bool {
	return r.IsRepair() && slices.ContainsFunc(r.Do, func(a ir.Action) bool { return a.Slot.Kind() == ir.KindChunk })
}

// recovery describes what the rank does about lost multicasts beside its rules.
func (e *explainer) recovery() (sentences []string) {
	r := &e.p.Recovery
	if len(r.Ask) > 0 {
		ask := fmt.Sprintf("Ask: it asks rank %d for chunks that a multicast has not brought", r.Ask[0])
		for _, rank := range r.Ask[1:] {
			ask += fmt.Sprintf(", then rank %d", rank)
		}
		if ask += ","; len(r.Ask) > 1 {
			ask += " the last one"
		}
		sentences = append(sentences, ask+" again and again.")
	}
	if r.Reports || len(r.ReportFrom) > 0 {
		sentences = append(sentences, report(r))
	}
	if len(r.Twice) > 0 {
		sentences = append(sentences, fmt.Sprintf("Twice: while it sees losses, it also %s by datagram.", e.actions(r.Twice)))
	}
	return sentences
}

// report describes to whom a rank reports, and who reports to it.
func report(r *ir.Recovery) string {
	var from []int
	for _, rank := range r.ReportFrom {
		from = append(from, int(rank))
	}
	const what = "how much of a long multicast has arrived"
	switch {
	case !r.Reports:
		return fmt.Sprintf("Report: %s %s it %s.", rankPhrase(from), verb(len(from), "tell"), what)
	case len(from) == 0:
		return fmt.Sprintf("Report: it tells rank %d %s.", r.ReportTo, what)
	}
	return fmt.Sprintf("Report: it tells rank %d %s at itself and, by their reports, at %s.", r.ReportTo, what, rankPhrase(from))
}

// item formats a sentence as an item of a list, broken at the line width.
func item(mark, sentence string) string {
	var b strings.Builder
	for i, r := range wrap(sentence, explainWidth-6, plain) {
		if i > 0 {
			mark = ""
		}
		fmt.Fprintf(&b, "  %-3s %s", mark, r.render(false))
	}
	return b.String()
}

func (e *explainer) rule(r *ir.Rule) string {
	if !r.IsRepair() {
		return fmt.Sprintf("When %s, it %s.", e.state("it", r.When), e.actions(r.Do))
	}
	kind := "Repair"
	if len(r.Do) > 0 && ruleClass(r, r.Do[0]) == request {
		kind = "Request"
	}
	return fmt.Sprintf("%s: while %s and %s is missing, it %s, %s, and again with growing waits.",
		kind, e.state("it", r.When), e.slots([]ir.Slot{r.Unless}), e.actions(r.Do), delay(r.After))
}

func delay(after int) string {
	switch after {
	case 0:
		return "at once"
	case 1:
		return "after the base timeout"
	}
	return fmt.Sprintf("after %d × the base timeout", after)
}

// done describes what the call waits for. For the run without losses it also says when the call
// returns.
func (e *explainer) done() string {
	at := e.calm.Returns()[e.p.Rank]
	if at == 0 {
		return "The call returns at once."
	}
	text := "The call returns when "
	switch waits := len(e.p.Done) > 0 && !slices.Equal(e.p.Done, []ir.Slot{ir.Enter}); {
	case waits && e.sends():
		text += e.state("the rank", e.p.Done) + ", and what it sends is on its way"
	case waits:
		text += e.state("the rank", e.p.Done)
	default:
		text += "what the rank sends is on its way"
	}
	if at < 0 {
		return text + ". If nothing is lost, that is never so."
	}
	return fmt.Sprintf("%s: if nothing is lost, after round %d of %d.", text, at, e.calm.Rounds())
}

// sends reports whether the rank sends anything if nothing is lost.
func (e *explainer) sends() bool {
	for i := range e.p.Rules {
		if e.calm.Rule(e.p.Rank, i) >= 0 && sends(e.p.Rules[i].Do) {
			return true
		}
	}
	return false
}

// state describes a condition of the rank, which who names: "it has entered and has chunk 0 and
// signal 1 (from rank 3)".
func (e *explainer) state(who string, slots []ir.Slot) string {
	var parts []string
	if slices.Contains(slots, ir.Enter) {
		parts = append(parts, who+" has entered")
	}
	has := who + " has "
	if len(parts) > 0 {
		has = "has "
	}
	var rest []ir.Slot
	for _, s := range slots {
		if s != ir.Enter {
			rest = append(rest, s)
		}
	}
	if len(rest) > 0 {
		parts = append(parts, has+e.slots(rest))
	}
	return strings.Join(parts, " and ")
}

// slots describes slots. When a slot is mentioned for the first time, it adds the ranks that send
// the slot. Neighbouring slots with the same origin share a phrase.
func (e *explainer) slots(slots []ir.Slot) string {
	var parts []string
	for i := 0; i < len(slots); {
		origin := e.origin(slots[i])
		n := i + 1
		for n < len(slots) && slots[n].Kind() == slots[i].Kind() && e.origin(slots[n]) == origin {
			n++
		}
		parts = append(parts, slotPhrase(set(slices.Clone(slots[i:n])))+origin)
		i = n
	}
	for _, s := range slots {
		e.told[s] = true
	}
	return list(parts)
}

// origin says where a slot comes from, such as " (from rank 3)", unless that has been told.
func (e *explainer) origin(s ir.Slot) string {
	from := e.from[s]
	switch {
	case e.told[s], from.folded:
		return ""
	case s.Kind() == ir.KindChunk && e.s.Holds(e.p.Rank, s.Index()):
		return " (its own)"
	case len(from.ranks) == 0:
		return " (that nobody sends)"
	case from.repair && s.Kind() == ir.KindSignal:
		return " (a request, from " + anyOf(from.ranks) + ")"
	case from.repair:
		return " (only to repair, from " + anyOf(from.ranks) + ")"
	}
	return " (from " + anyOf(from.ranks) + ")"
}

// actions describes the actions of a rule. A fold, or a message of several slots, has its own
// phrase. Other neighbouring actions with the same slot or destination share one. Phrases with the
// same verb name it once.
func (e *explainer) actions(do []ir.Action) string {
	var parts []string
	last := ""
	for i := 0; i < len(do); {
		n := alikeActions(do[i:])
		verb, what := actionPhrase(do[i : i+n])
		if do[i].Op == ir.Fold {
			verb, what = "folds", e.fold(do[i:i+n])
		} else if do[i : i+n][n-1].Joins {
			what += " in one message"
		}
		if verb != last {
			what = verb + " " + what
		}
		if parts, last = append(parts, what), verb; do[i].Op == ir.Fold {
			last = "" // each fold is told by itself
		}
		i += n
	}
	return list(parts)
}

// alikeActions returns how many actions at the start of do share a phrase: one message of several
// slots, or multicasts, or puts of one slot, or puts of one kind of slot to one rank.
func alikeActions(do []ir.Action) int {
	if n := len(ir.MessageOf(do)); n > 1 || do[0].Op == ir.Fold || do[0].As != ir.None {
		return n
	}
	for i := range do {
		if do[i].Joins { // the message before it has its own phrase
			do = do[:i-1]
			break
		}
		if do[i].Op == ir.Fold || do[i].As != ir.None {
			do = do[:i]
			break
		}
	}
	slot, dest := 1, 1
	for slot < len(do) && do[slot].Op == do[0].Op && do[slot].Slot == do[0].Slot {
		slot++
	}
	for dest < len(do) && do[dest].Op == do[0].Op && do[dest].To == do[0].To && do[dest].Slot.Kind() == do[0].Slot.Kind() {
		dest++
	}
	return max(slot, dest)
}

// actionPhrase describes actions that share a phrase, as a verb and the rest. Slots and ranks
// are in the order in which the rank sends.
func actionPhrase(do []ir.Action) (verb, what string) {
	var slots, sets []ir.Slot
	var to []int
	renamed := false
	for _, a := range do {
		slots, sets, to = append(slots, a.Slot), append(sets, a.Sets()), append(to, int(a.To))
		renamed = renamed || a.As != ir.None
	}
	what = slotPhrases(slots)
	switch {
	case do[0].Op == ir.Mcast:
		return "multicasts", what + " to all others"
	case do[0].Slot.Kind() == ir.KindSignal:
		return "sets", what + " of " + rankPhrase(slices.Compact(to))
	}
	if what += " to " + rankPhrase(slices.Compact(to)); renamed {
		what += " as " + slotPhrases(sets)
	}
	return "puts", what
}

// fold describes the operands of a fold, its result and the result's term: "its contribution 0 and
// partial result 0 into partial result 1, (01)".
func (e *explainer) fold(do []ir.Action) string {
	var of []string
	for i := 0; i < len(do); { // neighbours of one kind share a phrase if they ascend
		n := i + 1
		for n < len(do) && do[n].Slot == do[n-1].Slot+1 {
			n++
		}
		var run []ir.Slot
		for _, a := range do[i:n] {
			run = append(run, a.Slot)
		}
		of = append(of, slotPhrase(run))
		i = n
	}
	made := do[0].As
	return fmt.Sprintf("%s into %s, %s", list(of), slotPhrase([]ir.Slot{made}), e.term.Text(e.term.Slot(e.p.Rank, made), explainWidth-12))
}
