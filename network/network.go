package network

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Limits of a network.
const (
	MaxRanks = 4096
	MaxNodes = 65536
	MaxArcs  = 1 << 20
	MaxRate  = 1_000_000_000_000_000 // bits a second of an arc
	MaxDelay = 1 << 42               // ns of an arc, about an hour
)

// Network is ranks and switches, which are its nodes, and arcs between them. Node i is rank i, for
// all ranks. The switches have the numbers after them.
type Network struct {
	Name     string
	Ranks    []string // names, by rank
	Switches []string // names
	Arcs     []Arc    // in ascending order of From and To; no two are between the same nodes
	Routes   []Route  // routes that are not those of [Router], in ascending order of their ends
}

// Arc is one direction of a link.
type Arc struct {
	From, To int   // nodes
	Rate     int64 // bits a second, at least 1
	Delay    int64 // ns
}

// Route is the way of messages from a rank to another: its nodes, with both ends.
type Route []int

// Nodes returns the number of nodes.
func (n *Network) Nodes() int { return len(n.Ranks) + len(n.Switches) }

// IsRank reports whether a node is a rank.
func (n *Network) IsRank(node int) bool { return node < len(n.Ranks) }

// NameOf returns the name of a node.
func (n *Network) NameOf(node int) string {
	if n.IsRank(node) {
		return n.Ranks[node]
	}
	return n.Switches[node-len(n.Ranks)]
}

// NamesOf returns the names of nodes, separated by spaces.
func (n *Network) NamesOf(nodes []int) string {
	var names []string
	for _, v := range nodes {
		names = append(names, n.NameOf(v))
	}
	return strings.Join(names, " ")
}

// Reversed returns the network with all arcs turned.
func (n *Network) Reversed() *Network {
	r := *n
	r.Arcs, r.Routes = make([]Arc, len(n.Arcs)), nil
	for i, a := range n.Arcs {
		r.Arcs[i] = Arc{a.To, a.From, a.Rate, a.Delay}
	}
	sortArcs(r.Arcs)
	return &r
}

// Ordered returns the network with its ranks in another order: rank i is order[i] of n.
func (n *Network) Ordered(order []int) *Network {
	r := *n
	r.Ranks = make([]string, len(order))
	now := make([]int, n.Nodes())
	for v := range now {
		now[v] = v
	}
	for i, was := range order {
		r.Ranks[i], now[was] = n.Ranks[was], i
	}
	r.Arcs = slices.Clone(n.Arcs)
	for i := range r.Arcs {
		r.Arcs[i].From, r.Arcs[i].To = now[r.Arcs[i].From], now[r.Arcs[i].To]
	}
	sortArcs(r.Arcs)
	r.Routes = nil
	for _, route := range n.Routes {
		var moved Route
		for _, v := range route {
			moved = append(moved, now[v])
		}
		r.Routes = append(r.Routes, moved)
	}
	sortRoutes(r.Routes)
	return &r
}

// Find returns the arc between two nodes, or -1.
func (n *Network) Find(from, to int) int {
	i, found := slices.BinarySearchFunc(n.Arcs, Arc{From: from, To: to}, compareArcs)
	if !found {
		return -1
	}
	return i
}

// AsFast reports whether each link has the same rate in both directions. Otherwise it returns an
// arc without such a counterpart.
func (n *Network) AsFast() (arc int, ok bool) {
	for i, a := range n.Arcs {
		if j := n.Find(a.To, a.From); j < 0 || n.Arcs[j].Rate != a.Rate {
			return i, false
		}
	}
	return -1, true
}

