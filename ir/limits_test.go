package ir

import (
	"bytes"
	"io"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// repeat returns a reader of n bytes c between two strings.
func repeat(before string, c byte, n int64, after string) io.Reader {
	return io.MultiReader(strings.NewReader(before), io.LimitReader(endless(c), n), strings.NewReader(after))
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

const hundredMB = 100 << 20

// TestHostileInputsAllocateLittle checks that a large input that is not a schedule, or a small one
// that claims to be large, is refused without much memory.
func TestHostileInputsAllocateLittle(t *testing.T) {
	const start = `{"format":"schedgen/1","collective":"bcast","algorithm":"a",`
	const program = `{"format":"schedgen/2","collective":"bcast","algorithm":"a","ranks":2,"root":0,"chunks":1,"params":{},"programs":[{"rank":0,"signals":0,"rules":[],"done":[],`
	const recovering = "schedule bcast/a ranks=2 root=0 chunks=1 recovery\nrank 0\n  done enter\n"
	const header = start + `"ranks":1048576,"root":0,"chunks":268435456,"params":{},`
	for _, c := range []struct {
		name  string
		parse func(io.Reader) (*Schedule, error)
		input io.Reader
		want  string
	}{
		{"string", ParseJSON, repeat(`{"format":"`, 'a', hundredMB, `"}`), "format: a string of more than 384 bytes"},
		{"field name", ParseJSON, repeat(`{"`, 'a', hundredMB, `":1}`), "document: a string of more than 384 bytes"},
		{"escapes", ParseJSON, io.MultiReader(strings.NewReader(`{"format":"`), repeated(`\u0061`)), "more than 384 bytes"},
		{"number", ParseJSON, repeat(start+`"ranks":`, '1', hundredMB, `}`), "ranks: 111111111111111111111111… is out of range"},
		{"spaces", ParseJSON, repeat(`{`, ' ', hundredMB, ``), "found the end of the input"},
		{"arrays", ParseJSON, repeat(``, '[', hundredMB, ``), "expected an object"},
		{"claims", ParseJSON, strings.NewReader(header + `"programs":[]}`), "no program for rank 0, 1, 2, 3, 4, …; 0 programs"},
		{"last rank", ParseJSON, strings.NewReader(header + `"programs":[{"rank":1048575,"signals":4194304,"rules":[],"done":[]}]}`), "no program for rank 0, 1"},
		{"asked", ParseJSON, io.MultiReader(strings.NewReader(program+`"ask":[1`), repeated(",1")), "ask[16]: more than 16 ranks"},
		{"reporters", ParseJSON, io.MultiReader(strings.NewReader(program+`"report":{"from":[1`), repeated(",1")), "report.from[2]: more than 2 ranks"},
		{"asked in text", ParseText, io.MultiReader(strings.NewReader(recovering+"  ask"), repeated(" 1")), "rank 0 asks rank 1 twice"},
		{"reporters in text", ParseText, io.MultiReader(strings.NewReader(recovering+"  report from"), repeated(" 1")), "rank 1 after rank 1"},
		{"sent twice in text", ParseText, io.MultiReader(strings.NewReader(recovering+"  twice s0 @1"), repeated(", s0 @1")), "s0 @1 after s0 @1"},
		{"line", ParseText, repeat("", 'a', hundredMB, "\n"), `expected "schedule "`},
		{"name in text", ParseText, repeat("schedule bcast/", 'a', hundredMB, "\n"), "expected the name of an algorithm"},
		{"number in text", ParseText, repeat("schedule bcast/a ranks=", '0', hundredMB, "\n"), "has leading zeros"},
		{"blank lines", ParseText, repeat("schedule barrier/a ranks=1048576\n", '\n', hundredMB, "\n"), `expected "rank 0"`},
		{"claims in text", ParseText, strings.NewReader("schedule bcast/a ranks=1048576 root=0 chunks=268435456\nrank 0 signals=4194304\n  done\n"), "found the end of the input"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after goruntime.MemStats
			goruntime.ReadMemStats(&before)
			_, err := c.parse(c.input)
			goruntime.ReadMemStats(&after)
			require.ErrorContains(t, err, c.want)
			require.Less(t, len(err.Error()), 300)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
		})
	}
}

// repeated returns an endless reader of s.
func repeated(s string) io.Reader { return &cycle{text: s} }

type cycle struct {
	text string
	pos  int
}

func (c *cycle) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = c.text[(c.pos+i)%len(c.text)]
	}
	c.pos += len(p)
	return len(p), nil
}

// TestMemoryInProportionToInput checks that a reader of a legal schedule needs memory in proportion
// to its length.
func TestMemoryInProportionToInput(t *testing.T) {
	var text bytes.Buffer
	require.NoError(t, WriteText(&text, dissemination(1<<12)))
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	s, err := ParseText(&text)
	goruntime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Len(t, s.Programs, 1<<12)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8*text.Cap()))
}

