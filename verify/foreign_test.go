package verify_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir/dag"
	"github.com/schedgen/schedgen/ir/goal"
	"github.com/schedgen/schedgen/ir/msccl"
	"github.com/schedgen/schedgen/verify"
)

// randomGraph draws a graph that has messages with tags of their own, between
// any ranks, and operations that wait for some before them in their rank.
func randomGraph(t *rapid.T) *dag.Graph {
	ranks := rapid.IntRange(1, 4).Draw(t, "ranks")
	g := &dag.Graph{Ranks: make([][]dag.Op, ranks), Unit: "bytes"}
	add := func(rank int, op dag.Op) {
		for i := range g.Ranks[rank] {
			if rapid.IntRange(0, 2).Draw(t, "after") == 0 {
				op.After = append(op.After, int32(i))
			}
		}
		g.Ranks[rank] = append(g.Ranks[rank], op)
	}
	for tag := range rapid.IntRange(0, 9).Draw(t, "messages") {
		from, to := rapid.IntRange(0, ranks-1).Draw(t, "from"), rapid.IntRange(0, ranks-1).Draw(t, "to")
		send, recv := dag.Op{Kind: dag.Send, Peer: to, Tag: tag, Size: 1}, dag.Op{Kind: dag.Recv, Peer: from, Tag: tag, Size: 1}
		if rapid.Bool().Draw(t, "the receive first") {
			add(to, recv)
			add(from, send)
		} else {
			add(from, send)
			add(to, recv)
		}
	}
	return g
}

// ended runs all operations that can be run if the rank late does nothing (-1:
// none), as often as it takes.
func ended(g *dag.Graph, late int) map[dag.Ref]bool {
	done := make(map[dag.Ref]bool)
	sent := make(map[int]bool) // by tag
	for changed := true; changed; {
		changed = false
		for rank, ops := range g.Ranks {
			for i, op := range ops {
				ready := rank != late && !done[dag.Ref{Rank: rank, I: i}] && (op.Kind != dag.Recv || sent[op.Tag])
				for _, a := range op.After {
					ready = ready && done[dag.Ref{Rank: rank, I: int(a)}]
				}
				if ready {
					done[dag.Ref{Rank: rank, I: i}], changed = true, true
					sent[op.Tag] = sent[op.Tag] || op.Kind == dag.Send
				}
			}
		}
	}
	return done
}

func allEnded(g *dag.Graph, rank int, done map[dag.Ref]bool) bool {
	for i := range g.Ranks[rank] {
		if !done[dag.Ref{Rank: rank, I: i}] {
			return false
		}
	}
	return true
}

// dumbBarrier runs the graph without each rank: does another one get through?
func dumbBarrier(g *dag.Graph) bool {
	for late := range g.Ranks {
		done := ended(g, late)
		for rank := range g.Ranks {
			if rank != late && allEnded(g, rank, done) {
				return false
			}
		}
	}
	return true
}

// outcome returns the result of one check.
func outcome(r *verify.Report, check string) verify.Result {
	for _, res := range r.Results {
		if res.Check == check {
			return res
		}
	}
	return verify.Result{}
}

func TestForeignBarrierAgreesWithTrying(t *testing.T) {
	deadlocks, barriers, others := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		g := randomGraph(rt)
		report, err := verify.RunForeign(g, verify.Claim{Collective: "barrier"})
		require.NoError(rt, err)
		require.NoError(rt, outcome(report, "matched").Err)
		done := ended(g, -1)
		for rank := range g.Ranks {
			if !allEnded(g, rank, done) {
				require.Error(rt, outcome(report, "deadlock").Err)
				deadlocks++
				return
			}
		}
		require.NoError(rt, outcome(report, "deadlock").Err)
		require.Equal(rt, dumbBarrier(g), outcome(report, "barrier").Err == nil, "%v", report.Err())
		if dumbBarrier(g) {
			barriers++
		} else {
			others++
		}
	})
	require.Positive(t, deadlocks)
	require.Positive(t, barriers)
	require.Positive(t, others)
}

// A broadcast is one if no rank ends up without data when every rank passes on
// what it must hold: tried by running the data along.
func TestForeignBroadcastAgreesWithTrying(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := randomGraph(rt)
		root := rapid.IntRange(0, len(g.Ranks)-1).Draw(rt, "root")
		report, err := verify.RunForeign(g, verify.Claim{Collective: "bcast", Root: root})
		require.NoError(rt, err)
		if outcome(report, "deadlock").Err != nil {
			return
		}
		var missed []string
		for rank := range g.Ranks {
			if !reaches(g, root, rank) {
				missed = append(missed, fmt.Sprint(rank))
			}
		}
		if len(missed) == 0 {
			require.NoError(rt, report.Err())
			return
		}
		var failure *verify.Failure
		require.ErrorAs(rt, report.Err(), &failure)
		require.Len(rt, failure.Ranks, len(missed), "%v", failure)
		require.Equal(rt, missed, strings.Fields(strings.Trim(fmt.Sprint(failure.Ranks), "[]")))
	})
}

// reaches follows the messages backwards from the rank to the root.
func reaches(g *dag.Graph, root, rank int) bool {
	if rank == root {
		return true
	}
	for i := range g.Ranks[rank] {
		if derives(g, root, dag.Ref{Rank: rank, I: i}) {
			return true
		}
	}
	return false
}

func derives(g *dag.Graph, root int, at dag.Ref) bool {
	op := g.Ranks[at.Rank][at.I]
	if at.Rank == root {
		return true
	}
	for _, a := range op.After {
		if derives(g, root, dag.Ref{Rank: at.Rank, I: int(a)}) {
			return true
		}
	}
	if op.Kind != dag.Recv {
		return false
	}
	for i, send := range g.Ranks[op.Peer] {
		if send.Kind == dag.Send && send.Tag == op.Tag {
			return derives(g, root, dag.Ref{Rank: op.Peer, I: i})
		}
	}
	return false
}

func TestForeignClaims(t *testing.T) {
	g := &dag.Graph{Ranks: make([][]dag.Op, 2)}
	_, err := verify.RunForeign(g, verify.Claim{Collective: "anycast"})
	require.ErrorContains(t, err, "only barrier and bcast")
	_, err = verify.RunForeign(g, verify.Claim{Collective: "bcast", Root: 2})
	require.ErrorContains(t, err, "root 2 of 2 ranks")
	g.Cells = &dag.Cells{}
	_, err = verify.RunForeign(g, verify.Claim{Collective: "barrier"})
	require.ErrorContains(t, err, "is no barrier")
}

// FuzzForeign proves whatever the readers accept.
func FuzzForeign(f *testing.F) {
	files, err := filepath.Glob("../golden/testdata/foreign/*/*.*")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		if filepath.Ext(file) != ".want" {
			f.Add(string(text), 0)
		}
	}
	f.Fuzz(func(t *testing.T, text string, root int) {
		g, err := goal.Parse(strings.NewReader(text))
		if strings.HasPrefix(text, "<") {
			g, err = msccl.Parse(strings.NewReader(text))
		}
		if err != nil {
			return
		}
		for _, collective := range []string{"barrier", "bcast"} {
			report, err := verify.RunForeign(g, verify.Claim{Collective: collective, Root: root})
			require.True(t, (err == nil) == (report != nil))
		}
	})
}