// Check returns an error if n is no network within the limits.
func (n *Network) Check() error {
	switch nodes := n.Nodes(); {
	case len(n.Ranks) == 0:
		return fmt.Errorf("no ranks")
	case len(n.Ranks) > MaxRanks:
		return fmt.Errorf("%d ranks: at most %d", len(n.Ranks), MaxRanks)
	case nodes > MaxNodes:
		return fmt.Errorf("%d nodes: at most %d", nodes, MaxNodes)
	case len(n.Arcs) > MaxArcs:
		return fmt.Errorf("%d arcs: at most %d", len(n.Arcs), MaxArcs)
	}
	if n.Name != "" && !IsName(n.Name) {
		return fmt.Errorf("network %q: %s", n.Name, namesAre)
	}
	seen := make(map[string]bool)
	for v := range n.Nodes() {
		switch name := n.NameOf(v); {
		case !IsName(name):
			return fmt.Errorf("node %q: %s", name, namesAre)
		case seen[name]:
			return fmt.Errorf("node %s: named twice", name)
		default:
			seen[name] = true
		}
	}
	for i, a := range n.Arcs {
		if a.From < 0 || a.To < 0 || a.From >= n.Nodes() || a.To >= n.Nodes() {
			return fmt.Errorf("arc %d: from node %d to node %d of %d", i, a.From, a.To, n.Nodes())
		}
		if err := a.check(n.NameOf(a.From), n.NameOf(a.To)); err != nil {
			return err
		}
		if i > 0 && compareArcs(n.Arcs[i-1], a) >= 0 {
			return fmt.Errorf("arc %s %s: arcs must be in ascending order, each once", n.NameOf(a.From), n.NameOf(a.To))
		}
	}
	for i, r := range n.Routes {
		if err := n.checkRoute(r); err != nil {
			return err
		}
		if i > 0 && compareRoutes(n.Routes[i-1], r) >= 0 {
			return fmt.Errorf("route %s: routes must be in ascending order, each once", n.NamesOf(r))
		}
	}
	return nil
}

func (a Arc) check(from, to string) error {
	switch {
	case a.From == a.To:
		return fmt.Errorf("arc %s %s: from a node to itself", from, to)
	case a.Rate < 1 || a.Rate > MaxRate:
		return fmt.Errorf("arc %s %s: %d bit/s: a rate must be in 1..%d", from, to, a.Rate, int64(MaxRate))
	case a.Delay < 0 || a.Delay > MaxDelay:
		return fmt.Errorf("arc %s %s: a delay of %d ns: must be in 0..%d", from, to, a.Delay, int64(MaxDelay))
	}
	return nil
}

func (n *Network) checkRoute(r Route) error {
	for _, v := range r {
		if v < 0 || v >= n.Nodes() {
			return fmt.Errorf("route over node %d of %d", v, n.Nodes())
		}
	}
	if len(r) < 2 || !n.IsRank(r[0]) || !n.IsRank(r[len(r)-1]) {
		return fmt.Errorf("route %s: must begin and end at a rank", n.NamesOf(r))
	}
	for i, v := range r {
		if slices.Contains(r[:i], v) {
			return fmt.Errorf("route %s: %s twice", n.NamesOf(r), n.NameOf(v))
		}
		if i > 0 && n.Find(r[i-1], v) < 0 {
			return fmt.Errorf("route %s: no arc from %s to %s", n.NamesOf(r), n.NameOf(r[i-1]), n.NameOf(v))
		}
	}
	return nil
}

func compareArcs(a, b Arc) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) }

func sortArcs(arcs []Arc) { slices.SortFunc(arcs, compareArcs) }

func compareRoutes(a, b Route) int {
	return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[len(a)-1], b[len(b)-1]))
}

func sortRoutes(routes []Route) { slices.SortFunc(routes, compareRoutes) }

const namesAre = "a name has letters, digits, '.', '-' and '_'"

