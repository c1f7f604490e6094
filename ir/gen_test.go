package ir

import (
	"slices"

	"pgregory.net/rapid"
)

// randomSchedule draws any schedule that the two forms can express, whether it makes sense or not.
func randomSchedule() *rapid.Generator[*Schedule] {
	return rapid.Custom(func(t *rapid.T) *Schedule {
		s := &Schedule{Header: randomHeader(t)}
		for rank := range s.Ranks {
			signals := rapid.IntRange(0, 4).Draw(t, "signals")
			p := Program{Rank: rank, Signals: signals}
			if s.HasMessage() {
				p.Values = rapid.IntRange(0, 3).Draw(t, "values")
			}
			s.Programs = append(s.Programs, p)
		}
		for rank := range s.Programs {
			p := &s.Programs[rank]
			for range rapid.IntRange(0, 4).Draw(t, "rules") {
				if r, ok := randomRule(t, s, rank); ok {
					p.Rules = append(p.Rules, r)
				}
			}
			p.Done = randomSlots(t, s, rank, 0)
			if s.Recovers {
				p.Recovery = randomRecovery(t, s, rank)
			}
		}
		return s
	})
}

func randomHeader(t *rapid.T) Header {
	h := Header{
		Collective: rapid.SampledFrom(collectiveNames()).Draw(t, "collective"),
		Algorithm:  rapid.StringMatching(`[a-z][a-z0-9-]{0,63}`).Draw(t, "algorithm"),
		Ranks:      rapid.IntRange(1, 9).Draw(t, "ranks"),
	}
	if !h.HasMessage() {
		h.Chunks = rapid.SampledFrom([]int{0, 0, 1, 2, MaxChunks}).Draw(t, "chunks of no bytes")
	} else {
		if h.Rooted() {
			h.Root = rapid.IntRange(0, h.Ranks-1).Draw(t, "root")
		}
		h.Recovers = rapid.Bool().Draw(t, "recovers")
		h.Chunks = h.Blocks() * rapid.OneOf(rapid.IntRange(1, 4), rapid.IntRange(1, MaxChunks/h.Blocks())).Draw(t, "chunks of a block")
	}
	name := rapid.StringMatching(`[a-z][a-z0-9-]{0,9}`).Filter(isParam)
	names := rapid.SliceOfNDistinct(name, 0, MaxParams, rapid.ID[string]).Draw(t, "params")
	slices.Sort(names)
	for _, n := range names {
		h.Params = append(h.Params, Param{Name: n, Value: rapid.IntRange(0, MaxParam).Draw(t, n)})
	}
	return h
}

// held returns slots that rank has: the first and the last chunk, and Enter if enter is true.
func held(s *Schedule, rank int, enter bool) []Slot {
	var slots []Slot
	if enter {
		slots = append(slots, Enter)
	}
	if s.Chunks > 0 {
		slots = append(slots, Chunk(0), Chunk(s.Chunks/2), Chunk(s.Chunks-1))
	}
	for j := range s.Programs[rank].Signals {
		slots = append(slots, Signal(j))
	}
	for i := range s.Programs[rank].Values {
		if enter {
			slots = append(slots, Value(i))
		}
	}
	return slots
}

// operands returns the slots that rank can fold, or put under another name.
func operands(s *Schedule, rank int) []Slot {
	slots := []Slot{Chunk(0), Chunk(s.Chunks - 1)}
	for i := range s.Programs[rank].Values {
		slots = append(slots, Value(i))
	}
	if n := s.InputChunks(); n > 0 {
		slots = append(slots, Input(0), Input(n-1))
	}
	return slots
}

