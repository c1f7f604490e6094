package golden

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/foreign/chakra"
	"github.com/schedgen/schedgen/internal/foreign/dag"
	"github.com/schedgen/schedgen/internal/foreign/goal"
	"github.com/schedgen/schedgen/internal/foreign/msccl"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// readers has the readers of other programs' files, by extension.
var readers = map[string]func(io.Reader) (*dag.Graph, error){
	".goal": goal.Parse,
	".xml":  msccl.Parse,
}

// foreignFiles returns the schedules of others below testdata/foreign.
func foreignFiles(t *testing.T, folder string) []string {
	files, err := filepath.Glob(filepath.Join("testdata", "foreign", folder, "*.*"))
	require.NoError(t, err)
	var out []string
	for _, file := range files {
		if filepath.Ext(file) != ".want" {
			out = append(out, file)
		}
	}
	require.NotEmpty(t, out)
	return out
}

func readForeign(t *testing.T, file string) (*dag.Graph, error) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return readers[filepath.Ext(file)](bytes.NewReader(text))
}

// examineForeign verifies a file for the collective that its name begins with.
func examineForeign(t *testing.T, file string) error {
	g, err := readForeign(t, file)
	require.NoError(t, err)
	collective := ""
	for _, name := range verify.Claims() {
		if strings.HasPrefix(filepath.Base(file), name+"-") && len(name) > len(collective) {
			collective = name
		}
	}
	report, err := verify.RunForeign(g, verify.Claim{Collective: collective})
	require.NoError(t, err)
	return report.Err()
}

func TestForeignGood(t *testing.T) {
	for _, file := range foreignFiles(t, "good") {
		t.Run(filepath.Base(file), func(t *testing.T) { require.NoError(t, examineForeign(t, file)) })
	}
}

// TestForeignComesBack checks that a good GOAL file is still good after it has been read and
// written again.
func TestForeignComesBack(t *testing.T) {
	for _, file := range foreignFiles(t, "good") {
		if filepath.Ext(file) != ".goal" {
			continue
		}
		g, err := readForeign(t, file)
		require.NoError(t, err)
		again := filepath.Join(t.TempDir(), filepath.Base(file))
		out, err := os.Create(again)
		require.NoError(t, err)
		require.NoError(t, goal.Write(out, g, 1))
		require.NoError(t, out.Close())
		require.NoError(t, examineForeign(t, again), file)
	}
}

// TestForeignBroken compares the counterexample with the file beside the schedule.
// SCHEDGEN_UPDATE=1 records it.
func TestForeignBroken(t *testing.T) {
	for _, file := range foreignFiles(t, "broken") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			err := examineForeign(t, file)
			require.Error(t, err, "the schedule is not broken")
			var failure *verify.Failure
			require.ErrorAs(t, err, &failure)
			require.NotEmpty(t, failure.Ranks)
			compare(t, file+".want", []byte(err.Error()+"\n"))
		})
	}
}

// TestForeignBad compares the reader's error with the file beside the schedule.
func TestForeignBad(t *testing.T) {
	for _, file := range foreignFiles(t, "bad") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := readForeign(t, file)
			var at *ir.ParseError
			require.ErrorAs(t, err, &at)
			require.Positive(t, at.Line)
			compare(t, file+".want", []byte(err.Error()+"\n"))
		})
	}
}

// TestGOALComesBack prints every schedule of ours as GOAL under some losses. The readers and checks
// for other programs' files then prove it again.
func TestGOALComesBack(t *testing.T) {
	for _, e := range examples() {
		spec, err := schedule.New(e.algorithm, e.params)
		require.NoError(t, err)
		s := spec.Schedule()
		if s.Folds() {
			continue // GOAL does not say how contributions are folded
		}
		for _, lost := range []emit.Loss{{}, {Rate: 1}, {Seed: 1, Rate: 0.3}, {Seed: 2, Rate: 0.7}} {
			report := examineGOAL(t, s, emit.Options{Size: 10, Lost: lost})
			require.NoError(t, report.Err(), "%s %v", e.path("text"), lost)
		}
	}
}

