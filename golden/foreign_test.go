package golden

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/dag"
	"github.com/schedgen/schedgen/ir/goal"
	"github.com/schedgen/schedgen/ir/msccl"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// readers are those of other programs' files, by extension.
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

// examineForeign verifies a file as what the first word of its name says.
func examineForeign(t *testing.T, file string) error {
	g, err := readForeign(t, file)
	require.NoError(t, err)
	collective, _, _ := strings.Cut(filepath.Base(file), "-")
	report, err := verify.RunForeign(g, verify.Claim{Collective: collective})
	require.NoError(t, err)
	return report.Err()
}

func TestForeignGood(t *testing.T) {
	for _, file := range foreignFiles(t, "good") {
		t.Run(filepath.Base(file), func(t *testing.T) { require.NoError(t, examineForeign(t, file)) })
	}
}

// What is good as GOAL is so when it has been written again.
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

// TestForeignBroken holds the counterexample against the file beside it.
// SCHEDGEN_UPDATE=1 records.
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

// TestForeignBad holds what the reader says against the file beside it.
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

// Every schedule of ours, printed as GOAL under some losses, is proved again by
// what reads the files of others.
func TestGOALComesBack(t *testing.T) {
	for _, e := range examples() {
		spec, err := schedule.New(e.algorithm, e.params)
		require.NoError(t, err)
		s := spec.Schedule()
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

// examineGOAL proves what a schedule looks like as GOAL.
func examineGOAL(t *testing.T, s *ir.Schedule, o emit.Options) *verify.Report {
	t.Helper()
	claim := verify.Claim{Collective: "bcast", Root: s.Root}
	if s.Collective == "barrier" {
		claim = verify.Claim{Collective: "barrier"}
	}
	report, err := verify.RunForeign(asGOAL(t, s, o), claim)
	require.NoError(t, err)
	return report
}

// broadcasts returns every broadcast at some sizes, with every root.
func broadcasts(t *testing.T) []*ir.Schedule {
	var all []*ir.Schedule
	for _, alg := range schedule.Algorithms() {
		if alg.Collective != schedule.Bcast {
			continue
		}
		for ranks := 1; ranks <= 9; ranks++ {
			for _, chunks := range []int{0, 1, 2, 3, 7} {
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

// Every broadcast brings every byte, also if chunks are of different lengths or
// of none.
func TestGOALBringsEveryByte(t *testing.T) {
	for i, s := range broadcasts(t) {
		for _, size := range []int{1, 10, 64} {
			for _, lost := range []emit.Loss{{}, {Rate: 1}, {Seed: uint64(i), Rate: 0.5}} {
				report := examineGOAL(t, s, emit.Options{Size: size, Lost: lost})
				require.NoError(t, report.Err(), "%s, %d ranks, root %d, %d chunks, %d bytes, lost %v", s.Name(), s.Ranks, s.Root, s.Chunks, size, lost)
			}
		}
	}
}

// Where nothing comes twice, the file need not say how long the message is, and
// no message can be left out.
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

// Every broadcast of puts alone, printed for MSCCL, is proved again: there the
// chunks are followed from cell to cell.
func TestMSCCLComesBack(t *testing.T) {
	came := 0
	for _, e := range examples() {
		spec, err := schedule.New(e.algorithm, e.params)
		require.NoError(t, err)
		s := spec.Schedule()
		var out bytes.Buffer
		err = emit.Write(&out, "msccl", s, emit.Options{})
		if unfit := new(emit.Unfit); errors.As(err, &unfit) {
			continue
		}
		require.NoError(t, err)
		g, err := msccl.Parse(&out)
		require.NoError(t, err, e.path("text"))
		report, err := verify.RunForeign(g, verify.Claim{Collective: "bcast", Root: s.Root})
		require.NoError(t, err)
		require.NoError(t, report.Err(), e.path("text"))
		came++
	}
	require.Greater(t, came, 40)
}
