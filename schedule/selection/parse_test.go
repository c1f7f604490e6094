package selection_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// golden compares got with the file beside the input, or writes that file.
func golden(t *testing.T, input, extension string, got []byte) {
	t.Helper()
	name := strings.TrimSuffix(input, filepath.Ext(input)) + extension
	if os.Getenv("SCHEDGEN_UPDATE") == "1" {
		require.NoError(t, os.WriteFile(name, got, 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), input)
}

// inputs calls f with each file of a directory of testdata.
func inputs(t *testing.T, pattern string, f func(t *testing.T, name string, data []byte)) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", pattern))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		t.Run(filepath.Base(name), func(t *testing.T) { f(t, name, data) })
	}
}

// TestGoodFiles checks that good files are written canonically and read back to the same table.
func TestGoodFiles(t *testing.T) {
	inputs(t, "good/*.json", func(t *testing.T, name string, data []byte) {
		rules, err := selection.Parse(data)
		require.NoError(t, err)
		golden(t, name, ".want", rules.Text())
		again, err := selection.Parse(rules.Text())
		require.NoError(t, err)
		require.Equal(t, rules.Text(), again.Text())
		require.Equal(t, rules.Digest(), again.Digest())
	})
}

// TestBadFiles checks that errors have the line of the fault.
func TestBadFiles(t *testing.T) {
	inputs(t, "bad/*.json", func(t *testing.T, name string, data []byte) {
		_, err := selection.Parse(data)
		var at *selection.FileError
		require.ErrorAs(t, err, &at)
		require.Positive(t, at.Line)
		golden(t, name, ".want", []byte(err.Error()+"\n"))
	})
}

func TestFilesAreBounded(t *testing.T) {
	_, err := selection.Parse(make([]byte, 1<<20+1))
	require.ErrorContains(t, err, "at most 1048576 are read")
	rule := `{"collective":"anycast","algorithm":"built-in"}`
	_, err = selection.Parse([]byte(`{"format":"schedgen-rules/1","rules":[` + strings.Repeat(rule+",", 4096) + "\n" + rule + `]}`))
	require.EqualError(t, err, "line 2: rules: at most 4096 are allowed")
}

// TestBuiltinIsATable checks that the built-in rules are a good file, and that reading it gives the
// digest of no file.
func TestBuiltinIsATable(t *testing.T) {
	again, err := selection.Parse(selection.Builtin().Text())
	require.NoError(t, err)
	require.Zero(t, again.Digest())
	require.Zero(t, selection.Builtin().Digest())
	barriers := slices.DeleteFunc(again.List(), func(r selection.Rule) bool { return r.Collective != "barrier" })
	other, err := selection.New(barriers)
	require.NoError(t, err)
	require.NotZero(t, other.Digest())
}

// TestOfAFile checks that the first rule that fits decides, and that the built-in rules decide the
// cases that it leaves to them.
func TestOfAFile(t *testing.T) {
	data, err := os.ReadFile("testdata/good/all.json")
	require.NoError(t, err)
	rules, err := selection.Parse(data)
	require.NoError(t, err)
	for _, c := range []struct {
		of   selection.Case
		want string
		line int
		from int
	}{
		{selection.Case{Collective: "barrier", Ranks: 4, Place: selection.OneHost, Memory: true}, "barrier/exchange", 3, 0},
		{selection.Case{Collective: "barrier", Ranks: 5, Place: selection.OneHost, Memory: true}, "barrier/hsb", 0, 5},
		{selection.Case{Collective: "barrier", Ranks: 9, Hosts: 8}, "barrier/hsb", 4, 0},
		{selection.Case{Collective: "barrier", Ranks: 10, Hosts: 9}, "barrier/hsb", 0, 5},
		{selection.Case{Collective: "bcast", Ranks: 5, Bytes: 1024, Multicast: true}, "bcast/mcast-chain", 6, 0},
		{selection.Case{Collective: "bcast", Ranks: 5, Bytes: 65536, Multicast: true}, "bcast/mcast-chain", 0, 9},
		{selection.Case{Collective: "bcast", Ranks: 5, Multicast: true}, "bcast/mcast-chain", 0, 9},
		{selection.Case{Collective: "bcast", Ranks: 5}, "bcast/binomial-doubling", 7, 0},
		{selection.Case{Collective: "bcast", Ranks: 5, Bytes: 1, Place: selection.OneEach}, "bcast/chain", 8, 0},
		{selection.Case{Collective: "anycast", Ranks: 5}, "anycast/skip-ring", 0, 0},
	} {
		d, ok := rules.Of(c.of)
		require.True(t, ok)
		require.Equal(t, c.want, d.Rule.Algorithm, "%+v", c.of)
		require.Equal(t, c.line, d.Rule.Line, "%+v", c.of)
		require.Equal(t, c.line > 0, d.Own, "%+v", c.of)
		require.Equal(t, c.from > 0, d.From != nil, "%+v", c.of)
		if d.From != nil {
			require.Equal(t, c.from, d.From.Line)
		}
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		rules.Of(selection.Case{Collective: "bcast", Ranks: 5, Bytes: 65536})
	}))
}