// randomFold draws the actions of a fold at rank.
func randomFold(t *rapid.T, s *Schedule, rank int) []Action {
	made := Chunk(s.Chunks / 2)
	if n := s.Programs[rank].Values; n > 0 && rapid.Bool().Draw(t, "partial result") {
		made = Value(rapid.IntRange(0, n-1).Draw(t, "made"))
	}
	of := rapid.SliceOfN(rapid.SampledFrom(operands(s, rank)).Filter(func(x Slot) bool { return x != made }), 1, 3)
	return FoldOf(made, of.Draw(t, "operands")...)
}

// randomRenamed draws a message of slots of rank that become partial results, and perhaps a chunk,
// at rank to.
func randomRenamed(t *rapid.T, s *Schedule, rank, to int) []Action {
	of := rapid.SliceOfNDistinct(rapid.SampledFrom(operands(s, rank)), 1, s.Programs[to].Values, rapid.ID[Slot]).Draw(t, "renamed")
	message := PutAll(to, of...)
	for i := range message {
		message[i].As = Value(i)
	}
	return message
}

func randomSlots(t *rapid.T, s *Schedule, rank, least int) []Slot {
	slots := rapid.SliceOfN(rapid.SampledFrom(held(s, rank, true)), least, 6).Draw(t, "slots")
	if len(slots) == 0 {
		return nil
	}
	return slots
}

// randomRule draws a rule. ok is false if there is no action to draw.
func randomRule(t *rapid.T, s *Schedule, rank int) (r Rule, ok bool) {
	r.When = randomSlots(t, s, rank, 1)
	if rapid.Bool().Draw(t, "repair") {
		r.Unless = randomSlots(t, s, rank, 1)[0]
		r.After = rapid.IntRange(0, MaxAfter).Draw(t, "after")
	}
	for range rapid.IntRange(1, 4).Draw(t, "actions") {
		if s.HasMessage() && !r.IsRepair() && rapid.Bool().Draw(t, "fold") && len(operands(s, rank)) > 2 {
			r.Do = append(r.Do, randomFold(t, s, rank)...)
			continue
		}
		if s.Chunks > 0 && rapid.Bool().Draw(t, "mcast") {
			r.Do = append(r.Do, McastOf(Chunk(rapid.IntRange(0, s.Chunks-1).Draw(t, "chunk"))))
			continue
		}
		to := rapid.IntRange(0, s.Ranks-1).Draw(t, "to")
		if s.Programs[to].Values > 0 && !r.IsRepair() && rapid.Bool().Draw(t, "renamed slots") {
			r.Do = append(r.Do, randomRenamed(t, s, rank, to)...)
			continue
		}
		if s.Chunks > 1 && rapid.Bool().Draw(t, "several slots") {
			r.Do = append(r.Do, PutAll(to, Chunk(s.Chunks-1), Chunk(0))...)
			continue
		}
		if slots := held(s, to, false); len(slots) > 0 {
			r.Do = append(r.Do, PutTo(rapid.SampledFrom(slots).Draw(t, "slot"), to))
		}
	}
	return r, len(r.Do) > 0
}

func randomRecovery(t *rapid.T, s *Schedule, rank int) (r Recovery) {
	var others []int32
	for other := range int32(s.Ranks) {
		if int(other) != rank {
			others = append(others, other)
		}
	}
	if len(others) == 0 {
		return r
	}
	ranks := rapid.SliceOfNDistinct(rapid.SampledFrom(others), 0, min(len(others), MaxAsk), rapid.ID[int32])
	r.Ask = append(r.Ask, ranks.Draw(t, "ask")...)
	if rapid.Bool().Draw(t, "reports") {
		r.Reports, r.ReportTo = true, rapid.SampledFrom(others).Draw(t, "report to")
	}
	r.ReportFrom = append(r.ReportFrom, ranks.Draw(t, "report from")...)
	slices.Sort(r.ReportFrom)
	for _, to := range others {
		for j := range s.Programs[to].Signals {
			if rapid.Bool().Draw(t, "twice") {
				r.Twice = append(r.Twice, PutTo(Signal(j), int(to)))
			}
		}
	}
	return r
}
