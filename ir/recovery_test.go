package ir

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recovering returns a broadcast among 20 ranks in which rank 1 has every kind of recovery.
func recovering() *Schedule {
	s := &Schedule{Header: Header{Collective: "bcast", Algorithm: "of-mine", Ranks: 20, Chunks: 1, Recovers: true}}
	for rank := range s.Ranks {
		s.Programs = append(s.Programs, Program{Rank: rank, Signals: 2})
	}
	s.Programs[1].Recovery = Recovery{
		Ask: []int32{2, 0}, Reports: true, ReportTo: 0, ReportFrom: []int32{3, 4}, Twice: []Action{PutTo(Signal(1), 0), PutTo(Signal(0), 2)},
	}
	return s
}

func TestValidateRecovery(t *testing.T) {
	many := make([]int32, MaxAsk+1)
	for i := range many {
		many[i] = int32(i + 2)
	}
	for _, c := range []struct {
		want  string
		spoil func(*Schedule, *Recovery)
	}{
		{"programs[1].ask: the schedule has no recovery", func(s *Schedule, r *Recovery) { s.Recovers = false }},
		{"programs[1].report: the schedule has no recovery", func(s *Schedule, r *Recovery) { s.Recovers, r.Ask = false, nil }},
		{"programs[1].twice: the schedule has no recovery", func(s *Schedule, r *Recovery) { s.Recovers, *r = false, Recovery{Twice: r.Twice} }},
		{"format: a barrier has no recovery", func(s *Schedule, r *Recovery) { s.Collective, s.Chunks = "barrier", 0 }},
		{"programs[1].ask[0]: rank 1 asks itself", func(s *Schedule, r *Recovery) { r.Ask[0] = 1 }},
		{"programs[1].ask[1]: 20 is out of range 0 … 19", func(s *Schedule, r *Recovery) { r.Ask[1] = 20 }},
		{"programs[1].ask[1]: -1 is out of range 0 … 19", func(s *Schedule, r *Recovery) { r.Ask[1] = -1 }},
		{"programs[1].ask[1]: rank 1 asks rank 2 twice", func(s *Schedule, r *Recovery) { r.Ask[1] = 2 }},
		{"programs[1].ask[16]: rank 1 asks more than 16 ranks", func(s *Schedule, r *Recovery) { r.Ask = many }},
		{"programs[1].report.to: rank 1 reports to itself", func(s *Schedule, r *Recovery) { r.ReportTo = 1 }},
		{"programs[1].report.to: -1 is out of range", func(s *Schedule, r *Recovery) { r.ReportTo = -1 }},
		{"programs[1].report.to: 4 of a rank that does not report", func(s *Schedule, r *Recovery) { r.Reports, r.ReportTo = false, 4 }},
		{"programs[1].report.from[0]: rank 1 reports to itself", func(s *Schedule, r *Recovery) { r.ReportFrom[0] = 1 }},
		{"programs[1].report.from[1]: 20 is out of range", func(s *Schedule, r *Recovery) { r.ReportFrom[1] = 20 }},
		{"programs[1].report.from[1]: rank 3 after rank 3", func(s *Schedule, r *Recovery) { r.ReportFrom[1] = 3 }},
		{"programs[1].twice[0]: mcast c0: only the put", func(s *Schedule, r *Recovery) { r.Twice[0] = McastOf(Chunk(0)) }},
		{"programs[1].twice[0]: put c0: only the put", func(s *Schedule, r *Recovery) { r.Twice[0].Slot = Chunk(0) }},
		{"programs[1].twice[0]: rank 1 puts to itself", func(s *Schedule, r *Recovery) { r.Twice[0].To = 1 }},
		{"programs[1].twice[1]: 20 is out of range", func(s *Schedule, r *Recovery) { r.Twice[1].To = 20 }},
		{"programs[1].twice[1]: s2: rank 2 has 2 signals", func(s *Schedule, r *Recovery) { r.Twice[1].Slot = Signal(2) }},
		{"programs[1].twice[1]: s0 @2 after s1 @2: not ascending", func(s *Schedule, r *Recovery) { r.Twice[0].To = 2 }},
	} {
		s := recovering()
		require.NoError(t, Validate(s))
		require.NoError(t, ValidateRecovery(&s.Header, &s.Programs[1]))
		c.spoil(s, &s.Programs[1].Recovery)
		require.ErrorContains(t, Validate(s), c.want)
		for _, f := range forms {
			require.ErrorContains(t, f.write(io.Discard, s), c.want)
		}
	}
}

