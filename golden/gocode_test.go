package golden

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// TestGeneratedCode builds the generated code of all schedules into one package, once. go vet must
// find nothing. The tests of that package are in testdata/gocode. One compares the programs of all
// ranks with the programs of the schedule. Others run the suite of communicators with the code:
// broadcasts from all roots and barriers of few ranks, flat and on hosts, with all degrees and fans
// of the suite. They skip cases without code. The last one folds.
func TestGeneratedCode(t *testing.T) {
	t.Parallel()
	dir := goDir(t)
	schedules := generatedExamples(t)
	writeTwins(t, dir, "played", schedules)
	tests := []string{"same_test.go"}
	if !testing.Short() {
		writeTwins(t, dir, "communicating", communicatingExamples(t))
		writeTwins(t, dir, "folding", foldingExamples(t))
		tests = append(tests, "comm_test.go", "fold_test.go")
	}
	for _, file := range tests {
		copyTo(t, dir, file)
	}
	bin := filepath.Join(t.TempDir(), "twins.test")
	execute(t, "go", "vet", "./"+dir)
	// optimization takes as long as all the rest
	execute(t, "go", "test", "-c", "-vet=off", "-gcflags=-N -l", "-ldflags=-w", "-o", bin, "./"+dir)
	t.Run("is the same", func(t *testing.T) {
		out := execute(t, bin, "-test.run=^TestSamePrograms$", "-test.v")
		require.Contains(t, out, fmt.Sprintf(": %d twins\n", len(schedules)))
	})
	t.Run("communicates", func(t *testing.T) {
		if testing.Short() {
			t.Skip("only the code that is compared is built")
		}
		passes := []string{"TestCommMem", "TestFlagsOfBarriers", "TestFind", "TestGeneratedFolds"}
		transports := "^TestComm(Windows|TCP)$" // skipped daily: they carry other schedules in their own tests
		if heavy.Tests() {
			passes, transports = append(passes, "TestCommWindows", "TestCommTCP"), "^$"
		}
		out := execute(t, bin, "-test.timeout=5m", "-test.v", "-test.skip="+strings.Join([]string{
			"^TestSamePrograms$", transports,
			"/(Blocks|Folds)/", // they use schedules that are not generated
			"/(Anycast|Held|Flush|Cancel|Agree|Shrink|Leave|Close)",
			"/Bcast/.*/.*/ranks=[1-3],hosts=[1-9]",
			"/Barrier/.*/.*/ranks=[1-3],.*(degree|fans|hosts)=[1-9]",
		}, "|"))
		for _, test := range passes {
			require.Contains(t, out, "--- PASS: "+test+" ")
		}
	})
}

