package synth

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/flow"
	"github.com/schedgen/schedgen/network"
)

// fabric is the ranks alone: how many trees each arc between ranks may carry, and the ways in the
// network behind the arcs.
type fabric struct {
	*whole
	from, to []int32 // by arc: ranks
	caps     []int64 // by arc: trees
	joints   map[pair][]joint
}

// pair is two nodes.
type pair [2]int32

// joint says that trees of an arc between two nodes go over a switch between them.
type joint struct {
	via    int32
	amount int64
}

// orders is how many orders of splits are tried to avoid detours.
const orders = 100

// split removes the switches. spread distributes what enters a switch over all nodes that it leads
// to, before it goes to as few as possible. Of several orders the one is taken whose trees follow
// the routes of the network most.
func (w *whole) split(spread bool) (*fabric, error) {
	if len(w.n.Switches) == 0 {
		return w.splitInOrder(spread, 0)
	}
	router := network.NewRouter(w.n)
	tries := orders
	if w.n.Nodes() > 64 {
		tries = 4
	}
	if w.n.Nodes() > 300 {
		tries = 1
	}
	var best *fabric
	var least int64
	for order := range tries {
		f, err := w.splitInOrder(spread, uint64(order))
		if err != nil {
			return nil, err
		}
		amount := f.detours(router).Trees
		if best == nil || amount < least {
			best, least = f, amount
		}
		if least == 0 {
			break
		}
	}
	return best, nil
}

// splitter splits off arcs of a graph. flows has for each rank a flow of all trees from the source.
type splitter struct {
	*fabric
	g      *flow.Graph
	source int
	arcs   map[pair]int32
	flows  []flow.Flow
	length []int32 // by arc: hops in the network, at most
	hops   func(from, to int32) int32
	random uint64 // 0: the usual order
}

func (w *whole) splitInOrder(spread bool, order uint64) (*fabric, error) {
	nodes := w.n.Nodes()
	s := &splitter{fabric: &fabric{whole: w, joints: make(map[pair][]joint)}, g: flow.New(nodes + 1), source: nodes, arcs: make(map[pair]int32), random: order}
	for i, a := range w.n.Arcs {
		if w.caps[i] > 0 {
			s.g.Cap[s.arc(int32(a.From), int32(a.To))] = w.caps[i]
		}
	}
	need := w.k * w.all
	for r, weight := range w.weights {
		s.g.Cap[s.arc(int32(nodes), int32(r))] = w.k * weight
	}
	s.hops = s.distances()
	for r := range w.weights {
		f := s.g.Zero()
		if got := s.g.Augment(f, nodes, r, need); got < need {
			return nil, fmt.Errorf("rank %d gets %d of %d trees", r, got, need)
		}
		s.flows = append(s.flows, f)
	}
	s.trim()
	var switches []int32
	for v := len(w.n.Ranks); v < nodes; v++ {
		switches = append(switches, int32(v))
	}
	if !s.shuffle(switches) { // those with few neighbours first
		slices.SortStableFunc(switches, func(a, b int32) int { return cmp.Compare(len(s.g.Out(int(a))), len(s.g.Out(int(b)))) })
	}
	for _, v := range switches {
		if err := s.remove(v, spread); err != nil {
			return nil, err
		}
	}
	for e, c := range s.g.Cap {
		if a, b := s.g.From(e), s.g.To(e); c > 0 && a != s.source {
			if !w.n.IsRank(a) || !w.n.IsRank(b) {
				return nil, fmt.Errorf("%d trees from %s to %s are left", c, w.n.NameOf(a), w.n.NameOf(b))
			}
			s.from, s.to, s.caps = append(s.from, int32(a)), append(s.to, int32(b)), append(s.caps, c)
		}
	}
	return s.fabric, nil
}

// arc returns the arc between two nodes, which is new if need be.
func (s *splitter) arc(from, to int32) int32 {
	if e, ok := s.arcs[pair{from, to}]; ok {
		return e
	}
	e := int32(s.g.Arc(int(from), int(to), 0))
	s.arcs[pair{from, to}] = e
	for v := range s.flows {
		s.flows[v] = append(s.flows[v], 0)
	}
	s.length = append(s.length, 1)
	return e
}