// TestFormatFollowsTheHeader checks that the header chooses between schedgen/1 and schedgen/2,
// whether or not a rank has something to recover.
func TestFormatFollowsTheHeader(t *testing.T) {
	s := small()
	require.Contains(t, string(forms[1].print(t, s)), `"format":"schedgen/1"`)
	s.Recovers = true
	require.Contains(t, string(forms[1].print(t, s)), `"format":"schedgen/2"`)
	require.NotEqual(t, forms[0].print(t, small()), forms[0].print(t, s))
}

// TestJSONOfNoRecovery checks that a schedgen/2 document may have empty members of recovery.
func TestJSONOfNoRecovery(t *testing.T) {
	s := small()
	s.Recovers = true
	document := string(forms[1].print(t, s))
	spelled := strings.ReplaceAll(document, `"done":["c0","c1"]`, `"done":["c0","c1"],"ask":[],"report":{"from":[]},"twice":[]`)
	got, err := ParseJSON(strings.NewReader(spelled))
	require.NoError(t, err)
	require.Equal(t, s, got)
}

func TestRequests(t *testing.T) {
	chunk := func(when ...Slot) Rule { return Rule{When: when, Do: []Action{PutTo(Chunk(0), 1)}} }
	signal := func(when ...Slot) Rule { return Rule{When: when, Do: []Action{PutTo(Signal(0), 1)}} }
	repair := func(r Rule) Rule {
		r.Unless = Chunk(0)
		return r
	}
	s0, s1 := Signal(0), Signal(1)
	for name, c := range map[string]struct {
		rules []Rule
		done  []Slot
		want  []int
	}{
		"no rules":                        {nil, nil, nil},
		"answered by a chunk":             {[]Rule{chunk(Chunk(0), s0), signal(s1)}, nil, []int{0}},
		"both":                            {[]Rule{chunk(s0, s1)}, nil, []int{0, 1}},
		"done waits for it":               {[]Rule{chunk(s0)}, []Slot{s0}, nil},
		"a signal is put upon it":         {[]Rule{signal(s0)}, nil, nil},
		"a signal is put upon it as well": {[]Rule{chunk(s0), chunk(s1), signal(s0)}, nil, []int{1}},
		"multicast upon it":               {[]Rule{{When: []Slot{s0}, Do: []Action{McastOf(Chunk(0))}}}, nil, nil},
		"only a repair waits for it":      {[]Rule{repair(chunk(s0))}, nil, []int{0}},
		"a repair waits for it as well":   {[]Rule{chunk(s0), repair(chunk(s0))}, nil, []int{0}},
		"a repair asks on":                {[]Rule{chunk(s0), repair(signal(s0))}, nil, nil},
		"a signal that is none":           {[]Rule{chunk(Signal(7))}, nil, nil},
	} {
		p := Program{Signals: 2, Rules: c.rules, Done: c.done}
		var got []int
		request := p.Requests()
		for j := range request {
			if request[j] {
				got = append(got, j)
			}
		}
		require.Equal(t, c.want, got, name)
		for i := range c.rules {
			waits := slices.ContainsFunc(c.rules[i].When, func(s Slot) bool { return slices.Contains(c.want, s.Index()) && s.Kind() == KindSignal })
			require.Equal(t, waits, c.rules[i].AwaitsAny(request), name)
		}
	}
}
