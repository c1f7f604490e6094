package sim

import (
	"errors"
	"fmt"
	"sort"

	"github.com/schedgen/schedgen/internal/model/link"
	"github.com/schedgen/schedgen/network"
)

// Network is a model of a given network. Rank r runs on node r. A message crosses the arcs of its
// route ([network.Router]) one after another. Each arc sends one message at a time, in the order of
// their arrival. Switches, and hosts that forward, pass a message on while it arrives. Its first
// byte goes on after the arc's delay, and its last byte arrives no earlier than the slowest arc of
// the route allows. CPUs take O for each send and each receive, and nothing for what they forward.
//
// A multicast crosses each arc of a tree once. The tree follows the routes from its sender.
//
// On a star the times are those of [Links].
type Network struct {
	O   Time // the CPU's part in a send, and in a receive
	Net *network.Network
}

func (m Network) check(bytes int) error {
	if m.Net == nil {
		return errors.New("network: there is none")
	}
	err := checkParams("network", bytes, []Time{m.O}, nil)
	for i := 0; i < len(m.Net.Arcs) && err == nil; i++ {
		err = checkRate("network", m.Net.Arcs[i].Rate, bytes)
	}
	return err
}

func (m Network) cost(_ int, _ bool) cost { return cost{sendCPU: m.O, latency: m.O, recvCPU: m.O} }

func (m Network) fabric(ranks int, c *Config, _ *costs) (*fabric, error) {
	if err := m.Net.Check(); err != nil {
		return nil, fmt.Errorf("network: %w", err)
	}
	switch of := len(m.Net.Ranks); {
	case of != ranks:
		return nil, fmt.Errorf("%d ranks: the network has %d", ranks, of)
	case c.Hosts != 0:
		return nil, fmt.Errorf("%d hosts: the network has its own, one for each rank", c.Hosts)
	case c.Switch != 0:
		return nil, errors.New("a limit of the switch: the network has its own switches")
	}
	f := &fabric{
		routes: &paths{n: m.Net, router: network.NewRouter(m.Net)},
		arcs:   make([]arc, len(m.Net.Arcs)), fresh: make([]Link, len(m.Net.Arcs)), shared: true,
	}
	for i, a := range m.Net.Arcs {
		f.fresh[i] = Link{Rate: a.Rate, Delay: Time(a.Delay)}
	}
	return f, nil
}

func (m Network) loads(f *fabric, r *Result) {
	r.ArcLoads = make([]link.Count[Time], len(f.arcs))
	for i := range f.arcs {
		r.ArcLoads[i] = f.arcs[i].Count()
	}
}

// String returns the parameters, such as "o=1500 network=two-sites ranks=4 arcs=10".
func (m Network) String() string {
	name := ""
	if m.Net.Name != "" {
		name = " network=" + m.Net.Name
	}
	return fmt.Sprintf("o=%d%s ranks=%d arcs=%d", m.O, name, len(m.Net.Ranks), len(m.Net.Arcs))
}

// paths is the routes of a network.
type paths struct {
	n      *network.Network
	router *network.Router
}

func (p *paths) next(node, from, to int) (arc, end int) {
	if arc = p.router.At(node, from, to); arc < 0 {
		return -1, -1
	}
	return arc, p.n.Arcs[arc].To
}

func (p *paths) end(arc int) int { return p.n.Arcs[arc].To }

func (p *paths) branches(arcs []int32, node, from int) ([]int32, error) {
	tree, err := p.router.Tree(from)
	if err != nil {
		return arcs, err
	}
	for i := p.firstOf(tree, node); i < len(tree) && p.n.Arcs[tree[i]].From == node; i++ {
		arcs = append(arcs, int32(tree[i]))
	}
	return arcs, nil
}

func (p *paths) goesOn(node, from int) bool {
	tree, err := p.router.Tree(from)
	if err != nil {
		return false // branches has failed before
	}
	i := p.firstOf(tree, node)
	return i < len(tree) && p.n.Arcs[tree[i]].From == node
}

// firstOf returns the place in a tree of the first arc that leaves a node or a later one. Arcs are
// numbered in the order of the nodes that they leave.
func (p *paths) firstOf(tree []int, node int) int {
	return sort.Search(len(tree), func(i int) bool { return p.n.Arcs[tree[i]].From >= node })
}