// IsName reports whether s can name a network or a node: letters, digits, '.', '-' and '_'.
func IsName(s string) bool {
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-', c == '_':
		default:
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// draft is a network that a reader or a generator builds. Its nodes have names in place of numbers,
// since ranks may be named after switches.
type draft struct {
	Network
	isRank map[string]bool // by the names of nodes
	links  []namedArc
	routes [][]string
}

type namedArc struct {
	from, to string
	rate     int64
	delay    int64
}

func newDraft(name string) *draft {
	return &draft{Network: Network{Name: name}, isRank: make(map[string]bool)}
}

// node adds a node.
func (d *draft) node(name string, rank bool) error {
	if !IsName(name) {
		return fmt.Errorf("%q: %s", name, namesAre)
	}
	if _, known := d.isRank[name]; known {
		return fmt.Errorf("%s: named twice", name)
	}
	if d.isRank[name] = rank; rank {
		d.Ranks = append(d.Ranks, name)
		if len(d.Ranks) > MaxRanks {
			return fmt.Errorf("%s: more than %d ranks", name, MaxRanks)
		}
	} else {
		d.Switches = append(d.Switches, name)
	}
	if d.Nodes() > MaxNodes {
		return fmt.Errorf("%s: more than %d nodes", name, MaxNodes)
	}
	return nil
}

// arc adds an arc.
func (d *draft) arc(from, to string, rate, delay int64) error {
	for _, name := range []string{from, to} {
		if _, known := d.isRank[name]; !known {
			return fmt.Errorf("no node %s", name)
		}
	}
	if from == to {
		return fmt.Errorf("from a node to itself")
	}
	if len(d.links) == MaxArcs {
		return fmt.Errorf("more than %d arcs", MaxArcs)
	}
	d.links = append(d.links, namedArc{from, to, rate, delay})
	return nil
}

// link adds an arc in each direction.
func (d *draft) link(a, b string, rate, delay int64) error {
	if err := d.arc(a, b, rate, delay); err != nil {
		return err
	}
	return d.arc(b, a, rate, delay)
}

// Link is a link between two nodes.
type Link struct {
	A, B   string // names of nodes
	Rate   int64  // bits a second
	Delay  int64  // ns
	OneWay bool   // from A to B only
}

// New returns the network of the named nodes and links. Parallel links add up.
func New(name string, ranks, switches []string, links []Link) (*Network, error) {
	d := newDraft(name)
	for i, nodes := range [][]string{ranks, switches} {
		for _, node := range nodes {
			if err := d.node(node, i == 0); err != nil {
				return nil, fmt.Errorf("node %w", err)
			}
		}
	}
	for _, l := range links {
		add := d.link
		if l.OneWay {
			add = d.arc
		}
		if err := add(l.A, l.B, l.Rate, l.Delay); err != nil {
			return nil, fmt.Errorf("link %s %s: %w", l.A, l.B, err)
		}
	}
	return d.finish()
}

// finish returns the network. Parallel arcs add up, and have the longest of their delays.
func (d *draft) finish() (*Network, error) {
	n := d.Network
	number := make(map[string]int, n.Nodes())
	for v := range n.Nodes() {
		number[n.NameOf(v)] = v
	}
	for _, l := range d.links {
		n.Arcs = append(n.Arcs, Arc{number[l.from], number[l.to], l.rate, l.delay})
	}
	sortArcs(n.Arcs)
	all := n.Arcs
	n.Arcs = n.Arcs[:0]
	for _, a := range all {
		if last := len(n.Arcs) - 1; last >= 0 && compareArcs(n.Arcs[last], a) == 0 {
			n.Arcs[last].Rate = min(n.Arcs[last].Rate+a.Rate, MaxRate+1) // Check refuses the latter
			n.Arcs[last].Delay = max(n.Arcs[last].Delay, a.Delay)
		} else {
			n.Arcs = append(n.Arcs, a)
		}
	}
	for _, names := range d.routes {
		var r Route
		for _, name := range names {
			r = append(r, number[name])
		}
		n.Routes = append(n.Routes, r)
	}
	sortRoutes(n.Routes)
	if err := n.Check(); err != nil {
		return nil, err
	}
	return &n, nil
}
