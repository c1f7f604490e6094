package cli

import (
	"fmt"
	"strings"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// kind holds the texts and defaults of the verbs run, rank and bench for collectives that are
// alike. [kindOf] finds the kind by the collective's row, so a new row of the table of collectives
// needs no code here. In texts, {name} stands for the name of the collective, {a name} for the name
// with its article, and {sum} for the SHA-256 of the message.
type kind struct {
	run  template // help of run, one line
	rank template // help of rank, one line

	about    template            // help of run: what is done, and what is checked
	seat     template            // help of rank: the same
	examples map[string][]string // by verb (run, rank or mpirun): the flags

	block string // what --size is the length of, "message" or "block"
	each  string // the same with a word before it, in texts about chunks
	size  int64  // default of --size in bytes

	repeats    template // help of --iterations
	iterations int      // default of --iterations; 0: by the bytes of a rank

	checked template // line below the table of results, if all is well
	wrong   template // error, if something is wrong

	operations []timedOp // what bench times; names without the collective, and templates for texts
}

// template is a text with placeholders for the collective.
type template string

var kinds = struct{ message, blocks, synchronizing, published kind }{
	// One message from the root to all ranks.
	message: kind{
		run:  "Broadcast a file, or made-up bytes, and check every rank's copy.",
		rank: "Take part in broadcasts as one rank.",
		about: `Proves the schedule, starts a local process for each rank, and broadcasts the message many times.
Before each broadcast all ranks meet at a barrier. After each broadcast every rank checks the
SHA-256 of its copy. The exit code is 1 if a byte differs.

If the schedule multicasts, the table shows for each rank how its chunks came: by multicast, or in
another way because a datagram was lost or late.

The time of a rank runs from its call to its return. Throughput is the size of the message, divided
by the median time of the slowest rank.
`,
		seat: `It prints the times of the calls, and the time from the root's call until all ranks have told the
root that they have the message: by the algorithm's own acknowledgements, or else by a barrier.
`,
		examples: map[string][]string{
			"run": {"-p 8 --size 16MiB", "FILE --size 16MiB", "-p 8 --input FILE --loss 0.5 --output DIR"},
			"rank": {
				"-p 15 --rank 3 --coordinator 10.77.0.1:7777 \\\n    --transport mcast --interface eth0 --size 512KiB",
				"-p 3 --rank 0 --coordinator 10.77.0.1:7777 \\\n    --transport verbs --device mlx5_0",
			},
			"mpirun": {"--transport tcp --size 512KiB"},
		},
		block: "message", each: "the message", size: 1 << 20,
		repeats: "Broadcasts to time; default as many as make 256 MiB, at most 100",
		checked: "SHA-256 {sum} at every rank after every broadcast", wrong: "wrong data",
		operations: []timedOp{
			{help: "a broadcast from rank 0"},
			{Operation: crew.Operation{Name: "_ack", Replied: true},
				help: "a broadcast from rank 0, to which every other rank replies when it has the message; rank 0 is timed until it " +
					"has all replies. bcast/mcast-acktree replies by itself; with other algorithms the ranks check in at the root of a " + crew.ReplyBarrier},
			{Operation: crew.Operation{Name: "_barrier", Barrier: true}, help: "a broadcast from rank 0, then a barrier"},
		},
	},

	// Blocks that are moved or folded, as in scatter, allgather, alltoall and allreduce.
	blocks: kind{
		run:  "Run {name}s of made-up blocks and check every byte of the results.",
		rank: "Take part in {name}s as one rank.",
		about: `Proves the schedule, starts a local process for each rank, and runs the operation many times. Before
each operation all ranks meet at a barrier, and each fills its blocks with bytes that depend on the
seed, the iteration and the block. Afterwards each rank compares every byte of the blocks that it
must have. The exit code is 1 if a byte differs.

The time of a rank runs from its call to its return. Throughput is the number of bytes that all
ranks together receive, divided by the median time of the slowest rank.
`,
		seat: `Each rank compares every byte of its blocks.
`,
		examples: map[string][]string{
			"run":    {"-p 5 --size 10KB", "FILE --size 10KB"},
			"rank":   {"-p 15 --rank 3 --coordinator 10.77.0.1:7777 \\\n    --size 10KB"},
			"mpirun": {"--transport tcp --size 10KB"},
		},
		block: "block", each: "each block", size: 64 << 10,
		repeats: "Operations to time; default as many as move 256 MiB to or from a rank, at most 100",
		checked: "every byte of every block is right at every rank after every {name}", wrong: "wrong data",
		operations: []timedOp{{help: "{a name} with blocks of --size"}},
	},

	// No bytes, and no rank leaves before all have entered.
	synchronizing: kind{
		run:  "Run {name}s and check that no rank leaves one too soon.",
		rank: "Take part in {name}s as one rank.",
		about: `Proves the schedule, starts a local process for each rank, and runs many {name}s. Each rank
increments its counter, in shared memory, before it enters {a name}, and compares the counters of
all ranks after it has left the {name}. The exit code is 1 if a rank left a {name} before all had
entered it.
`,
		seat: `After the timed {name}s each rank in turn enters one late. The others tell it when they have left that
{name}, which must be after it has entered.
`,
		examples: map[string][]string{
			"run":    {"-p 8 --algorithm hsb --fan-in 3 --fan-out 3", "-p 8 --algorithm hsb-mcast --loss 0.01"},
			"rank":   {"-p 15 --rank 3 --coordinator 10.77.0.1:7777"},
			"mpirun": {"--transport tcp"},
		},
		repeats: "Number of {name}s; default 1000", iterations: 1000,
		checked: "no rank left a {name} before the last had entered it", wrong: "no {name}",
		operations: []timedOp{{help: "{a name}"}},
	},

	// Any rank publishes messages at any time, and the others receive them.
	published: kind{
		run:  "Publish messages at every rank and check what the others receive.",
		rank: "Publish messages as one rank and check those of the others.",
		about: `Proves the schedules of all origins, and starts a local process for each rank. Each rank publishes
its messages while it receives those of all others. Every message must arrive exactly once,
unchanged and in the order of its origin; otherwise the exit code is 1.
`,
		seat: `Every message must arrive exactly once at every other rank, unchanged and in the order of its origin.
`,
		examples: map[string][]string{
			"run":    {"-p 8 --messages 1000 --size 1KiB"},
			"rank":   {"-p 15 --rank 3 --coordinator 10.77.0.1:7777 \\\n    --messages 1000 --size 1KiB"},
			"mpirun": {"--transport tcp --size 1KiB"},
		},
		block: "message", size: 1 << 10,
		checked: "every message came exactly once, unchanged and in its origin's order", wrong: "wrong messages",
		operations: []timedOp{
			{help: "a rootless message that rank 0 publishes and every other rank takes; rank 0 does not wait for the others"},
			{Operation: crew.Operation{Name: "_loop", Loop: true},
				help: "rank 0 publishes --iterations rootless messages in a tight loop; the time until a rank has the last one, divided " +
					"by the number of messages; four loops (paper 001, section 3.1)"},
		},
	},
}

// kindOf returns the kind of a collective, or nil if the commands have none for it.
func kindOf(row *ir.Collective) *kind {
	switch {
	case row.Published:
		return &kinds.published
	case row.Broadcasts():
		return &kinds.message
	case row.Blocks != nil:
		return &kinds.blocks
	case row.Synchronizes:
		return &kinds.synchronizing
	}
	return nil
}

// fill returns a template's text for a collective.
func (t template) fill(collective string) string {
	return strings.NewReplacer("{name}", collective, "{a name}", words.WithArticle(collective)).Replace(string(t))
}

// sizeHelp is the help of --size, without the units.
func (k *kind) sizeHelp() string {
	if k == &kinds.message {
		return fmt.Sprintf("Broadcast N made-up bytes in place of a file; default %v", byteSize(k.size))
	}
	return fmt.Sprintf("Bytes of a %s; default %v", k.block, byteSize(k.size))
}

// timed returns the operations that bench times for a collective.
func (k *kind) timed(row *ir.Collective) []timedOp {
	var all []timedOp
	for _, op := range k.operations {
		op.Name, op.collective, op.help = row.Name+op.Name, row.Name, template(op.help).fill(row.Name)
		if k == &kinds.blocks && row.Rooted {
			op.help += ", " + row.RootWord() + " rank 0"
		}
		all = append(all, op)
	}
	return all
}

// rowOf returns the row of the collective of that name, or the zero row, which has no kind, if
// there is none.
func rowOf(collective string) *ir.Collective {
	row, _ := ir.CollectiveNamed(collective)
	return &row
}

// hasMessage reports whether calls of a collective move bytes. Multicasts may carry these.
func hasMessage(row *ir.Collective) bool { return row.Blocks != nil && !row.Published }

// runnable returns the names of the collectives that run has a verb for.
func runnable() (names []string) {
	for _, row := range ir.Collectives() {
		if kindOf(&row) != nil {
			names = append(names, row.Name)
		}
	}
	return names
}

// verbOf returns the verb of run for a schedule from a file: the verb of the collective whose calls
// run it. A file that names no collective of the table is taken for a broadcast.
func verbOf(collective string) string {
	if row := rowOf(collective); kindOf(row) != nil {
		return row.CalledBy()
	}
	return schedule.Bcast
}

// loses reports whether --loss fits a collective and an algorithm, which multicasts or not. A
// broadcast with losses may name an algorithm that does not multicast.
func loses(row *ir.Collective, multicasts bool) bool { return multicasts || row.Broadcasts() }

// errLoss returns the error for --loss if nothing is multicast.
func errLoss() error {
	have := []string{"broadcasts"}
	for _, a := range schedule.Algorithms() {
		if row := rowOf(a.Collective); a.Multicasts() && (row.Published || !row.Broadcasts()) {
			have = append(have, a.Name)
		}
	}
	words, last := have[len(have)-1], len(have)-1
	if last > 0 {
		words = strings.Join(have[:last], ", ") + " and " + words
	}
	return fmt.Errorf("--loss: needs multicasts, which only %s have", words)
}
