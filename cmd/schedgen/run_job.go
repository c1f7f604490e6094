package main

import (
	"log/slog"
	"time"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/status"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim/fit"
)

// job is all that a rank is told. For ranks that are processes it goes to the
// standard input of each as JSON, and Rank, Output and the descriptors differ.
type job struct {
	log *slog.Logger // is told what this rank waits for while the ranks meet; of a rank that is started by hand

	Task       task
	Collective string // of a row of the table
	Operation  string // bench: what is timed
	Dup        bool   // bench: on a duplicate of the communicator
	Rank       int
	Algorithm  string
	FromFile   bool            // a schedule of that name is run, not the algorithm
	Params     schedule.Params // with the number of ranks, the root and the chunks filled in
	Size       int64           // bytes of a message, or of each block; of the longest beside Counts
	Fold       folding         // of a collective that folds
	Counts     []int64         // bytes of each block: the list begins again for those behind it; nil: all have Size
	Iterations int             // of bcast and barrier
	Messages   int             // of anycast, from each rank
	Seed       uint64          // of bytes made up
	Sum        string          // bcast: SHA-256 of the message, in hex
	Output     string          // bcast: file for what this rank has received; empty: none
	rootDelay
	Timeout time.Duration
	Silence time.Duration // of a rank that is lost; 0: none is
	replying
	Tune  tuning // tune
	Rules string // the text of the rules, which choose what is not said; "": the built-in ones
	Link  link
	descriptors
}

// task is what the ranks of a job do.
type task string

// The tasks.
const (
	taskRun   task = "run"   // run a collective and check it
	taskBench task = "bench" // time an operation
	taskTune  task = "tune"  // measure what messages take
)

// kind returns the kind of the job's collective.
func (j *job) kind() kind { return kindOf(rowOf(j.Collective)) }

// replying says what the root of a broadcast waits for.
type replying struct {
	Replies bool // time until all ranks have said that they have the message, too
	Acked   bool // the root's call ends no sooner than that
}

// rootDelay says when the root of a broadcast that multicasts begins.
type rootDelay struct {
	Delay     runtime.DelayPolicy
	RootDelay time.Duration // of DelayFixed
}

// descriptors are those that a process gets from the one that starts it.
type descriptors struct {
	ReportFD   int // where reports go
	InputFD    int // the file at the root; 0: made-up bytes
	CountersFD int // shared memory of a barrier
	ListenerFD int // the coordinator's socket at rank 0
	SegmentFD  int // shared memory of the transport shm
	TraceFD    int // the file of a trace; 0: none
	ScheduleFD int // the schedule that is run in place of an algorithm; 0: none
}

// link is how the ranks reach each other.
type link struct {
	Transport   string // mem, tcp, mcast, shm, hybrid or verbs
	Coordinator string // host:port
	Job         string // a name: ranks of another job are turned away
	secret
	Interface string // of multicasts; over hybrid empty: there are none
	Device    string // of verbs; empty: the first that will do
	PutsOnly  bool   // over verbs: the device does not multicast
	IPv6      bool
	Loss      float64 // of multicast datagrams, at each receiver
	Seed      uint64  // of the losses
}

// multicasts reports whether there is multicast.
func (l *link) multicasts() bool {
	return l.Transport != overTCP && (l.Transport != overHybrid || l.Interface != "") && !l.PutsOnly
}

// sharesMemory reports whether ranks of one host put through memory that they share.
func (l *link) sharesMemory() bool {
	return l.Transport == overShm || l.Transport == overHybrid && canShare()
}

// report is what a rank tells its parent: one of the fields in each line.
type report struct {
	Joined  bool     `json:",omitempty"` // connected to all ranks
	Samples []int64  `json:",omitempty"` // latencies of the next iterations, in nanoseconds
	Steps   int      `json:",omitempty"` // since the last report: messages received of anycast, sizes that tune has done with
	Done    *outcome `json:",omitempty"` // the rank has gone through all its work
	Failed  *failure `json:",omitempty"` // it has not

	Status *status.Report `json:",omitempty"` // where it stands, if it was asked
}

// findings counts things that are wrong, and tells the first.
type findings struct {
	Count int
	First string `json:",omitempty"`
}

func (f *findings) add(text string) {
	if f.Count == 0 {
		f.First = text
	}
	f.Count++
}

// outcome is a rank's part of the result.
type outcome struct {
	Wrong       findings      // bytes, messages or barriers that are not what they should be
	McastChunks uint64        // bcast: chunks that came by multicast
	PutChunks   uint64        // bcast: chunks that came by the chain, the tree or a repair
	Repairs     uint64        // repair rules carried out
	Copies      int           // of a long chunk between ranks that share memory; 0: they do not
	Twice       string        `json:",omitempty"` // why these are two
	Replied     []int64       `json:",omitempty"` // bcast, at the root: by iteration, nanoseconds until all ranks have replied
	Received    int           // anycast: messages
	Elapsed     time.Duration // anycast: from the first to the last message
	Tuned       []fit.Samples `json:",omitempty"` // tune, at rank 0
}
