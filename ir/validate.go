package ir

import "fmt"

// Validate returns an error that names the first fault if s is not a schedule, because a count,
// rank, slot or operation is out of range. The readers return only schedules that Validate accepts,
// and the writers write no others. Package verify checks whether a schedule does what it should.
func Validate(s *Schedule) error {
	if f := check(s); f != nil {
		return fmt.Errorf("%s: %s", f.path(f.rank), f.msg)
	}
	return nil
}

// fault says where, and why, s is not a schedule. An index is -1 if the fault is not in a program,
// rule or action.
type fault struct {
	rank, rule, action int
	field              string
	msg                string
}

// path spells the place of the fault in the words of the JSON form. program is the position of the
// rank's program in the document.
func (f *fault) path(program int) string {
	var p []byte
	if f.rank >= 0 {
		p = fmt.Appendf(p, "programs[%d].", program)
	}
	if f.rule >= 0 {
		p = fmt.Appendf(p, "rules[%d].", f.rule)
	}
	if f.action >= 0 {
		p = fmt.Appendf(p, "do[%d].", f.action)
	}
	return string(append(p, f.field...))
}

// at returns a fault at the given place.
func at(rank, rule, action int, field, format string, args ...any) *fault {
	return &fault{rank, rule, action, field, fmt.Sprintf(format, args...)}
}

// inRange returns a fault of a field of the header unless lo ≤ v ≤ hi.
func inRange(field string, v, lo, hi int) *fault {
	if v < lo || v > hi {
		return at(-1, -1, -1, field, "%d is out of range %d … %d", v, lo, hi)
	}
	return nil
}

func check(s *Schedule) *fault {
	if f := checkHeader(&s.Header); f != nil {
		return f
	}
	if len(s.Programs) != s.Ranks {
		return at(-1, -1, -1, "programs", "%d programs for %d ranks", len(s.Programs), s.Ranks)
	}
	if f := checkSlots(s); f != nil {
		return f
	}
	for rank := range s.Programs {
		if f := checkProgram(s, rank); f != nil {
			return f
		}
	}
	return nil
}

func checkHeader(h *Header) *fault {
	if !isCollective(h.Collective) {
		return at(-1, -1, -1, "collective", "unknown collective %.*q", MaxName, h.Collective)
	}
	if !isName(h.Algorithm) {
		return at(-1, -1, -1, "algorithm", "%.*q is not a name", MaxName, h.Algorithm)
	}
	if f := inRange("ranks", h.Ranks, 1, MaxRanks); f != nil {
		return f
	}
	if f := checkMessage(h); f != nil {
		return f
	}
	return checkParams(h.Params)
}

// checkMessage checks the fields of the header that describe the message: root, chunks and
// recovery.
func checkMessage(h *Header) *fault {
	if !h.HasMessage() && h.Recovers {
		return at(-1, -1, -1, "format", "a barrier has no recovery: its rules repair what it multicasts")
	}
	if h.Rooted() {
		if f := inRange("root", h.Root, 0, h.Ranks-1); f != nil {
			return f
		}
	} else if h.Root != 0 {
		return at(-1, -1, -1, "root", "%d: %s has no root, so root must be 0", h.Root, withArticle(h.Collective))
	}
	if !h.HasMessage() {
		return inRange("chunks", h.Chunks, 0, MaxChunks)
	}
	if f := inRange("chunks", h.Chunks, 1, MaxChunks); f != nil {
		return f
	}
	if why := chunksFault(h); why != "" {
		return at(-1, -1, -1, "chunks", "%s", why)
	}
	return nil
}

// chunksFault returns the reason why the blocks cannot have h.Chunks chunks, or "".
func chunksFault(h *Header) string {
	if n := h.Blocks(); n > 0 && h.Chunks%n != 0 {
		return fmt.Sprintf("%d: %s among %d ranks has %d blocks, and each has the same number of chunks",
			h.Chunks, withArticle(h.Collective), h.Ranks, n)
	}
	return ""
}

// withArticle returns "a barrier" or "an allgather".
func withArticle(collective string) string {
	switch collective[0] {
	case 'a', 'e', 'i', 'o':
		return "an " + collective
	}
	return "a " + collective
}

func checkParams(params []Param) *fault {
	if f := inRange("params", len(params), 0, MaxParams); f != nil {
		return f
	}
	for i, p := range params {
		if !isParam(p.Name) {
			return at(-1, -1, -1, "params", "%.*q is not the name of a parameter", MaxName, p.Name)
		}
		if i > 0 && params[i-1].Name >= p.Name {
			return at(-1, -1, -1, "params", "%s after %s: not sorted by name", p.Name, params[i-1].Name)
		}
		if f := inRange("params."+p.Name, p.Value, 0, MaxParam); f != nil {
			return f
		}
	}
	return nil
}

