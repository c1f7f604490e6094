package explore

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core/agree"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// broken returns a call of a schedule that verify refutes, from golden's testdata or from testdata.
func broken(t *testing.T, name string) Call {
	f, err := os.Open(filepath.Join("../../golden/testdata/broken", name+".txt"))
	if err != nil {
		f, err = os.Open(filepath.Join("testdata", name+".txt"))
	}
	require.NoError(t, err)
	defer f.Close()
	s, err := ir.ParseText(f)
	require.NoError(t, err)
	return Call{Schedule: s, Acked: s.Algorithm == "mcast-acktree"}
}

// callOf returns a call of an algorithm.
func callOf(t testing.TB, name string, ranks, chunks int) Call {
	p := schedule.Params{Ranks: ranks}
	if strings.HasPrefix(name, "bcast/") {
		p.Chunks = chunks
	}
	spec, err := schedule.New(name, p)
	require.NoError(t, err)
	alg := spec.Algorithm()
	switch o := spec.Overlay(); {
	case o != nil && alg.Row().Question > 0:
		return Call{Overlay: o, Asks: spec.Schedule(), Multicast: alg.Multicasts()}
	case o != nil:
		return Call{Overlay: o, Multicast: alg.Multicasts()}
	}
	return Call{Schedule: spec.Schedule(), Acked: alg.Acknowledged()}
}

// explored runs a search over a system that tamper has made worse.
func explored(t testing.TB, o Options, tamper func(*message) int) (*search, Report) {
	sys, err := newSystem(o)
	require.NoError(t, err)
	sys.tamper = tamper
	x, r, err := sys.explore(context.Background())
	require.NoError(t, err)
	return x, r
}

// Planted defects are found. Their stories are the goldens in testdata.
func TestPlantedDefectsAreFound(t *testing.T) {
	of := func(kind ir.Kind) func(*message) bool {
		return func(m *message) bool { return m.header.Slot.Kind() == kind && m.header.Arg == 0 }
	}
	loseSignals := func(m *message) int {
		if of(ir.KindSignal)(m) {
			return 0
		}
		return 1
	}
	twice := func(*message) int { return 2 }
	scramble := func(m *message) int {
		if m.header.Slot == ir.Chunk(1) {
			m.body = strings.Repeat("?", len(m.body))
		}
		return 1
	}
	miscount := func(m *message) int {
		if b := []byte(m.body); m.header.Kind == wire.FrameAgree && agree.Kind(m.header.Arg) == agree.Know {
			b[12+15]++ // see package agree: how many messages of the lowest gone rank have come to the rank with the most
			m.body = string(b)
		}
		return 1
	}
	for name, c := range map[string]struct {
		o      Options
		tamper func(*message) int
		ranks  int // if no call has a schedule
	}{
		"early-release":           {o: Options{Calls: []Call{broken(t, "early-release")}}},
		"forgets-ack":             {o: Options{Calls: []Call{broken(t, "forgets-ack")}}},
		"never-answers":           {o: Options{Calls: []Call{broken(t, "never-answers")}, Losses: 1}},
		"request-without-answer":  {o: Options{Calls: []Call{broken(t, "request-without-answer")}, Losses: 2}},
		"early-ack":               {o: Options{Calls: []Call{broken(t, "early-ack")}, Losses: 1}},
		"returns-too-soon":        {o: Options{Calls: []Call{broken(t, "returns-too-soon")}}},
		"lost-with-the-multicast": {o: Options{Calls: []Call{broken(t, "lost-with-the-multicast")}, Losses: 1}},
		"wait-cycle":              {o: Options{Calls: []Call{broken(t, "wait-cycle")}}},
		"signals-lost":            {o: Options{Calls: []Call{callOf(t, "barrier/hsb", 3, 0)}}, tamper: loseSignals},
		"acknowledgements-lost":   {o: Options{Calls: []Call{callOf(t, "bcast/mcast-acktree", 3, 1)}}, tamper: loseSignals},
		"messages-lost": {o: Options{Calls: []Call{callOf(t, "anycast/skip-ring", 2, 0)}}, tamper: func(m *message) int {
			if m.header.Kind == wire.FramePublish {
				return 0
			}
			return 1
		}},
		"result-lost": {o: Options{Calls: []Call{callOf(t, "anyreduce/circulant", 2, 0)}}, tamper: func(m *message) int {
			if m.header.Kind == wire.FramePublish && m.body[0] == 1 {
				return 0
			}
			return 1
		}},
		"answer-scrambled": {o: Options{Calls: []Call{callOf(t, "anyreduce/circulant", 2, 0)}}, tamper: func(m *message) int {
			if m.header.Kind == wire.FrameAnswer {
				m.body = m.body[:1] + strings.Repeat("?", len(m.body)-1)
			}
			return 1
		}},
		"chunk-scrambled":     {o: Options{Calls: []Call{callOf(t, "bcast/chain", 3, 2)}}, tamper: scramble},
		"messages-miscounted": {o: Options{Calls: []Call{callOf(t, "anycast/skip-ring", 3, 0)}, Crash: true}, tamper: miscount, ranks: 3},
		"chunk-put-again":     {o: Options{Calls: []Call{callOf(t, "bcast/chain", 3, 1)}}, tamper: twice},
		"ranks-disagree": {o: Options{Calls: []Call{{Schedule: mixed(
			callOf(t, "barrier/hsb", 3, 0).Schedule, callOf(t, "barrier/dissemination", 3, 0).Schedule)}}}},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Ranks = len(c.o.Calls[0].programs())
			if c.o.Ranks == 0 {
				c.o.Ranks = max(2, c.ranks)
			}
			_, r := explored(t, c.o, c.tamper)
			require.NotNil(t, r.Violation)
			compare(t, filepath.Join("testdata", name+".story"), spell(r.Violation))
		})
	}
}

// mixed returns a's schedule with the last rank running b.
func mixed(a, b *ir.Schedule) *ir.Schedule {
	s := *a
	s.Programs = append(append([]ir.Program(nil), a.Programs[:a.Ranks-1]...), b.Programs[a.Ranks-1])
	return &s
}

func (c *Call) programs() []ir.Program {
	if c.Schedule == nil {
		return nil
	}
	return c.Schedule.Programs
}

func spell(v *Violation) string {
	var b strings.Builder
	b.WriteString(v.Problem + "\n\n")
	for _, line := range v.Story {
		b.WriteString(line + "\n")
	}
	if len(v.Forever) > 0 {
		b.WriteString("\nand from there on\n")
		for _, line := range v.Forever {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// compare compares got with a golden, or writes the golden with SCHEDGEN_UPDATE=1.
func compare(t *testing.T, file, got string) {
	if os.Getenv("SCHEDGEN_UPDATE") == "1" {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}
