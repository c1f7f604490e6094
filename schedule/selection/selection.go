// Package selection decides which algorithm does a collective operation, with which parameters, and
// into how many chunks a message is cut, unless the caller decides. Communicators, the command and
// measurements use it, so that the algorithm that runs is the one that is proved and timed.
//
// A table of rules decides: the first rule that fits a case counts. The table is the built-in one,
// or one read from a file ([Parse]). [Import] also reads tables of Open MPI. [Choose] needs no
// table: it computes the times of all candidates.
package selection

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Case is an operation and its circumstances. All ranks of a communicator must ask about the same
// case.
type Case struct {
	Collective string // its name in the table of package ir
	Ranks      int
	// Bytes is the length of one block, such as the message of a broadcast. It is 0 for a barrier
	// and for rootless messages, where one algorithm serves all lengths.
	Bytes     int
	Multicast bool // the network multicasts
	Memory    bool // all ranks share memory, and copy long chunks directly from the sender's buffer
	// Rings goes with Memory. It says that on the ranks' machine such copies are slow, compared
	// with a ring that all ranks read.
	Rings bool
	// Pace goes with Memory. It says what copies cost on the ranks' machine; nil: as on a typical one.
	// Only Modelled rules depend on it.
	Pace *wire.Pace
	// Hosts is the number of hosts if they have several ranks each, in blocks. It is 0 for one
	// host, for one rank on each, and if it is unknown.
	Hosts int
	Place Place // where the ranks are
	// RDMA says that adapters write messages into the memory of their receivers. Only Modelled rules
	// depend on it.
	RDMA bool
	MPI  bool // an MPI can perform the operation: rules with the algorithm MPI count

	// Only for a collective that folds. Rules whose algorithms do not serve the case are skipped.
	Ordered      bool // fold in the order of the ranks, because the operation does not commute
	Reproducible bool // fold one tree for this number of ranks, whatever the rest of the case is
}

// Place says where the ranks of a communicator are, as far as all of them know.
type Place uint8

// The places.
const (
	Anywhere Place = iota // on hosts that have several ranks, or unknown; in a rule: any of the three
	OneHost               // all on one host
	OneEach               // each on a host of its own
)

// places are the words for places in files and messages.
var places = []string{Anywhere: "", OneHost: "one-host", OneEach: "one-each"}

// String returns the word for p in a file, "" for Anywhere.
func (p Place) String() string {
	if int(p) >= len(places) {
		return "?"
	}
	return places[p]
}

// Range is a condition on a number v: From <= v, and v < To unless To is 0.
type Range struct{ From, To int }

func (r Range) has(v int) bool { return v >= r.From && (r.To == 0 || v < r.To) }

// Need is a condition on something that may be there or not.
type Need uint8

// The needs.
const (
	Either  Need = iota // no condition
	With                // it must be there
	Without             // it must not be there
)

func (n Need) has(there bool) bool { return n == Either || there == (n == With) }

// Params are the parameters that a rule gives to its algorithm. A field that is 0 has the default
// of schedule.Params, or the result of Chunks.
type Params struct {
	Degree  int  // see schedule.Params
	FanIn   int  // see schedule.Params
	FanOut  int  // see schedule.Params
	Chunks  int  // number of chunks of a block
	Chunk   int  // bytes of a chunk at most, as far as 1024 chunks suffice; not together with Chunks
	Masters bool // run between the masters of hosts, if hosts have several ranks
}

// BuiltIn in place of an algorithm's name means that the built-in rules decide.
const BuiltIn = "built-in"

// MPI in place of an algorithm's name means that the MPI of the program performs the operation, where
// there is one that can (Case.MPI). Elsewhere, and where a fold must be reproducible, the rule is
// skipped.
const MPI = "mpi"

