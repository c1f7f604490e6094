package schedule

// branches is a tree with root 0 in which each sub-tree consists of consecutive hosts. A gather
// climbs it, and a scatter descends it.
type branches struct {
	degree func(v, hosts int) int    // number of children of v
	child  func(v, hosts, i int) int // child i of v, in the order of sending
	parent func(v int) int           // the parent of v ≥ 1
	span   func(v, hosts int) int    // number of hosts in the sub-tree of v: v, v+1 …
}

var (
	binomialBranches = branches{binomialDegree, binomialChild, binomialParent, binomialSpan}
	linearBranches   = branches{linearDegree, linearChild, func(int) int { return 0 }, linearSpan}
)

func linearSpan(v, hosts int) int {
	if v == 0 {
		return hosts
	}
	return 1
}

// below returns the ranks of the sub-tree of v.
func (b *branches) below(l *layout, v int) run { return l.ranksOf(v, b.span(v, l.hosts)) }