// checkSlots checks the numbers of signals and partial results. The checks of rules rely on them.
func checkSlots(s *Schedule) *fault {
	total, values := 0, 0
	for r := range s.Programs {
		p := &s.Programs[r]
		if p.Rank != r {
			return at(r, -1, -1, "rank", "%d where rank %d belongs", p.Rank, r)
		}
		if p.Signals < 0 || p.Signals > MaxSignals {
			return at(r, -1, -1, "signals", "%d is out of range 0 … %d", p.Signals, MaxSignals)
		}
		if total += p.Signals; total > MaxSlots {
			return at(r, -1, -1, "signals", "the schedule has more than %d signals up to this rank", MaxSlots)
		}
		if p.Values < 0 || p.Values > MaxValues {
			return at(r, -1, -1, "values", "%d is out of range 0 … %d", p.Values, MaxValues)
		}
		if p.Values > 0 && !s.HasMessage() {
			return at(r, -1, -1, "values", "%d partial results of %s, which moves no bytes", p.Values, withArticle(s.Collective))
		}
		if values += p.Values; values > MaxSlots {
			return at(r, -1, -1, "values", "the schedule has more than %d partial results up to this rank", MaxSlots)
		}
	}
	return nil
}

func checkProgram(s *Schedule, rank int) *fault {
	p := &s.Programs[rank]
	for i := range p.Rules {
		if f := checkRule(s, rank, i); f != nil {
			return f
		}
	}
	for _, slot := range p.Done {
		if why := awaitedFault(s, rank, slot); why != "" {
			return at(rank, -1, -1, "done", "%s", why)
		}
	}
	return checkRecovery(s, rank)
}

func checkRecovery(s *Schedule, rank int) *fault {
	p := &s.Programs[rank]
	if field, why := recoveryFault(&s.Header, p); why != "" {
		return at(rank, -1, -1, field, "%s", why)
	}
	for i, a := range p.Twice {
		if why := slotFault(s, int(a.To), a.Slot); why != "" {
			return at(rank, -1, -1, fmt.Sprintf("twice[%d]", i), "%s", why)
		}
	}
	return nil
}

func checkRule(s *Schedule, rank, rule int) *fault {
	r := &s.Programs[rank].Rules[rule]
	if len(r.When) == 0 {
		return at(rank, rule, -1, "when", "a rule waits for at least one slot")
	}
	for _, slot := range r.When {
		if why := awaitedFault(s, rank, slot); why != "" {
			return at(rank, rule, -1, "when", "%s", why)
		}
	}
	if f := checkRepair(s, rank, rule); f != nil {
		return f
	}
	if len(r.Do) == 0 {
		return at(rank, rule, -1, "do", "a rule does at least one action")
	}
	for i, a := range r.Do {
		if field, why := actionFault(s, rank, a); why != "" {
			return at(rank, rule, i, field, "%s", why)
		}
		if why := repairedFault(r, a); why != "" {
			return at(rank, rule, i, "slot", "%s", why)
		}
	}
	for i := 0; i < len(r.Do); {
		message := MessageOf(r.Do[i:])
		if k, why := messageFault(message); why != "" {
			return at(rank, rule, i+k, "slot", "%s", why)
		}
		i += len(message)
	}
	return nil
}

// repairedFault returns the reason why a repair r cannot do a, or "". A repair may act several
// times, so it puts only chunks and signals, which a rank can receive again.
func repairedFault(r *Rule, a Action) string {
	switch {
	case !r.IsRepair():
	case a.Op == Fold:
		return "a repair folds nothing"
	case a.As != None || a.Slot.Kind() != KindChunk && a.Slot.Kind() != KindSignal:
		return fmt.Sprintf("%v: a repair puts only chunks, as chunks, and signals", a.Slot)
	}
	return ""
}

// messageFault returns the index of an action that cannot be part of a message or fold, and the
// reason. The reason is "" if all actions can.
func messageFault(message []Action) (i int, why string) {
	if message[0].Joins {
		return 0, fmt.Sprintf("%v joins no message: no action stands before it", message[0].Slot)
	}
	if message[0].Op == Fold {
		for i, a := range message {
			switch {
			case a.Op != Fold || a.As != message[0].As:
				return i, fmt.Sprintf("%v cannot be an action of the fold of %v", a.Slot, message[0].As)
			case a.Slot == a.As:
				return i, fmt.Sprintf("%v is folded from itself", a.As)
			}
		}
		return 0, ""
	}
	if len(message) == 1 {
		return 0, ""
	}
	sent := make(map[Slot]bool, len(message))
	set := make(map[Slot]bool, len(message))
	for i, a := range message {
		switch {
		case a.Op != Put || a.Slot.Kind() == KindSignal:
			return i, fmt.Sprintf("%v: only chunks, partial results and contributions that are put go in one message with others", a.Slot)
		case a.To != message[0].To:
			return i, fmt.Sprintf("%v joins a message to another rank, %d", a.Slot, message[0].To)
		case sent[a.Slot] || set[a.Sets()]:
			return i, fmt.Sprintf("%v twice in one message", a.Slot)
		}
		sent[a.Slot], set[a.Sets()] = true, true
	}
	return 0, ""
}