// drawCase draws a possible case.
func drawCase(t *rapid.T, most int) selection.Case {
	c := selection.Case{
		Collective: rapid.SampledFrom([]string{schedule.Bcast, schedule.Barrier, schedule.Anycast}).Draw(t, "collective"),
		Ranks:      rapid.IntRange(1, most).Draw(t, "ranks"),
		Multicast:  rapid.Bool().Draw(t, "multicast"),
	}
	if c.Collective == schedule.Bcast {
		c.Bytes = rapid.IntRange(0, most).Draw(t, "bytes")
	}
	switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
	case kind == 1:
		c.Place, c.Memory = selection.OneHost, rapid.Bool().Draw(t, "memory")
		c.Rings = c.Memory && rapid.Bool().Draw(t, "rings")
	case kind == 2 && c.Ranks > 1:
		c.Place = selection.OneEach
	case kind == 3 && c.Ranks > 2:
		c.Hosts = rapid.IntRange(2, c.Ranks-1).Draw(t, "hosts")
	}
	return c
}

func drawRange(t *rapid.T, name string, lo, hi int) (r selection.Range) {
	if rapid.Bool().Draw(t, name+" from") {
		r.From = rapid.IntRange(lo, hi).Draw(t, name+" from")
	}
	if rapid.Bool().Draw(t, name+" to") && (r.From > 0 || name != "hosts") {
		r.To = 1 + rapid.IntRange(max(lo, r.From), hi).Draw(t, name+" to")
	}
	return r
}

// drawRule draws a rule of a barrier that is good by itself.
func drawRule(t *rapid.T) selection.Rule {
	need := rapid.SampledFrom([]selection.Need{selection.Either, selection.Either, selection.With, selection.Without})
	r := selection.Rule{
		Collective: schedule.Barrier, Ranks: drawRange(t, "ranks", 1, 8), Multicast: need.Draw(t, "multicast"), Memory: need.Draw(t, "memory"), Rings: need.Draw(t, "rings"),
		Place:     rapid.SampledFrom([]selection.Place{selection.Anywhere, selection.Anywhere, selection.OneHost, selection.OneEach}).Draw(t, "place"),
		Algorithm: "barrier/hsb",
	}
	if rapid.Bool().Draw(t, "hosts") {
		r.Hosts = drawRange(t, "hosts", 2, 7)
	}
	return r
}

// dumbFits evaluates the conditions of a rule independently.
func dumbFits(r *selection.Rule, c *selection.Case) bool {
	in := func(v int, r selection.Range) bool { return v >= r.From && (r.To == 0 || v <= r.To-1) }
	have := map[selection.Need]map[bool]bool{
		selection.Either: {true: true, false: true}, selection.With: {true: true}, selection.Without: {false: true},
	}
	return in(c.Ranks, r.Ranks) && in(c.Hosts, r.Hosts) && have[r.Multicast][c.Multicast] && have[r.Memory][c.Memory] && have[r.Rings][c.Rings] &&
		(r.Place == selection.Anywhere || r.Place == c.Place)
}

// every calls f with all cases of a barrier of few ranks.
func every(f func(c *selection.Case)) {
	for ranks := 1; ranks <= 12; ranks++ {
		for _, multicast := range []bool{false, true} {
			c := selection.Case{Collective: schedule.Barrier, Ranks: ranks, Multicast: multicast}
			for _, c.Hosts = range []int{0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11} {
				if c.Hosts < ranks {
					f(new(c))
				}
			}
			c.Hosts, c.Place = 0, selection.OneHost
			f(new(c))
			c.Memory = true
			f(new(c))
			c.Rings = true
			f(new(c))
			c.Memory, c.Rings, c.Place = false, false, selection.OneEach
			if ranks > 1 {
				f(new(c))
			}
		}
	}
}

// TestCoverIsRight checks that a table is refused if and only if no rule fits some case, or some
// rule decides no case.
func TestCoverIsRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Custom(drawRule), 1, 5).Draw(t, "rules")
		used, gap := make([]bool, len(list)), false
		every(func(c *selection.Case) {
			for i := range list {
				if dumbFits(&list[i], c) {
					used[i] = true
					return
				}
			}
			gap = true
		})
		idle := false
		for _, u := range used {
			idle = idle || !u
		}
		rules, err := selection.New(list)
		require.Equal(t, gap || idle, err != nil, "%v", err)
		if err == nil {
			again, err := selection.Parse(rules.Text())
			require.NoError(t, err)
			require.Equal(t, rules.Text(), again.Text())
		}
	})
}

// TestEveryCaseIsDecided checks that a table decides every case, with an algorithm that accepts the
// case.
func TestEveryCaseIsDecided(t *testing.T) {
	data, err := os.ReadFile("testdata/good/all.json")
	require.NoError(t, err)
	rules, err := selection.Parse(data)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		c := drawCase(t, 1<<20)
		d, ok := rules.Of(c)
		require.True(t, ok)
		p := d.Rule.Params
		_, err := schedule.New(d.Rule.Algorithm, schedule.Params{Ranks: c.Ranks, Degree: p.Degree, FanIn: p.FanIn, FanOut: p.FanOut, Chunks: p.Chunks, Hosts: p.HostsFor(&c)})
		require.NoError(t, err)
	})
}

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"good/*.json", "bad/*.json"} {
		names, err := filepath.Glob(filepath.Join("testdata", pattern))
		require.NoError(f, err)
		for _, name := range names {
			data, err := os.ReadFile(name)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rules, err := selection.Parse(data)
		if err != nil {
			var other *selection.FormError
			if errors.As(err, &other) {
				return
			}
			var at *selection.FileError
			if !errors.As(err, &at) || at.Line < 1 || at.Line > strings.Count(string(data), "\n")+1 {
				t.Fatalf("an error without its line: %v", err)
			}
			return
		}
		again, err := selection.Parse(rules.Text())
		if err != nil || string(again.Text()) != string(rules.Text()) {
			t.Fatalf("%v\n%s\n%s", err, rules.Text(), again.Text())
		}
	})
}