// TestTooManySignals checks that the signals of a whole schedule are bounded. Its chunks are not,
// because claimed chunks cost nothing.
func TestTooManySignals(t *testing.T) {
	s := &Schedule{Header: Header{Collective: "bcast", Algorithm: "a", Ranks: 65, Chunks: MaxChunks}}
	for r := range s.Ranks {
		s.Programs = append(s.Programs, Program{Rank: r, Signals: MaxSignals})
	}
	require.ErrorContains(t, Validate(s), "programs[64].signals: the schedule has more than 268435456 signals")
	s.Programs[64].Signals = 0
	require.NoError(t, Validate(s))
	for _, f := range forms {
		many := bytes.ReplaceAll(f.print(t, s), []byte("rank 64\n"), []byte("rank 64 signals=1\n"))
		many = bytes.ReplaceAll(many, []byte(`"rank":64,"signals":0`), []byte(`"rank":64,"signals":1`))
		_, err := f.parse(bytes.NewReader(many))
		require.ErrorContains(t, err, "programs[64].signals: the schedule has more than", f.name)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		want  string
		spoil func(*Schedule)
	}{
		{"collective: unknown", func(s *Schedule) { s.Collective = "collect" }},
		{"algorithm:", func(s *Schedule) { s.Algorithm = "two words" }},
		{"ranks: 0 is out of range", func(s *Schedule) { s.Ranks = 0 }},
		{"ranks: 4611686018427387904 is", func(s *Schedule) { s.Ranks = 1 << 62 }},
		{"root: 2 is out of range 0 … 1", func(s *Schedule) { s.Root = 2 }},
		{"chunks: 0 is out of range", func(s *Schedule) { s.Chunks = 0 }},
		{"root: 1: a barrier has no root", func(s *Schedule) { s.Collective = "barrier" }},
		{"params: \"Degree\" is not the name", func(s *Schedule) { s.Params[0].Name = "Degree" }},
		{"params: \"ranks\" is not the name", func(s *Schedule) { s.Params[0].Name = "ranks" }},
		{"params: hosts after hosts", func(s *Schedule) { s.Params[0].Name = "hosts" }},
		{"params.degree: -1 is out of range", func(s *Schedule) { s.Params[0].Value = -1 }},
		{"params: 17 is out of range", func(s *Schedule) { s.Params = make([]Param, 17) }},
		{"programs: 1 programs for 2 ranks", func(s *Schedule) { s.Programs = s.Programs[:1] }},
		{"programs[1].rank: 5 where rank 1", func(s *Schedule) { s.Programs[1].Rank = 5 }},
		{"programs[1].signals: -1 is", func(s *Schedule) { s.Programs[1].Signals = -1 }},
		{"programs[1].done: no slot", func(s *Schedule) { s.Programs[1].Done[0] = None }},
		{"programs[1].done: enter with an index", func(s *Schedule) { s.Programs[1].Done[0] = Enter + 1 }},
		{"programs[1].done: s2: rank 1 has 2 signals", func(s *Schedule) { s.Programs[1].Done[0] = Signal(2) }},
		{"programs[0].rules[0].when: a rule waits", func(s *Schedule) { s.Programs[0].Rules[0].When = nil }},
		{"programs[0].rules[0].when: c2: the message has 2", func(s *Schedule) { s.Programs[0].Rules[0].When[1] = Chunk(2) }},
		{"programs[0].rules[0].do: a rule does", func(s *Schedule) { s.Programs[0].Rules[0].Do = nil }},
		{"programs[0].rules[0].after: 1 in a rule", func(s *Schedule) { s.Programs[0].Rules[0].After = 1 }},
		{"programs[1].rules[1].unless: s9", func(s *Schedule) { s.Programs[1].Rules[1].Unless = Signal(9) }},
		{"programs[1].rules[1].after: -1", func(s *Schedule) { s.Programs[1].Rules[1].After = -1 }},
		{"programs[1].rules[1].do[1].to: 2 is", func(s *Schedule) { s.Programs[1].Rules[1].Do[1].To = 2 }},
		{"programs[1].rules[1].do[1].to: -1 is", func(s *Schedule) { s.Programs[1].Rules[1].Do[1].To = -1 }},
		{"programs[1].rules[1].do[1].slot: enter", func(s *Schedule) { s.Programs[1].Rules[1].Do[1].Slot = Enter }},
		{"programs[1].rules[1].do[1].op: unknown", func(s *Schedule) { s.Programs[1].Rules[1].Do[1].Op = 7 }},
		{"programs[1].rules[0].do[0].slot: s0: only a chunk", func(s *Schedule) { s.Programs[1].Rules[0].Do[0].Slot = Signal(0) }},
		{"programs[1].rules[0].do[0].to: 1: a multicast", func(s *Schedule) { s.Programs[1].Rules[0].Do[0].To = 1 }},
		{"programs[1].rules[0].do[0].as: a multicast", func(s *Schedule) { s.Programs[1].Rules[0].Do[0].As = Value(0) }},
		{"programs[1].values: -1 is", func(s *Schedule) { s.Programs[1].Values = -1 }},
		{"programs[0].rules[0].do[0].to: 1: a fold", func(s *Schedule) {
			s.Programs[0].Rules[0].Do = []Action{{Op: Fold, Slot: Chunk(0), As: Chunk(1), To: 1}}
		}},
		{"programs[0].rules[0].do[0].slot: v0: rank 0 has 0", func(s *Schedule) {
			s.Programs[0].Rules[0].Do = FoldOf(Value(0), Chunk(0))
		}},
		{"programs[0].rules[0].do[1].of: x0: no rank of a", func(s *Schedule) {
			s.Programs[0].Rules[0].Do = FoldOf(Chunk(0), Chunk(1), Input(0))
		}},
		{"programs[0].rules[0].do[1].slot: c1 cannot be an action of the fold of c0", func(s *Schedule) {
			s.Programs[0].Rules[0].Do = append(FoldOf(Chunk(0), Chunk(1)), Action{Op: Put, Joins: true, Slot: Chunk(1), To: 1})
		}},
	} {
		s := small()
		require.NoError(t, Validate(s))
		c.spoil(s)
		require.ErrorContains(t, Validate(s), c.want)
		for _, f := range forms {
			require.ErrorContains(t, f.write(io.Discard, s), c.want)
		}
	}
}