// asGOAL prints a schedule as GOAL and reads it.
func asGOAL(t *testing.T, s *ir.Schedule, o emit.Options) *dag.Graph {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, emit.Write(&out, "goal", s, o))
	g, err := goal.Parse(&out)
	require.NoError(t, err, s.Name())
	return g
}

// asChakra prints a schedule as traces of Chakra and reads them.
func asChakra(t *testing.T, s *ir.Schedule, o emit.Options) *dag.Graph {
	t.Helper()
	var traces []*bytes.Buffer
	create := func(_ int, write func(io.Writer) error) error {
		traces = append(traces, new(bytes.Buffer))
		return write(traces[len(traces)-1])
	}
	require.NoError(t, emit.WriteRanks(create, "chakra", s, o))
	g, err := chakra.Parse(len(traces), func(rank int) (io.ReadCloser, error) { return io.NopCloser(traces[rank]), nil })
	require.NoError(t, err, s.Name())
	return g
}

// TestChakraComesBack checks that traces of Chakra come back as the same operations, with the same
// dependencies, as GOAL. They differ in what only one of the forms says: the bytes of a fold, times
// below a microsecond, and places.
func TestChakraComesBack(t *testing.T) {
	schedules := slices.Collect(maps.Values(bundled(t)))
	for _, e := range examples() {
		spec, err := schedule.New(e.algorithm, e.params)
		require.NoError(t, err)
		schedules = append(schedules, spec.Schedule())
	}
	for _, s := range schedules {
		for _, lost := range []emit.Loss{{}, {Rate: 1}, {Seed: 1, Rate: 0.3}} {
			o := emit.Options{Size: 100, Fold: 1000000, Lost: lost}
			want, got := asGOAL(t, s, o), asChakra(t, s, o)
			got.Place = ""
			for _, g := range []*dag.Graph{want, got} {
				for _, ops := range g.Ranks {
					for i := range ops {
						ops[i].Line = 0
						if ops[i].Kind == dag.Local {
							ops[i].Size, ops[i].Time = 0, (ops[i].Time+500)/1000*1000
						}
					}
				}
			}
			require.Equal(t, want, got, "%s, %d ranks, lost %v", s.Name(), s.Ranks, lost)
		}
	}
}

// examineGOAL proves the GOAL form of a schedule.
func examineGOAL(t *testing.T, s *ir.Schedule, o emit.Options) *verify.Report {
	t.Helper()
	report, err := verify.RunForeign(asGOAL(t, s, o), verify.Claim{Collective: s.Collective, Root: s.Root})
	require.NoError(t, err)
	return report
}

// broadcasts returns every broadcast at some sizes, with every root. Daily tests take fewer numbers
// of ranks and of chunks.
func broadcasts(t *testing.T) []*ir.Schedule {
	var all []*ir.Schedule
	for _, alg := range schedule.Algorithms() {
		if alg.Collective != schedule.Bcast {
			continue
		}
		for _, ranks := range heavy.Or([]int{1, 2, 3, 5, 8}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9}) {
			for _, chunks := range heavy.Or([]int{0, 1, 3, 7}, []int{0, 1, 2, 3, 7}) {
				for root := range ranks {
					for _, hosts := range []int{0, min(ranks, 3)} {
						spec, err := schedule.New(alg.Name, schedule.Params{Ranks: ranks, Root: root, Chunks: chunks, Hosts: hosts})
						require.NoError(t, err)
						all = append(all, spec.Schedule())
					}
				}
			}
		}
	}
	return all
}

func multicasts(s *ir.Schedule) bool {
	for i := range s.Programs {
		for _, r := range s.Programs[i].Rules {
			if slices.ContainsFunc(r.Do, func(a ir.Action) bool { return a.Op == ir.Mcast }) {
				return true
			}
		}
	}
	return false
}