func checkRepair(s *Schedule, rank, rule int) *fault {
	r := &s.Programs[rank].Rules[rule]
	if !r.IsRepair() {
		if r.After != 0 {
			return at(rank, rule, -1, "after", "%d in a rule without unless", r.After)
		}
		return nil
	}
	if why := awaitedFault(s, rank, r.Unless); why != "" {
		return at(rank, rule, -1, "unless", "%s", why)
	}
	if r.After < 0 || r.After > MaxAfter {
		return at(rank, rule, -1, "after", "%d is out of range 0 … %d", r.After, MaxAfter)
	}
	return nil
}

// actionFault returns the field of a, an action of rank, that is at fault, and the reason. The
// reason is "" if there is no fault.
func actionFault(s *Schedule, rank int, a Action) (field, why string) {
	switch a.Op {
	case Put:
		if a.To < 0 || int(a.To) >= s.Ranks {
			return "to", fmt.Sprintf("%d is out of range 0 … %d", a.To, s.Ranks-1)
		}
		if why := renamedFault(a.Slot, a.As); why != "" {
			if a.As == None {
				return "slot", why
			}
			return "as", why
		}
		if a.Slot.Kind() == KindSignal {
			return "slot", slotFault(s, int(a.To), a.Slot)
		}
		if why := slotFault(s, rank, a.Slot); why != "" || a.As == None {
			return "slot", why
		}
		return "as", slotFault(s, int(a.To), a.As)
	case Mcast:
		if a.Slot.Kind() != KindChunk {
			return "slot", fmt.Sprintf("%s: only a chunk can be multicast", a.Slot)
		}
		if a.To != 0 {
			return "to", fmt.Sprintf("%d: a multicast names no rank", a.To)
		}
		if a.As != None {
			return "as", "a multicast chunk keeps its name"
		}
		return "slot", slotFault(s, rank, a.Slot)
	case Fold:
		if a.To != 0 {
			return "to", fmt.Sprintf("%d: a fold names no rank", a.To)
		}
		if why := operandFault(a.Slot); why != "" {
			return "of", why
		}
		if why := madeFault(a.As); why != "" {
			return "slot", why
		}
		if !s.HasMessage() {
			return "op", fmt.Sprintf("%s moves no bytes, so it folds nothing", withArticle(s.Collective))
		}
		if why := slotFault(s, rank, a.Slot); why != "" {
			return "of", why
		}
		return "slot", slotFault(s, rank, a.As)
	}
	return "op", fmt.Sprintf("unknown operation %d", a.Op)
}

// renamedFault returns the reason why slot cannot be put under the name as, or "".
func renamedFault(slot, as Slot) string {
	switch kind := slot.Kind(); {
	case kind == KindEnter || kind == KindNone:
		return fmt.Sprintf("%v cannot be put", slot)
	case as == None && (kind == KindValue || kind == KindInput):
		return fmt.Sprintf("%v becomes a partial result at its destination, so as must name one", slot)
	case as == None:
		return ""
	case kind == KindSignal:
		return fmt.Sprintf("%v: a signal keeps its name", slot)
	case as.Kind() != KindValue:
		return fmt.Sprintf("%v as %v: what is put under another name becomes a partial result, v0 …", slot, as)
	}
	return ""
}

// operandFault returns the reason why slot cannot be folded, or "".
func operandFault(slot Slot) string {
	switch slot.Kind() {
	case KindChunk, KindValue, KindInput:
		return ""
	}
	return fmt.Sprintf("%v cannot be folded: it has no bytes", slot)
}

// madeFault returns the reason why a fold cannot make slot, or "".
func madeFault(slot Slot) string {
	switch slot.Kind() {
	case KindChunk, KindValue:
		return ""
	}
	return fmt.Sprintf("%v: a fold makes a chunk or a partial result", slot)
}

// awaitedFault returns the reason why rank cannot wait for slot, or "".
func awaitedFault(s *Schedule, rank int, slot Slot) string {
	if slot.Kind() == KindInput {
		return fmt.Sprintf("%v: a contribution is there from enter on, so no rule waits for it", slot)
	}
	return slotFault(s, rank, slot)
}

// slotFault returns the reason why rank does not have slot, or "".
func slotFault(s *Schedule, rank int, slot Slot) string {
	switch slot.Kind() {
	case KindEnter:
		if slot != Enter {
			return "enter with an index"
		}
		return ""
	case KindChunk:
		if slot.Index() < s.Chunks {
			return ""
		}
		return fmt.Sprintf("%s: the message has %d chunks", slot, s.Chunks)
	case KindSignal:
		if slot.Index() < s.Programs[rank].Signals {
			return ""
		}
		return fmt.Sprintf("%s: rank %d has %d signals", slot, rank, s.Programs[rank].Signals)
	case KindValue:
		if slot.Index() < s.Programs[rank].Values {
			return ""
		}
		return fmt.Sprintf("%s: rank %d has %d partial results", slot, rank, s.Programs[rank].Values)
	case KindInput:
		if n := s.InputChunks(); slot.Index() >= n {
			if n == 0 {
				return fmt.Sprintf("%s: no rank of %s contributes anything", slot, withArticle(s.Collective))
			}
			return fmt.Sprintf("%s: each contribution has %d parts", slot, n)
		}
		return ""
	}
	return "no slot"
}
