// Package choice says which algorithm does a collective operation, and into how
// many chunks a message is cut, where nobody says otherwise. Communicators, the
// command and measurements ask it, so that what is proved and timed is what runs.
package choice

import (
	"slices"

	"github.com/schedgen/schedgen/schedule"
)

// Case is an operation and what it meets. All ranks of a communicator must ask
// about the same case.
type Case struct {
	Collective string // schedule.Bcast, Barrier or Anycast
	Ranks      int
	Bytes      int  // of the message; 0 for a barrier
	Multicast  bool // the network multicasts
	Hosts      int  // hosts that have several ranks, in blocks; 0: one host, one rank on each, or unknown
}

// Rule is a line of the table: the algorithm for the cases within its bounds.
type Rule struct {
	Collective         string
	MinRanks, MaxRanks int  // 0: no bound
	MinBytes, MaxBytes int  // 0: no bound
	Multicast          bool // only with multicast
	Masters            bool // run between the masters of hosts, if there are several ranks on some
	Algorithm          string
	Reason             string
}

// longMessage is from where on a pipeline beats a tree without multicast, in
// bytes.
const longMessage = 64 << 10

// Rules returns the table: the first rule that fits a case counts.
func Rules() []Rule {
	return []Rule{
		{Collective: schedule.Barrier, MaxRanks: 2, Algorithm: "barrier/dissemination",
			Reason: "two ranks tell each other: as many messages as with a tree, and one hop less"},
		{Collective: schedule.Barrier, Masters: true, Algorithm: "barrier/hsb",
			Reason: "the fewest messages"},
		{Collective: schedule.Bcast, Multicast: true, Algorithm: "bcast/mcast-chain",
			Reason: "the time does not grow with the ranks, and a loss costs a hop"},
		{Collective: schedule.Bcast, MaxBytes: longMessage - 1, Masters: true, Algorithm: "bcast/binomial",
			Reason: "the fewest rounds"},
		{Collective: schedule.Bcast, Masters: true, Algorithm: "bcast/chain",
			Reason: "every link carries the message once, and all at the same time"},
		{Collective: schedule.Anycast, Algorithm: "anycast/skip-ring",
			Reason: "two channels a rank on average"},
	}
}

// Of returns the rule for a case. There is one for every case of a known
// collective; ok is false for others.
func Of(c Case) (rule Rule, ok bool) {
	all := Rules()
	i := slices.IndexFunc(all, func(r Rule) bool { return r.fits(c) })
	if i < 0 {
		return Rule{}, false
	}
	return all[i], true
}

func (r *Rule) fits(c Case) bool {
	return r.Collective == c.Collective && within(c.Ranks, r.MinRanks, r.MaxRanks) &&
		within(c.Bytes, r.MinBytes, r.MaxBytes) && (c.Multicast || !r.Multicast)
}

func within(v, lo, hi int) bool { return v >= lo && (hi == 0 || v <= hi) }

// Params returns the parameters that the rule gives to its algorithm in a case:
// the hosts, where it runs between their masters.
func (r *Rule) Params(c Case) schedule.Params {
	if !r.Masters {
		return schedule.Params{}
	}
	return schedule.Params{Hosts: c.Hosts}
}