// shuffle puts nodes or arcs into the order of this try. It reports whether it is not the usual one.
func (s *splitter) shuffle(of []int32) bool {
	if s.random == 0 {
		return false
	}
	for i := len(of) - 1; i > 0; i-- {
		s.random = s.random*6364136223846793005 + 1442695040888963407 // Knuth's linear congruential generator
		j := int(s.random >> 33 % uint64(i+1))
		of[i], of[j] = of[j], of[i]
	}
	return true
}

// distances returns a function for the hops between two nodes on ways through switches alone.
func (s *splitter) distances() func(from, to int32) int32 {
	n := s.n
	out := make([][]int32, n.Nodes())
	for _, a := range n.Arcs {
		out[a.From] = append(out[a.From], int32(a.To))
	}
	known := make([][]int32, n.Nodes()+1)
	var queue []int32
	return func(from, to int32) int32 {
		if int(from) == s.source {
			return -1
		}
		if known[from] == nil {
			d := make([]int32, n.Nodes())
			for v := range d {
				d[v] = -1
			}
			d[from] = 0
			queue = append(queue[:0], from)
			for i := 0; i < len(queue); i++ {
				v := queue[i]
				if v != from && n.IsRank(int(v)) {
					continue
				}
				for _, u := range out[v] {
					if d[u] < 0 {
						d[u] = d[v] + 1
						queue = append(queue, u)
					}
				}
			}
			known[from] = d
		}
		return known[from][to]
	}
}

// trim takes from links between switches what is not needed, the same in both directions.
func (s *splitter) trim() {
	var all []int32
	for e := range s.g.Arcs() {
		all = append(all, int32(e))
	}
	s.shuffle(all)
	for _, e := range all {
		a, b := s.g.From(int(e)), s.g.To(int(e))
		if a >= b || b == s.source || s.n.IsRank(a) || s.n.IsRank(b) {
			continue
		}
		if back, ok := s.arcs[pair{int32(b), int32(a)}]; ok {
			s.try(e, back, min(s.g.Cap[e], s.g.Cap[back]))
		}
	}
}

