package selection

import (
	"github.com/schedgen/schedgen/schedule"
)

// serves reports whether the algorithm of a rule does what a case demands of what it folds.
func (r *Rule) serves(c *Case) bool {
	if !c.Ordered && !c.Reproducible || r.Algorithm == BuiltIn {
		return true
	}
	spec, err := schedule.New(r.Algorithm, schedule.Params{Ranks: c.Ranks, Degree: r.Params.Degree, Hosts: r.Params.HostsFor(c)})
	if err != nil {
		return true // whoever uses it gets the error
	}
	return (!c.Ordered || spec.RankOrder()) && (!c.Reproducible || spec.Tree() != "" && spec.Tree() == Tree(c.Collective))
}

// passedOver reports whether there are cases that a rule fits and that it does not serve, so that a later
// rule decides them.
func (r *Rule) passedOver() bool {
	a, ok := schedule.Named(r.Algorithm)
	row := a.Row()
	return ok && row.Inputs != nil && (!a.RankOrder || a.Tree == "" || r.Params.Masters)
}

// Tree returns the name of the tree by which a collective folds if the result is to be reproducible:
// that of the first of its algorithms that has one. It is "" if it folds nothing.
func Tree(collective string) string {
	for _, a := range schedule.AlgorithmsOf(collective) {
		if a.Tree != "" {
			return a.Tree
		}
	}
	return ""
}

// folded returns into how many chunks a vector is cut that an algorithm folds, 0 if it folds nothing.
// cut says that it may be cut further.
func (m *Message) folded() (chunks int, cut bool) {
	a, ok := schedule.Named(m.Algorithm)
	row := a.Row()
	switch {
	case !ok || row.Inputs == nil:
		return 0, false
	case a.Uncut():
		return 1, false
	case a.CutsItself():
		return a.DefaultChunks(m.Ranks), true
	case m.Algorithm == "reduce/chain" || m.Algorithm == "scan/chain":
		return m.pipeline(), true
	case a.Multicasts() && m.Datagram > 0:
		return m.pieces(min(m.Datagram, chunkBytes)), true
	}
	return 1, true
}
