package status_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/status"
)

// bcast is a broadcast that waits for chunks of rank 0.
func bcast(seq uint64, root int) runtime.Operation {
	o := operation(seq, 0)
	o.Name, o.Root, o.Bytes, o.Chunks = "bcast/chain", root, 100, 7
	o.Missing = core.Missing{Runs: []core.Run{{First: ir.Chunk(3), Last: ir.Chunk(6)}}, Chunks: 4}
	return o
}

// part is the state of a rank of communicator 2, which processes 1 and 3 have created.
func part(rank, process int, begun uint64, open ...runtime.Operation) runtime.State {
	s := state(rank, 2, open...)
	s.Comm, s.First, s.Process, s.Begun = 2, 1, process, begun
	return s
}

func found(reports ...status.Report) []string { return status.Findings(reports) }

func TestNothingIsFound(t *testing.T) {
	young := operation(12, 1)
	young.Age = 5e8
	require.Empty(t, found())
	require.Empty(t, found(report(state(0, 1))), "idle")
	require.Empty(t, found(report(state(0, 2, young)), report(state(1, 2))), "fast")
}

func TestLateRanksAreFound(t *testing.T) {
	require.Equal(t, []string{
		"rank 3: no answer for 7.0 s",
		"rank 2 has not called operation 12, barrier/hsb, and no goroutine inside a call: ranks 0-1 have been in it for 4.2 s",
	}, found(stuckReports()...))

	said := operation(12, 1)
	said.Absent = []int{3}
	require.Equal(t, []string{"rank 3 has said not to have called operation 12, barrier/hsb: rank 0 has been in it for 4.2 s"},
		found(report(state(0, 4, said))))

	require.Equal(t, []string{"communicator 2 of process 1: rank 0 has not called operation 3, barrier/hsb, and no goroutine inside a call: rank 1 has been in it for 4.2 s"},
		found(
			status.Report{Process: 1, States: []runtime.State{state(1, 4), part(0, 1, 2)}},
			status.Report{Process: 3, States: []runtime.State{state(3, 4), part(1, 3, 3, operation(3, 0))}},
		))
}

func TestWhereRanksStandIsFound(t *testing.T) {
	root := bcast(12, 0)
	root.Missing, root.WaitsFor, root.Unsent, root.SendsTo = core.Missing{}, nil, 3, []int{1}
	require.Equal(t, []string{
		"rank 0 is in operation 12, bcast/chain from rank 0, 100 bytes in 7 chunks, for 4.2 s: 3 frames have not left, they go to rank 1",
		"rank 1 is in operation 12, bcast/chain from rank 0, 100 bytes in 7 chunks, for 4.2 s: it lacks c3-c6, from rank 0",
	}, found(report(state(0, 2, root)), report(state(1, 2, bcast(12, 0)))))

	old := status.Report{Process: 2, Note: "has ended", States: []runtime.State{state(2, 3)}}
	require.Equal(t, []string{
		"rank 2: has ended",
		"rank 1 is in operation 12, barrier/hsb, for 4.2 s: it lacks s1, from rank 2",
		"rank 0 is in operation 12, barrier/hsb, for 4.2 s: it lacks s1, from rank 1",
	}, found(report(state(0, 3, operation(12, 1))), report(state(1, 3, operation(12, 2))), old))
}

func TestOtherOperationIsFound(t *testing.T) {
	require.Equal(t, []string{
		"operation 12 is bcast/chain from rank 0, 100 bytes in 7 chunks at rank 0, and bcast/chain from rank 1, 100 bytes in 7 chunks at rank 1",
	}, found(report(state(0, 2, bcast(12, 0))), report(state(1, 2, bcast(12, 1)))))
}

func TestFailureIsFoundOnce(t *testing.T) {
	a, b := state(0, 2), state(1, 2)
	a.Failure = "rank 1: rank lost: reset"
	b.Failure = a.Failure
	require.Equal(t, []string{"ranks 0-1 failed: rank 1: rank lost: reset"}, found(report(a), report(b)))
}

func TestSilenceIsFound(t *testing.T) {
	watching := state(0, 2, operation(12, 1))
	watching.Watch = &core.Watch{Rank: 1, Quiet: 20e9, Limit: 30e9}
	require.Equal(t, []string{
		"rank 1 has given rank 0 no sign of life for 20.0 s; it is lost after 30.0 s",
		"rank 0 is in operation 12, barrier/hsb, for 4.2 s: it lacks s1, from rank 1",
		"rank 1 is in operation 12, barrier/hsb, for 4.2 s: it lacks s1, from rank 0",
	}, found(report(watching), report(state(1, 2, operation(12, 0)))))

	suspecting := state(0, 2)
	suspecting.Peers = []core.Peer{{Rank: 1, State: "suspected", Cause: "refused"}, {Rank: 2, State: "left"}}
	require.Equal(t, []string{"rank 1 takes no connections of rank 0: refused"}, found(report(suspecting)))
}

// With many ranks, the first few are named.
func TestFindingsAreFew(t *testing.T) {
	var inside, joining []status.Report
	var lacking, notes []string
	for rank := range 100 {
		inside = append(inside, report(state(rank, 100, operation(12, (rank+1)%100))))
		joining = append(joining, status.Report{Process: rank, Note: "has been joining for 3.0 s"})
		if rank < 8 {
			lacking = append(lacking, fmt.Sprintf("rank %d is in operation 12, barrier/hsb, for 4.2 s: it lacks s1, from rank %d", rank, rank+1))
			notes = append(notes, fmt.Sprintf("rank %d: has been joining for 3.0 s", rank))
		}
	}
	require.Equal(t, append(lacking, "and 92 ranks more are in it"), found(inside...))
	require.Equal(t, append(notes, "and 92 ranks more that have not answered"), found(joining...))
}

func TestNumbers(t *testing.T) {
	for want, all := range map[string][]int{"": nil, "3": {3}, "0-2, 5": {0, 1, 2, 5}, "1-2": {1, 2}, "1, 3, 5-9": {1, 3, 5, 6, 7, 8, 9}} {
		require.Equal(t, want, status.Numbers(all))
	}
}
