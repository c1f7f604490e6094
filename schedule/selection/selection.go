// Package selection says which algorithm does a collective operation, with which
// parameters, and into how many chunks a message is cut, where nobody says otherwise.
// Communicators, the command and measurements ask it, so that what is proved and timed is
// what runs.
//
// What decides is a table of rules, of which the first that fits a case counts: the
// built-in one, or one that was read from a file (Parse). Tables of Open MPI are read
// too (Import). Choose needs no table: it computes what all candidates take.
package selection

import "slices"

// Case is an operation and what it meets. All ranks of a communicator must ask
// about the same case.
type Case struct {
	Collective string // its name in the table of package ir
	Ranks      int
	Bytes      int   // of one block, which is the whole message of a broadcast; 0 for a barrier, and for rootless messages, for which one algorithm serves all lengths
	Multicast  bool  // the network multicasts
	Memory     bool  // all ranks share memory, and copy long chunks that are put from where they lie
	Rings      bool  // with Memory: that is slow on their machine, beside a ring that all read
	Hosts      int   // hosts that have several ranks, in blocks; 0: one host, one rank on each, or unknown
	Place      Place // where the ranks are

	// Of a collective that folds. Rules whose algorithms do not serve the case are passed over.
	Ordered      bool // in the order of the ranks: the operation does not commute
	Reproducible bool // by one tree for that many ranks, whatever else the case says
}

// Place says where the ranks of a communicator are, as far as they all know.
type Place uint8

// The places.
const (
	Anywhere Place = iota // on hosts that have several ranks, or unknown; in a rule: any of the three
	OneHost               // all on one host
	OneEach               // each on a host of its own
)

// places are the words for places, in files and for people.
var places = []string{Anywhere: "", OneHost: "one-host", OneEach: "one-each"}

// String returns the word of a file for p, "" for Anywhere.
func (p Place) String() string {
	if int(p) >= len(places) {
		return "?"
	}
	return places[p]
}

// Range is a condition on a number v: From <= v, and v < To unless To is 0.
type Range struct{ From, To int }

func (r Range) has(v int) bool { return v >= r.From && (r.To == 0 || v < r.To) }

// Need is a condition on what may be there or not.
type Need uint8

// The needs.
const (
	Either  Need = iota // no condition
	With                // it must be there
	Without             // it must not
)

func (n Need) has(there bool) bool { return n == Either || there == (n == With) }

// Params are what a rule gives to its algorithm. A field that is 0 takes the default:
// that of schedule.Params, or what Chunks returns.
type Params struct {
	Degree  int
	FanIn   int
	FanOut  int
	Chunks  int  // of a block
	Chunk   int  // bytes of a chunk at most, as far as 1024 chunks suffice; not with Chunks
	Masters bool // run between the masters of hosts, where some have several ranks
}

// BuiltIn stands in place of an algorithm's name: the built-in rules decide.
const BuiltIn = "built-in"

// Rule is a line of a table: the algorithm for the cases that meet its conditions. The
// zero value of a condition is none.
type Rule struct {
	Collective string
	Ranks      Range
	Bytes      Range
	Hosts      Range
	Multicast  Need
	Memory     Need
	Rings      Need
	Place      Place

	Algorithm string // or BuiltIn
	Params    Params
	Reason    string
	Line      int // of the file that it was read from, from 1; 0: from none
}

func (r *Rule) fits(c *Case) bool {
	return r.Collective == c.Collective && r.Ranks.has(c.Ranks) && r.Bytes.has(c.Bytes) && r.Hosts.has(c.Hosts) &&
		r.Multicast.has(c.Multicast) && r.Memory.has(c.Memory) && r.Rings.has(c.Rings) &&
		(r.Place == Anywhere || r.Place == c.Place) && r.serves(c)
}

// Rules is a table of rules that has been checked: a collective of which it has a rule
// has one for every case, and no rule is idle. Those of which it has none are left to the
// built-in rules. It is immutable, and safe for concurrent use.
type Rules struct {
	list   []Rule
	digest uint64 // 0: of the built-in rules
}

// New checks a table of rules. The error is that of the first rule at fault, a
// *FileError where the rule has a line.
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

// List returns the rules in their order.
func (r *Rules) List() []Rule { return slices.Clone(r.list) }

// Digest tells tables apart that decide differently or say so in other words: 64 bits of
// a hash of their text, 0 for the built-in rules. Where the lines of a file break does not count.
func (r *Rules) Digest() uint64 { return r.digest }

// Decision is what a table says of a case.
type Decision struct {
	Rule *Rule // that names the algorithm; not to be changed
	From *Rule // the rule of the file that leaves the case to the built-in ones, if there is one; not to be changed
	Own  bool  // Rule is the table's, not a built-in one in its place
}

// Of returns the decision for a case. There is one for every case of a known
// collective; ok is false for others, and if the case demands of a fold what no rule gives. It makes no
// allocation unless the case demands something.
func (r *Rules) Of(c Case) (d Decision, ok bool) {
	d.Own = true
	d.Rule = r.first(&c)
	if d.Rule != nil && d.Rule.Algorithm != BuiltIn {
		return d, true
	}
	d.From, d.Own = d.Rule, false
	d.Rule = Builtin().first(&c)
	return d, d.Rule != nil
}

func (r *Rules) first(c *Case) *Rule {
	for i := range r.list {
		if r.list[i].fits(c) {
			return &r.list[i]
		}
	}
	return nil
}

// HostsFor returns the parameter Hosts of a rule's algorithm in a case: the hosts, where it runs
// between their masters, else 0.
func (p *Params) HostsFor(c *Case) int {
	if !p.Masters {
		return 0
	}
	return c.Hosts
}