// TestGOALBringsEveryByte checks that every broadcast brings every byte, also if chunks have
// different lengths or are empty. Daily tests take the sizes in turn.
func TestGOALBringsEveryByte(t *testing.T) {
	sizes := []int{1, 10, 64}
	for i, s := range broadcasts(t) {
		losses := []emit.Loss{{}}
		if multicasts(s) {
			losses = append(losses, emit.Loss{Rate: 1}, emit.Loss{Seed: uint64(i), Rate: 0.5})
		}
		for _, size := range heavy.Or(sizes[i%len(sizes):i%len(sizes)+1], sizes) {
			for _, lost := range losses {
				report := examineGOAL(t, s, emit.Options{Size: size, Lost: lost})
				require.NoError(t, report.Err(), "%s, %d ranks, root %d, %d chunks, %d bytes, lost %v", s.Name(), s.Ranks, s.Root, s.Chunks, size, lost)
			}
		}
	}
}

// TestGOALMissesEveryMessage checks that no message can be left out if nothing comes twice. The
// file then need not say how long the message is.
func TestGOALMissesEveryMessage(t *testing.T) {
	for _, s := range broadcasts(t) {
		if multicasts(s) || s.Ranks < 3 {
			continue
		}
		g := asGOAL(t, s, emit.Options{Size: 10})
		claim, size := verify.Claim{Collective: "bcast", Root: s.Root}, g.Message
		g.Message = 0
		report, err := verify.RunForeign(g, claim)
		require.NoError(t, err)
		require.NoError(t, report.Err())
		require.Contains(t, fmt.Sprint(report.Results), fmt.Sprintf("a message of %d bytes, as much as rank ", size))
		g.Message = size
		for rank := range g.Ranks {
			for i := range g.Ranks[rank] {
				op := &g.Ranks[rank][i]
				if op.Kind != dag.Send {
					continue
				}
				recv := receiveOf(g, rank, op)
				was := op.Size
				op.Size, recv.Size = 0, 0
				report, err := verify.RunForeign(g, claim)
				require.NoError(t, err)
				var failure *verify.Failure
				require.ErrorAs(t, report.Err(), &failure, "%s, %d ranks, root %d, %d chunks: without %s", s.Name(), s.Ranks, s.Root, s.Chunks, g.Tell(dag.Ref{Rank: rank, I: i}))
				op.Size, recv.Size = was, was
			}
		}
	}
}

func receiveOf(g *dag.Graph, from int, send *dag.Op) *dag.Op {
	ops := g.Ranks[send.Peer]
	return &ops[slices.IndexFunc(ops, func(o dag.Op) bool { return o.Kind == dag.Recv && o.Peer == from && o.Tag == send.Tag })]
}

// TestMSCCLComesBack prints every schedule that only has puts for MSCCL, and proves it again. The
// proof follows chunks from cell to cell.
func TestMSCCLComesBack(t *testing.T) {
	came := 0
	for _, e := range examples() {
		spec, err := schedule.New(e.algorithm, e.params)
		require.NoError(t, err)
		s := spec.Schedule()
		g, err := asMSCCL(s)
		if unfit := new(emit.Unfit); errors.As(err, &unfit) {
			continue
		}
		require.NoError(t, err, e.path("text"))
		report, err := verify.RunForeign(g, verify.Claim{Collective: s.Collective, Root: s.Root})
		require.NoError(t, err)
		require.NoError(t, report.Err(), e.path("text"))
		came++
	}
	require.Greater(t, came, 40)
}

// asMSCCL prints a schedule for MSCCL and reads it.
func asMSCCL(s *ir.Schedule) (*dag.Graph, error) {
	var out bytes.Buffer
	if err := emit.Write(&out, "msccl", s, emit.Options{}); err != nil {
		return nil, err
	}
	return msccl.Parse(&out)
}