// execute returns the output of a command.
func execute(t *testing.T, name string, args ...string) string {
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// communicatingExamples returns schedules of algorithms that the suite of communicators calls: all,
// or a few daily. The programs of all are compared in any case.
func communicatingExamples(t *testing.T) (all []*ir.Schedule) {
	daily := []string{"bcast/binomial", "bcast/chain", "bcast/mcast-acktree", "barrier/hsb", "barrier/exchange"}
	for _, alg := range schedule.Algorithms() {
		if !slices.Contains(daily, alg.Name) && !heavy.Tests() {
			continue
		}
		for _, p := range communicating(&alg) {
			spec, err := schedule.New(alg.Name, p)
			require.NoError(t, err)
			all = append(all, spec.Schedule())
		}
	}
	return all
}

// foldingExamples returns schedules of every algorithm that folds, daily one of each.
func foldingExamples(t *testing.T) (all []*ir.Schedule) {
	for i, alg := range schedule.Algorithms() {
		if alg.Row().Inputs == nil {
			continue
		}
		some := taken(&alg, []schedule.Params{{Ranks: 5, Root: 3}, {Ranks: 3}, {Ranks: 6, Root: 1, Hosts: 2}})
		at := i % len(some)
		for _, p := range heavy.Or(some[at:at+1], some) {
			spec, err := schedule.New(alg.Name, p)
			require.NoError(t, err)
			all = append(all, spec.Schedule())
		}
	}
	return all
}

// communicating returns the parameters that the suite of communicators uses.
func communicating(alg *schedule.Algorithm) []schedule.Params {
	var all []schedule.Params
	for _, ranks := range heavy.Or([]int{5, 6}, []int{2, 3, 5, 6}) {
		switch {
		case alg.Collective == schedule.Barrier:
			all = append(all, schedule.Params{Ranks: ranks})
			if ranks > 5 {
				all = append(all, varied(alg, ranks)...)
			}
		case alg.Collective == schedule.Bcast && ranks <= 5:
			for root := range ranks {
				p := schedule.Params{Ranks: ranks, Root: root, Chunks: 3}
				if alg.Name == "bcast/symmetric" {
					p.Chunks = 0
				}
				all = append(all, p)
				if ranks == 5 {
					p.Hosts, p.Chunks = 3, 2
					all = append(all, p)
				}
			}
		}
	}
	return all
}

// varied returns a barrier's parameters besides the defaults.
func varied(alg *schedule.Algorithm, ranks int) []schedule.Params {
	hosts := (ranks + 2) / 3
	all := []schedule.Params{{Ranks: ranks, Hosts: hosts}}
	for _, h := range []int{0, hosts} {
		if slices.Contains(alg.Params, "degree") {
			all = append(all, schedule.Params{Ranks: ranks, Degree: 2, Hosts: h}, schedule.Params{Ranks: ranks, Degree: 3, Hosts: h})
		} else {
			all = append(all, schedule.Params{Ranks: ranks, FanIn: 2, FanOut: 3, Hosts: h}, schedule.Params{Ranks: ranks, FanIn: 3, FanOut: 1, Hosts: h})
		}
	}
	return all
}

// writeTwins writes the generated code of schedules, their text and a file that declares a variable
// named list with all of them. All files form one package, because compiling a package takes longer
// than compiling its contents. So their declarations get distinct names.
func writeTwins(t *testing.T, dir, list string, schedules []*ir.Schedule) {
	var lines strings.Builder
	for i, s := range schedules {
		name := fmt.Sprintf("%s%d", list, i)
		writeTo(t, filepath.Join(dir, name+".go"), func(b *bytes.Buffer) error {
			o := emit.Options{Package: "twins", Proved: true}
			if s.Folds() {
				report, err := verify.Run(s)
				require.NoError(t, err)
				o.RankOrder, o.Position, o.InPlace = report.Terms.RankOrder, report.Terms.Position, report.Terms.InPlace
			}
			if err := emit.Write(b, "go", s, o); err != nil {
				return err
			}
			return prefixDeclared(b, name+"_")
		})
		writeTo(t, filepath.Join(dir, name+".txt"), func(b *bytes.Buffer) error { return ir.WriteText(b, s) })
		fmt.Fprintf(&lines, "\t{%q, %s_Schedule()},\n", name, name)
	}
	writeTo(t, filepath.Join(dir, list+"_test.go"), func(b *bytes.Buffer) error {
		_, err := fmt.Fprintf(b, "package twins\n\nvar %s = []twin{\n%s}\n", list, &lines)
		return err
	})
}

func copyTo(t *testing.T, dir, file string) {
	program, err := os.ReadFile(filepath.Join("testdata", "gocode", file))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, file), program, 0o644))
}

