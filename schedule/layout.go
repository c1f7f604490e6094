package schedule

import "github.com/schedgen/schedgen/ir"

// MaxRanks squared must fit an int, so this package needs a 64-bit platform.
const _ int = MaxRanks * MaxRanks

// layout maps ranks to virtual ranks. The ranks are divided into hosts contiguous blocks, as even
// as possible: rank r is on host ⌊r·hosts/ranks⌋. The master of a block is its lowest rank, or the
// root in the root's block. A flat schedule has one rank a host.
type layout struct {
	ranks int
	hosts int // number of blocks; the algorithm runs among their masters
	root  int
	home  int // the root's host

	// alternate is for schedules that fold, in which one host of a pair takes part for both (see
	// fold.go). It is the odd host that does so in place of the even one before it, or 0 if there
	// is none.
	alternate int
}

func newLayout(p Params) layout {
	l := layout{ranks: p.Ranks, hosts: p.Ranks, root: p.Root}
	if p.Hosts > 0 {
		l.hosts = p.Hosts
	}
	l.home = l.host(p.Root)
	return l
}

// newFoldingLayout returns the layout of a schedule that folds. It is not rotated: virtual ranks
// are hosts, and each master is the first rank of its host.
func newFoldingLayout(p Params) layout {
	root := p.Root
	p.Root = 0
	l := newLayout(p)
	if home := l.host(root); home%2 == 1 {
		l.alternate = home
	}
	return l
}

func (l *layout) flat() bool { return l.hosts == l.ranks }

// host returns the host of a rank.
func (l *layout) host(rank int) int {
	if l.flat() {
		return rank
	}
	return rank * l.hosts / l.ranks
}

// virtual returns the virtual rank of a rank's host. It is 0 for the root.
func (l *layout) virtual(rank int) int {
	v := l.host(rank) - l.home
	if v < 0 {
		v += l.hosts
	}
	return v
}

// real returns the host of virtual rank v.
func (l *layout) real(v int) int {
	h := v + l.home
	if h >= l.hosts {
		h -= l.hosts
	}
	return h
}

// first returns the lowest rank of host h: ⌈h·ranks/hosts⌉.
func (l *layout) first(h int) int {
	if l.flat() {
		return h
	}
	return (h*l.ranks + l.hosts - 1) / l.hosts
}

// master returns the rank of virtual rank v.
func (l *layout) master(v int) int {
	if v == 0 {
		return l.root
	}
	return l.first(l.real(v))
}

// slavesOf returns how many slaves the master of virtual rank v has.
func (l *layout) slavesOf(v int) int {
	if l.flat() {
		return 0
	}
	h := l.real(v)
	return l.first(h+1) - l.first(h) - 1
}

// signal returns signal j of the algorithm at the master of virtual rank v. The signals of slaves
// are numbered before the algorithm's signals.
func (l *layout) signal(v, j int) ir.Slot { return ir.Signal(l.slavesOf(v) + j) }

// node is one rank's view of a schedule. The rank's program depends on nothing else.
type node struct {
	layout
	rank int
	v    int // virtual rank of its host

	chunks, degree, fanIn, fanOut int

	// Only for schedules that fold.
	dest   int // the rank that wants the result of a reduce
	vector int // chunks of each rank's contribution
}

func (n *node) isMaster() bool { return n.rank == n.master(n.v) }
func (n *node) isRoot() bool   { return n.v == 0 }

// slaves returns how many slaves the node has if it is a master.
func (n *node) slaves() int { return n.slavesOf(n.v) }

// slave returns the rank of slave i of the node's host.
func (n *node) slave(i int) int {
	r := n.first(n.real(n.v)) + i
	if r >= n.master(n.v) {
		r++
	}
	return r
}

// slaveIndex is the inverse of slave: it returns the index of the node among the slaves of its
// master.
func (n *node) slaveIndex() int {
	i := n.rank - n.first(n.real(n.v))
	if n.rank > n.master(n.v) {
		i--
	}
	return i
}