// bundled returns the schedules of package emit's tests that have several blocks, with one block or
// many in a message.
func bundled(t *testing.T) map[string]*ir.Schedule {
	files, err := filepath.Glob("../emit/testdata/*.txt")
	require.NoError(t, err)
	out := make(map[string]*ir.Schedule)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		s, err := ir.ParseText(bytes.NewReader(text))
		require.NoError(t, err)
		if s.Blocks() > 1 {
			out[filepath.Base(file)] = s
		}
	}
	require.GreaterOrEqual(t, len(out), 4)
	return out
}

// TestBlocksComeBack checks that schedules of several blocks come back from GOAL and from MSCCL
// XML. MSCCL XML itself names the collective. In either form no message can be left out. In MSCCL
// XML no message may go to another place.
func TestBlocksComeBack(t *testing.T) {
	for name, s := range bundled(t) {
		claim := verify.Claim{Collective: s.Collective, Root: s.Root}
		judge := func(g *dag.Graph) error {
			report, err := verify.RunForeign(g, claim)
			require.NoError(t, err, name)
			return report.Err()
		}
		for _, size := range []int{1, 10, 64} {
			g := asGOAL(t, s, emit.Options{Size: size})
			if s.Folds() {
				_, err := verify.RunForeign(g, claim)
				require.ErrorContains(t, err, "nor what ranks fold", name)
				continue
			}
			require.NoError(t, judge(g), "%s, %d bytes", name, size)
			requireRefuted(t, name, g, judge)
		}
		g, err := asMSCCL(s)
		require.NoError(t, err, name)
		if msccl.Word(s.Collective) != "custom" {
			require.Equal(t, s.Collective, g.As)
		}
		require.NoError(t, judge(g), name)
		if s.Folds() {
			requireFolds(t, name, g, judge)
			continue
		}
		for rank := range g.Ranks {
			for i := range g.Ranks[rank] {
				op := &g.Ranks[rank][i]
				if op.Write.Len == 0 || op.Kind == dag.Local && op.Write.Len == g.Cells.Result[rank].Len {
					continue
				}
				was := op.Write.From
				op.Write.From = (was + 1) % (g.Cells.Input[rank].Len + g.Cells.Result[rank].Len - op.Write.Len + 1)
				if op.Write.From != was {
					require.Error(t, judge(g), "%s: %s writes elsewhere", name, g.Tell(dag.Ref{Rank: rank, I: i}))
				}
				op.Write.From = was
			}
		}
	}
}

// requireRefuted makes one message after the other empty. The proof must notice each.
func requireRefuted(t *testing.T, name string, g *dag.Graph, judge func(*dag.Graph) error) {
	for rank := range g.Ranks {
		for i := range g.Ranks[rank] {
			op := &g.Ranks[rank][i]
			if op.Kind != dag.Send {
				continue
			}
			recv, was := receiveOf(g, rank, op), op.Size
			op.Size, recv.Size = 0, 0
			var failure *verify.Failure
			require.ErrorAs(t, judge(g), &failure, "%s: without %s", name, g.Tell(dag.Ref{Rank: rank, I: i}))
			op.Size, recv.Size = was, was
		}
	}
}

// requireFolds leaves out one fold after the other. The proof must notice each.
func requireFolds(t *testing.T, name string, g *dag.Graph, judge func(*dag.Graph) error) {
	for rank := range g.Ranks {
		for i := range g.Ranks[rank] {
			op := &g.Ranks[rank][i]
			if !op.Mix || op.Kind == dag.Send {
				continue
			}
			was := op.Move
			if op.Kind == dag.Recv {
				op.Mix = false // only the message goes on
			} else {
				op.Move = dag.Move{}
			}
			var failure *verify.Failure
			require.ErrorAs(t, judge(g), &failure, "%s: without the fold of %s", name, g.Tell(dag.Ref{Rank: rank, I: i}))
			op.Move = was
		}
	}
}
