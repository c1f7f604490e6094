// Package crew runs the ranks of one job: it starts them as processes or goroutines of this
// machine, or takes part as one of ranks that are started by hand. It does what the job says,
// checks it, oversees the ranks and gathers their times. It knows nothing of flags, and prints
// nothing.
package crew

import (
	"log/slog"
	"time"

	"github.com/schedgen/schedgen/cli/internal/probe"
	"github.com/schedgen/schedgen/internal/model/fit"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/status"
	"github.com/schedgen/schedgen/schedule"
)

// Job tells a rank what to do. A rank that is a process reads it from its standard input as JSON.
// The jobs of ranks differ in Rank, Output and the descriptors.
type Job struct {
	Log *slog.Logger `json:"-"` // for a rank that is started by hand: receives what it waits for while the ranks meet

	Task       Task
	Collective string    // name of a row of the table
	Operation  Operation // bench: what is timed
	Dup        bool      // bench: use a duplicate of the communicator
	Rank       int
	Algorithm  string
	FromFile   bool            // Algorithm names the schedule of a file, which runs in place of an algorithm
	Params     schedule.Params // ranks, root and chunks are set
	Size       int64           // bytes of a message or of each block; with Counts, of the longest block
	Fold       Folding         // for a collective that folds
	Counts     []int64         // bytes of each block, repeated if there are more blocks; nil: all have Size
	Iterations int             // number of operations
	Messages   int             // anycast: number of messages of each rank
	Seed       uint64          // seed of made-up bytes
	Sum        string          // bcast: SHA-256 of the message, in hex
	Output     string          // bcast: file for the bytes that this rank receives; "": none
	rootDelay
	Timeout time.Duration
	Silence time.Duration // time without a sign of life after which a rank is lost; 0: never
	Latency bool          // the rank counts how long operations take, for a status page
	replying
	Tune  probe.Plan // tune
	Learn string     // file for the rules that the ranks learn, which choose the algorithm; "": they learn nothing
	Rules string     // text of the rules for algorithms that are not named; "": the built-in rules
	// Network is the text of the network for which schedules are registered before the run; "": none.
	Network string
	Link    Link
	descriptors
}

// Task is the kind of work of a job.
type Task string

// The tasks.
const (
	TaskRun   Task = "run"   // run a collective and check it
	TaskBench Task = "bench" // time an operation
	TaskTune  Task = "tune"  // measure the times of messages
)

// Row returns the row of the job's collective, or the zero row if there is none.
func (j *Job) Row() *ir.Collective {
	row, _ := ir.CollectiveNamed(j.Collective)
	return &row
}

// Length returns the bytes of a block.
func (j *Job) Length(block int) int64 {
	if j.Counts == nil {
		return j.Size
	}
	return j.Counts[block%len(j.Counts)]
}

// Apart reports whether a rank may know only the lengths of blocks that it holds or wants. If the
// collective folds, every rank contributes to all blocks and knows all lengths.
func (j *Job) Apart() bool { return j.Counts != nil && j.Row().Inputs == nil }

// replying tells whether the root of a broadcast also times the replies of the others.
type replying struct {
	Replies bool // time until all ranks have told that they have the message
	Acked   bool // the root's call returns only then, so no further replies are needed
}

// rootDelay tells when the root of a broadcast begins to multicast.
type rootDelay struct {
	Delay     runtime.DelayPolicy
	RootDelay time.Duration // for DelayFixed
}

// descriptors are the file descriptors that a process inherits from its parent.
type descriptors struct {
	ReportFD   int // pipe for reports
	InputFD    int // at the root: file to broadcast; 0: made-up bytes
	CountersFD int // shared memory of a barrier
	ListenerFD int // at rank 0: the coordinator's socket
	SegmentFD  int // shared memory of the transport shm
	TraceFD    int // file of a trace; 0: none
	ScheduleFD int // schedule that runs in place of an algorithm; 0: none
}

// Link tells how the ranks reach each other.
type Link struct {
	Transport   string // mem, tcp, mcast, shm, hybrid or verbs
	Coordinator string // host:port
	Job         string // name of the job; ranks of another job are turned away
	Key         []byte // key of the job; nil: none
	Encrypt     bool   // encrypt all traffic; needs a key
	Interface   string // network interface of multicasts; over hybrid, "" means no multicast
	Device      string // for verbs; "": the first suitable device
	PutsOnly    bool   // for verbs: the device does not multicast
	IPv6        bool
	Loss        float64 // probability that a receiver loses a multicast datagram
	Seed        uint64  // seed of the losses
}

// Multicasts reports whether the link has multicast.
func (l *Link) Multicasts() bool {
	return l.Transport != TCP && (l.Transport != Hybrid || l.Interface != "") && !l.PutsOnly
}

// SharesMemory reports whether ranks of one host put through shared memory.
func (l *Link) SharesMemory() bool {
	return l.Transport == Shm || l.Transport == Hybrid && CanShare()
}

// report is a report of a rank to its parent. Each has one of the fields.
type report struct {
	Joined  bool     `json:",omitempty"` // the rank is connected to all ranks
	Samples []int64  `json:",omitempty"` // latencies of the next iterations, in nanoseconds
	Steps   int      `json:",omitempty"` // steps since the last report: messages received of anycast, sizes that tune knows
	Done    *Outcome `json:",omitempty"` // the rank has done all its work
	Failed  *failure `json:",omitempty"` // the rank has failed

	Status *status.Report `json:",omitempty"` // the answer to a question for the status
}

// Findings counts wrong results and holds a text for the first.
type Findings struct {
	Count int
	First string `json:",omitempty"`
}

// Add counts a wrong result, which text tells.
func (f *Findings) Add(text string) {
	if f.Count == 0 {
		f.First = text
	}
	f.Count++
}

// Outcome is a rank's part of the result.
type Outcome struct {
	Wrong       Findings      // wrong bytes, messages or barriers
	McastChunks uint64        // bcast: chunks that came by multicast
	PutChunks   uint64        // bcast: chunks that came by the chain, the tree or a repair
	Repairs     uint64        // repairs that this rank made
	Copies      int           // number of copies of a long chunk between ranks that share memory; 0: the ranks share none
	Twice       string        `json:",omitempty"` // why Copies is 2
	Replied     []int64       `json:",omitempty"` // bcast, at the root: by iteration, nanoseconds until all ranks have replied
	Received    int           // anycast: number of messages received
	Elapsed     time.Duration // anycast: from the first to the last message
	Tuned       []fit.Samples `json:",omitempty"` // tune, at rank 0

	Learned []runtime.Learned `json:",omitempty"` // with Job.Learn, at rank 0
}