// Rule is a line of a table: the algorithm for the cases that meet its conditions. The zero value
// of a condition is no condition.
type Rule struct {
	Collective string // such as "bcast"
	Ranks      Range  // number of ranks
	Bytes      Range  // bytes of a block
	Hosts      Range  // Case.Hosts
	Multicast  Need   // Case.Multicast
	Memory     Need   // Case.Memory
	Rings      Need   // Case.Rings
	Place      Place  // Case.Place

	Algorithm string // the name of an algorithm, BuiltIn, Modelled or MPI
	Params    Params // of the algorithm
	Reason    string // a comment for people
	Line      int    // line of the file, from 1; 0: not from a file
}

func (r *Rule) fits(c *Case) bool {
	return r.Collective == c.Collective && r.Ranks.has(c.Ranks) && r.Bytes.has(c.Bytes) && r.Hosts.has(c.Hosts) &&
		r.Multicast.has(c.Multicast) && r.Memory.has(c.Memory) && r.Rings.has(c.Rings) &&
		(r.Place == Anywhere || r.Place == c.Place) && r.serves(c)
}

// Rules is a checked table of rules. If it has rules for a collective, a rule fits every case of
// it, and no rule is idle. Other collectives are left to the built-in rules. Rules is immutable and
// safe for concurrent use.
type Rules struct {
	list   []Rule
	digest uint64 // 0: the built-in rules
}

// New checks a table of rules. The error concerns the first rule at fault. It is a *FileError if
// the rule has a line.
func New(list []Rule) (*Rules, error) {
	list = slices.Clone(list)
	if err := check(list); err != nil {
		return nil, err
	}
	r := &Rules{list: list}
	r.digest = r.sum()
	if r.digest == Builtin().sum() {
		r.digest = 0
	}
	return r, nil
}

// List returns a copy of the rules in their order.
func (r *Rules) List() []Rule { return slices.Clone(r.list) }

// Digest returns a 64-bit hash of the text of the table, 0 for the built-in rules. Tables that
// decide differently, or give other reasons, have different digests. Line breaks of a file do not
// matter.
func (r *Rules) Digest() uint64 { return r.digest }

// Decision is the answer of a table for a case.
type Decision struct {
	Rule *Rule // the rule that names the algorithm; read-only
	From *Rule // the rule of the table that leaves the case to the built-in rules or to the model, or nil; read-only
	Own  bool  // Rule is from the table, or chosen by a Modelled rule of it, and not a built-in one in its place

	// Hosts is the parameter of this name for the algorithm: Case.Hosts if the algorithm runs
	// between the masters of hosts, else 0.
	Hosts int
}

// Of returns the decision for a case. If no algorithm between the masters of hosts folds as the case
// demands, Of decides as if each rank had a host to itself. ok is false if the collective is unknown,
// or if no rule folds as the case demands. Of makes no allocation unless the case demands something
// of a fold.
func (r *Rules) Of(c Case) (d Decision, ok bool) {
	d = r.decide(&c)
	if d.Rule == nil && c.Hosts > 0 {
		c.Hosts = 0
		d = r.decide(&c)
	}
	if d.Rule == nil {
		return d, false
	}
	d.Hosts = d.Rule.Params.HostsFor(&c)
	return d, true
}

func (r *Rules) decide(c *Case) Decision {
	own := r.first(c)
	switch {
	case own == nil || own.Algorithm == BuiltIn:
		return Decision{Rule: Builtin().first(c).chosen(c), From: own}
	case own.Algorithm == Modelled:
		return Decision{Rule: own.chosen(c), From: own, Own: true}
	}
	return Decision{Rule: own, Own: true}
}

// chosen returns r, or the rule for the algorithm that the model chooses in its place.
func (r *Rule) chosen(c *Case) *Rule {
	if r != nil && r.Algorithm == Modelled {
		return modelled(c)
	}
	return r
}

func (r *Rules) first(c *Case) *Rule {
	for i := range r.list {
		if r.list[i].fits(c) {
			return &r.list[i]
		}
	}
	return nil
}

// HostsFor returns the parameter Hosts of a rule's algorithm in a case: the number of hosts if the
// algorithm runs between their masters, else 0.
func (p *Params) HostsFor(c *Case) int {
	if !p.Masters {
		return 0
	}
	return c.Hosts
}