// remove splits off all arcs of a switch.
func (s *splitter) remove(v int32, spread bool) error {
	ins, outs := slices.Clone(s.g.In(int(v))), slices.Clone(s.g.Out(int(v)))
	s.shuffle(ins)
	s.shuffle(outs)
	isSwitch := func(node int) int {
		if node == s.source || s.n.IsRank(node) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(ins, func(a, b int32) int { return isSwitch(s.g.From(int(b))) - isSwitch(s.g.From(int(a))) })
	const (
		shared = iota // direct ways, shared by all nodes that they lead to
		direct        // direct ways
		spare         // any ways, shared
		anyWay
	)
	for pass := shared; pass <= anyWay; pass++ {
		shares := pass == shared || pass == spare
		if shares && !spread {
			continue
		}
		for _, in := range ins {
			if s.g.Cap[in] == 0 {
				continue
			}
			from := s.g.From(int(in))
			ways := s.waysOn(in, outs, isSwitch)
			whole, sum := s.g.Cap[in], int64(0)
			for _, out := range ways {
				if s.g.To(int(out)) != from {
					sum += s.g.Cap[out]
				}
			}
			for _, out := range ways {
				to := s.g.To(int(out))
				if from == to || pass <= direct && s.length[in]+s.length[out] != s.hops(int32(from), int32(to)) {
					continue
				}
				m := min(s.g.Cap[in], s.g.Cap[out])
				if shares {
					m = min(m, share(whole, s.g.Cap[out], sum))
				}
				s.try(in, out, m)
			}
			if pass < anyWay || s.g.Cap[in] == 0 {
				continue
			}
			for _, out := range ways { // back to the node from which it came
				if s.g.To(int(out)) == from {
					s.try(in, out, min(s.g.Cap[in], s.g.Cap[out]))
				}
			}
			if left := s.g.Cap[in]; left > 0 {
				return fmt.Errorf("switch %s: %d trees from %s cannot go on", s.n.NameOf(int(v)), left, s.n.NameOf(from))
			}
		}
	}
	return nil
}

// share returns the part of whole that is due to one of several arcs.
func share(whole, of, sum int64) int64 {
	if sum == 0 {
		return 0
	}
	if p := mul(whole, of); p >= 0 {
		return p / sum
	}
	return int64(float64(whole) * float64(of) / float64(sum))
}

// waysOn returns the arcs that leave a switch in the order in which remove tries them for the arc in.
// The order begins at the node after the one that in comes from. If in comes from a switch, arcs to
// ranks stand before arcs to switches. Otherwise they stand behind them.
func (s *splitter) waysOn(in int32, outs []int32, isSwitch func(node int) int) []int32 {
	from := s.g.From(int(in))
	start := max(0, slices.IndexFunc(outs, func(e int32) bool { return s.g.To(int(e)) > from }))
	ways := slices.Concat(outs[start:], outs[:start])
	sign := 1
	if isSwitch(from) == 0 {
		sign = -1
	}
	slices.SortStableFunc(ways, func(a, b int32) int { return sign * (isSwitch(s.g.To(int(a))) - isSwitch(s.g.To(int(b)))) })
	return ways
}

// try splits off up to m of two arcs that follow each other, u→w and w→x.
func (s *splitter) try(in, out int32, m int64) {
	if m <= 0 {
		return
	}
	u, w, x := s.g.From(int(in)), s.g.To(int(in)), s.g.To(int(out))
	over := int32(-1)
	if u != x {
		over = s.arc(int32(u), int32(x))
	}
	if m = s.splitOff(in, out, over, m); m == 0 || over < 0 {
		return
	}
	s.length[over] = max(s.length[over], s.length[in]+s.length[out])
	s.joints[pair{int32(u), int32(x)}] = append(s.joints[pair{int32(u), int32(x)}], joint{int32(w), m})
}

// splitOff moves up to m from the arcs in and out to the arc over, or takes it away if over is -1.
// It returns how much it has moved. All flows are flows of the new capacities then.
func (s *splitter) splitOff(in, out, over int32, m int64) int64 {
	for i := 0; i < len(s.flows) && m > 0; i++ {
		s.allow(in, out, over, -m)
		lost := s.fit(s.flows[i], in, out, over)
		s.allow(in, out, over, m)
		if lost == 0 {
			continue
		}
		m -= lost
		if over >= 0 {
			for _, f := range s.flows[:i] { // they may have put more on the new arc than it gets now
				if back := f[over] - s.g.Cap[over] - m; back > 0 {
					f[over] -= back
					f[in] += back
					f[out] += back
				}
			}
		}
		i-- // this flow must fit the smaller amount, too
	}
	s.allow(in, out, over, -m)
	return m
}

// allow raises the capacities of two arcs, and lowers that of the arc over, by an amount.
func (s *splitter) allow(in, out, over int32, by int64) {
	s.g.Cap[in] += by
	s.g.Cap[out] += by
	if over >= 0 {
		s.g.Cap[over] -= by
	}
}

// fit changes a flow so that it does not exceed the capacities of the three arcs. It returns how
// much of it cannot be sent, and leaves the flow as it was if that is not 0.
func (s *splitter) fit(f flow.Flow, in, out, over int32) (lost int64) {
	exceeds := func(e int32) int64 { return max(0, f[e]-s.g.Cap[e]) }
	if exceeds(in) == 0 && exceeds(out) == 0 {
		return 0
	}
	y := min(f[in], f[out], max(exceeds(in), exceeds(out)))
	if over >= 0 {
		y = min(y, s.g.Cap[over]-f[over])
		f[over] += y
	}
	f[in] -= y
	f[out] -= y
	defer func() {
		if lost > 0 {
			f[in] += y
			f[out] += y
			if over >= 0 {
				f[over] -= y
			}
		}
	}()
	a, b := exceeds(in), exceeds(out)
	if a == 0 && b == 0 {
		return 0
	}
	was := slices.Clone(f)
	f[in] -= a
	f[out] -= b
	u, w, x := s.g.From(int(in)), s.g.To(int(in)), s.g.To(int(out))
	both := min(a, b) // what goes over both arcs; the rest begins or ends at w
	lost = both - s.g.Augment(f, u, x, both)
	lost += a - both - s.g.Augment(f, u, w, a-both)
	lost += b - both - s.g.Augment(f, w, x, b-both)
	if lost > 0 {
		copy(f, was)
	}
	return lost
}