// goDir makes a directory in the module, and removes it after the test. The go command and git
// ignore the directory.
func goDir(t *testing.T) string {
	dir, err := os.MkdirTemp(".", "_generated-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func writeTo(t *testing.T, path string, write func(*bytes.Buffer) error) {
	var b bytes.Buffer
	require.NoError(t, write(&b))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
}

// generatedExamples returns schedules of every algorithm, with few and with many chunks, and some
// schedules that no algorithm makes. It leaves out schedules that the format refuses. Daily tests
// take the parameters of an algorithm in turn, because the code takes long to compile.
func generatedExamples(t *testing.T) []*ir.Schedule {
	var all []*ir.Schedule
	add := func(name string, p schedule.Params) {
		spec, err := schedule.New(name, p)
		require.NoError(t, err)
		all = append(all, spec.Schedule())
	}
	for i, alg := range schedule.Algorithms() {
		for _, ranks := range heavy.Or([]int{12}, []int{1, 12, 24}) {
			add(alg.Name, schedule.Params{Ranks: ranks})
		}
		more := append(particular(&alg), uneven(&alg)...)
		at := i % len(more)
		for _, p := range heavy.Or(more[at:at+1], more) {
			add(alg.Name, p)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range heavy.Or(4, 15) {
		all = append(all, arbitrary(t, random))
	}
	for _, ranks := range heavy.Or([]int{7}, []int{2, 7, 24, 256}) {
		all = append(all, bundles(ranks, 1), bundles(ranks, 3))
	}
	all = append(all, pairs(7), members(20))
	if heavy.Tests() {
		all = append(all, pairs(24))
	}
	files, err := filepath.Glob("testdata/gocode/*.txt")
	require.NoError(t, err)
	more, err := filepath.Glob("../emit/testdata/*.txt")
	require.NoError(t, err)
	for _, file := range append(files, more...) {
		f, err := os.Open(file)
		require.NoError(t, err)
		s, err := ir.ParseText(f)
		require.NoError(t, err, file)
		require.NoError(t, f.Close())
		all = append(all, s)
	}
	return slices.DeleteFunc(all, func(s *ir.Schedule) bool {
		return errors.As(emit.Write(io.Discard, "go", s, emit.Options{}), new(*emit.Unfit))
	})
}

// bundles is an allgather by Bruck's algorithm. A block has per chunks, and messages have several
// slots.
func bundles(ranks, per int) *ir.Schedule {
	s := &ir.Schedule{Header: ir.Header{Collective: "allgather", Algorithm: "bundles", Ranks: ranks, Chunks: ranks * per}}
	for r := range ranks {
		p := ir.Program{Rank: r}
		block := func(i int) (slots []ir.Slot) {
			for k := range per {
				slots = append(slots, ir.Chunk((r+i)%ranks*per+k))
			}
			return slots
		}
		for have := 1; have < ranks; have *= 2 {
			when, message := []ir.Slot{ir.Enter}, block(0)
			for i := 1; i < min(have, ranks-have); i++ {
				when, message = append(when, block(i)...), append(message, block(i)...)
			}
			slices.Sort(when)
			p.Rules = append(p.Rules, ir.Rule{When: when, Do: ir.PutAll((r+ranks-have)%ranks, message...)})
		}
		for i := 1; i < ranks; i++ {
			p.Done = append(p.Done, block(i)...)
		}
		slices.Sort(p.Done)
		s.Programs = append(s.Programs, p)
	}
	return s
}

// pairs is an alltoall in which every rank sends to every other.
func pairs(ranks int) *ir.Schedule {
	s := &ir.Schedule{Header: ir.Header{Collective: "alltoall", Algorithm: "pairs", Ranks: ranks, Chunks: ranks * ranks}}
	for r := range ranks {
		p := ir.Program{Rank: r}
		var do []ir.Action
		for i := 1; i < ranks; i++ {
			do = append(do, ir.PutTo(ir.Chunk(r*ranks+(r+i)%ranks), (r+i)%ranks))
		}
		p.Rules = []ir.Rule{{When: []ir.Slot{ir.Enter}, Do: do}}
		for from := range ranks {
			if from != r {
				p.Done = append(p.Done, ir.Chunk(from*ranks+r))
			}
		}
		s.Programs = append(s.Programs, p)
	}
	return s
}

// members is an allgather through rank 0. It gives every other rank all blocks except the rank's
// own.
func members(ranks int) *ir.Schedule {
	s := &ir.Schedule{Header: ir.Header{Collective: "allgather", Algorithm: "members", Ranks: ranks, Chunks: ranks}}
	var do []ir.Action
	for r := range ranks {
		p := ir.Program{Rank: r, Rules: []ir.Rule{{When: []ir.Slot{ir.Enter}, Do: []ir.Action{ir.PutTo(ir.Chunk(r), 0)}}}}
		for k := range ranks {
			if k != r {
				p.Done = append(p.Done, ir.Chunk(k))
			}
		}
		do = append(do, ir.PutAll(r, p.Done...)...)
		s.Programs = append(s.Programs, p)
	}
	root := &s.Programs[0]
	root.Rules = []ir.Rule{{When: append([]ir.Slot{ir.Enter}, root.Done...), Do: do[ranks-1:]}}
	return s
}

// uneven returns parameters without powers of two that formulas could rely on: many ranks, other
// roots, hosts of several sizes, many chunks, large degrees.
func uneven(alg *schedule.Algorithm) (all []schedule.Params) {
	switch row := alg.Row(); {
	case row.Origin:
		all = []schedule.Params{{Ranks: 37, Root: 11}, {Ranks: 100, Root: 50}, {Ranks: 67, Root: 66}}
	case slices.Contains(alg.Params, "degree"):
		all = []schedule.Params{
			{Ranks: 37, Degree: 2},
			{Ranks: 100, Degree: 3},
			{Ranks: 67, Degree: 4},
			{Ranks: 59, Degree: 7},
			{Ranks: 61, Degree: 3, Hosts: 17},
			{Ranks: 1000, Degree: 3},
		}
	case slices.Contains(alg.Params, "fan-in"):
		all = []schedule.Params{
			{Ranks: 100, FanIn: 3, FanOut: 1},
			{Ranks: 67, FanIn: 2, FanOut: 5},
			{Ranks: 61, FanIn: 3, FanOut: 2, Hosts: 17},
		}
	case row.Blocks(2) > 1:
		all = []schedule.Params{{Ranks: 37}, {Ranks: 24, Hosts: 6}, {Ranks: 17, Hosts: 3}}
	default:
		all = []schedule.Params{
			{Ranks: 6, Root: 2, Chunks: 70},
			{Ranks: 37, Root: 11},
			{Ranks: 100, Root: 99, Chunks: 5},
			{Ranks: 61, Hosts: 17},
			{Ranks: 45, Root: 23, Hosts: 9, Chunks: 3},
		}
	}
	return taken(alg, all)
}

// arbitrary returns a schedule of random rules: few and many slots, several words of them, waits of
// every width, repairs.
func arbitrary(t *testing.T, random *rand.Rand) *ir.Schedule {
	s := &ir.Schedule{Header: ir.Header{Collective: "bcast", Algorithm: "arbitrary", Ranks: 2 + random.IntN(4), Chunks: 1 + random.IntN(3)}}
	if random.IntN(3) == 0 {
		s.Chunks += 62 + random.IntN(20)
	}
	s.Root = random.IntN(s.Ranks)
	for r := range s.Ranks {
		s.Programs = append(s.Programs, ir.Program{Rank: r, Signals: random.IntN(5) + random.IntN(2)*60})
	}
	for r := range s.Programs {
		arbitraryRules(s, &s.Programs[r], random)
	}
	var b bytes.Buffer
	require.NoError(t, ir.WriteText(&b, s))
	parsed, err := ir.ParseText(&b) // in canonical form
	require.NoError(t, err)
	return parsed
}

func arbitraryRules(s *ir.Schedule, p *ir.Program, random *rand.Rand) {
	slot := func() ir.Slot {
		switch i := random.IntN(5); {
		case i < 2 && p.Signals > 0:
			return ir.Signal(random.IntN(p.Signals))
		case i < 4:
			return ir.Chunk(random.IntN(s.Chunks))
		}
		return ir.Enter
	}
	some := func(most int) (list []ir.Slot) {
		for range 1 + random.IntN(most) {
			if next := slot(); !slices.Contains(list, next) {
				list = append(list, next)
			}
		}
		return list
	}
	p.Done = some(6)
	for range random.IntN(12) {
		rule := ir.Rule{When: some(5)}
		if random.IntN(4) == 0 {
			rule.Unless, rule.After = p.Done[random.IntN(len(p.Done))], random.IntN(4)
		}
		for range 1 + random.IntN(3) {
			rule.Do = append(rule.Do, arbitraryAction(s, p.Rank, random))
		}
		p.Rules = append(p.Rules, rule)
		for same := random.IntN(4); same == 0 && len(p.Rules) < 20; same = random.IntN(2) {
			p.Rules = append(p.Rules, ir.Rule{When: rule.When, Do: []ir.Action{arbitraryAction(s, p.Rank, random)}})
		}
	}
}

func arbitraryAction(s *ir.Schedule, from int, random *rand.Rand) ir.Action {
	chunk := ir.Chunk(random.IntN(s.Chunks))
	if random.IntN(4) == 0 {
		return ir.McastOf(chunk)
	}
	to := (from + 1 + random.IntN(s.Ranks-1)) % s.Ranks
	if n := s.Programs[to].Signals; n > 0 && random.IntN(2) == 0 {
		return ir.PutTo(ir.Signal(random.IntN(n)), to)
	}
	return ir.PutTo(chunk, to)
}
