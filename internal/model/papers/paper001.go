package papers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// figures001 returns the figures of paper 001, the rootless broadcast.
func figures001() []Entry {
	return []Entry{
		{"001/1", "channels of a skip list of 8 nodes", skipList001},
		{"001/2", "channels of a skip ring of 8 nodes", skipRing001},
		{"001/3", "the way of a message of rank 2 among 8 nodes", routes001},
		{"001/4", "latency of an anycast against ranks, 10 to 10,000 bytes", latency001},
		{"001/depth", "hops to the last rank, over all origins", depth001},
		{"001/origins", "hops to the last rank by origin, 64 ranks", origins001},
		{"001/messages", "messages of an anycast, over all origins", messages001},
	}
}

const (
	skipRing  = "anycast/skip-ring"
	circulant = "anycast/circulant"
)

// short001 returns the name of an overlay without its collective.
func short001(name string) string { return strings.TrimPrefix(name, schedule.Anycast+"/") }

// cori is a machine similar to the machine of paper 001. The text gives no parameters and no times,
// so these are round figures for a network of 10 GB/s.
var cori = sim.LogGP{L: 1000, O: 300, Gap: 300, GPerByte: 100}

// hops is a machine in which a message takes one unit of time and nothing else takes any. So times
// are numbers of hops.
var hops = sim.LogGP{L: 1}

func ranks001(o Options) []int {
	if o.Quick {
		return []int{16, 23, 64}
	}
	return []int{16, 23, 32, 48, 64, 100, 128, 200, 256, 384, 512}
}

// latency001 returns figure 4: the paper's skip ring with messages of four lengths, each alone and
// in a loop.
func latency001(ctx context.Context, o Options) (*Figure, error) {
	f := &Figure{X: Axis{Label: "ranks", Log: true, Whole: true}, Y: latencyAxis}
	xs := ofInts(ranks001(o)...)
	for _, n := range []int{10, 100, 1000, 10_000} {
		s, err := curveOf(fmt.Sprintf("one message, %d B", n), Simulation, xs, func(x float64) (float64, error) {
			r, err := simulate(skipRing, schedule.Params{Ranks: int(x)}, sim.Config{Model: cori, Bytes: n})
			if err != nil {
				return 0, err
			}
			return micros(r.Makespan), nil
		})
		if err != nil {
			return nil, err
		}
		f.Series = append(f.Series, s)
	}
	for _, n := range []int{10, 100, 1000, 10_000} {
		s, err := curveOf(fmt.Sprintf("in a loop, %d B", n), Model, xs, func(x float64) (float64, error) { return loop001(skipRing, int(x), n) })
		if err != nil {
			return nil, err
		}
		f.Series = append(f.Series, s)
	}
	growth := func(s *Series) float64 { return s.Points[len(s.Points)-1].Y / s.Points[0].Y }
	size := func(small, large *Series) float64 {
		k := len(small.Points) - 1
		return large.Points[k].Y / small.Points[k].Y
	}
	s := f.Series
	f.Claims = []Claim{
		{"§3.2, fig. 4", "most ranks to 16 ranks, 10 B (\"slight increase\")", "", None, growth(&s[4]), growth(&s[0])},
		{"§3.2, fig. 4", "1,000 B to 10 B, most ranks (\"not sensitive\")", "", None, size(&s[4], &s[6]), size(&s[0], &s[2])},
		{"§3.2, fig. 4", "10,000 B to 10 B, most ranks (\"not sensitive\")", "", None, size(&s[4], &s[7]), size(&s[0], &s[3])},
	}
	f.Notes = []string{"The paper measures 10,000 anycasts of rank 0 in a tight loop, and takes the longest time of a rank for each message. The model is that of such a loop: a message costs what the busiest rank does for it, its sends and its receipt. " +
		"The simulation is one message alone, until its last rank has it, which takes a logarithm of hops. The text gives no times; L = 1 µs, o = g = 0.3 µs and 10 GB/s are round figures. Runs are loops (schedgen bench anycast_loop)."}
	var runs []realCurve
	for _, n := range []int{10, 100, 1000, 10_000} {
		runs = append(runs, realCurve{fmt.Sprintf("in a loop, %d B", n), Job{Operation: "anycast_loop", Algorithm: skipRing, Bytes: n}})
	}
	return f, f.addMeasured(ctx, o, ofInts(2, 3, 5, 8), runs...)
}

// loop001 returns the cost of each message, in µs, if rank 0 of p sends many messages of n bytes
// without a pause. That is the time for which one message keeps the busiest CPU or interface busy.
// It is the limit of a full pipeline, and does not depend on L.
func loop001(name string, p, n int) (float64, error) {
	spec, err := schedule.New(name, schedule.Params{Ranks: p})
	if err != nil {
		return 0, err
	}
	wire := float64(n-1) * float64(cori.GPerByte) / 1000
	busiest := 0.0
	for r := range p {
		sends, receives := 0.0, 1.0
		if r == 0 {
			receives = 0
		}
		program := spec.Program(r)
		for i := range program.Rules {
			sends += float64(len(program.Rules[i].Do))
		}
		cpu := sends*float64(cori.O) + receives*(float64(cori.O)+wire)
		link := max(sends, receives) * (float64(cori.Gap) + wire)
		busiest = max(busiest, cpu, link)
	}
	return busiest / 1e3, nil
}

// channels001 returns a figure of the channels among eight nodes for which drawn is true, and their
// overlay. There is a series for each level, and a point is a channel from X to Y.
func channels001(drawn func(to int) bool) (*Figure, schedule.Overlay, error) {
	const p = 8
	spec, err := schedule.New(skipRing, schedule.Params{Ranks: p})
	if err != nil {
		return nil, nil, err
	}
	overlay := spec.Overlay()
	f := &Figure{X: Axis{Label: "node"}, Y: Axis{Label: "node to which the channel leads"}, Channels: true}
	for from := range p {
		for level, to := range overlay.Channels(nil, from) {
			if level == len(f.Series) {
				f.Series = append(f.Series, Series{Name: fmt.Sprintf("level %d", level), Kind: Model})
			}
			if drawn(to) {
				s := &f.Series[level]
				s.Points = append(s.Points, Point{float64(from), float64(to)})
			}
		}
	}
	return f, overlay, nil
}

// skipList001 returns figure 1, in which no node links back to the head.
func skipList001(context.Context, Options) (*Figure, error) {
	f, _, err := channels001(func(to int) bool { return to != 0 })
	if err != nil {
		return nil, err
	}
	f.Notes = []string{"The paper's figure 1: on level l a node links to the next one of level l or higher, and the last node of a level to none."}
	return f, nil
}

// skipRing001 returns figure 2, in which the last node of each level links to the head.
func skipRing001(context.Context, Options) (*Figure, error) {
	f, _, err := channels001(func(int) bool { return true })
	if err != nil {
		return nil, err
	}
	count := func(node int) (n float64) {
		for i := range f.Series {
			if f.Series[i].at(float64(node)) != "-" {
				n++
			}
		}
		return n
	}
	f.Claims = []Claim{{"fig. 2", "channels of nodes 0 and 4, which have the most", "", None, 3, min(count(0), count(4))}}
	f.Notes = []string{"The paper's figure 2: the last nodes of the levels, 7, 6 and 4, link to node 0 as well. Nodes 0 and 4 have the highest level and the most channels."}
	return f, nil
}

// routes001 returns figure 3: the path of a message that rank 2 publishes.
func routes001(context.Context, Options) (*Figure, error) {
	const origin = 2
	f, overlay, err := channels001(func(int) bool { return true })
	if err != nil {
		return nil, err
	}
	levels := len(f.Series)
	for level := range levels {
		f.Series = append(f.Series, Series{Name: f.Series[level].Name + ", its message", Kind: Simulation})
	}
	messages := 0
	type hop struct{ from, to int }
	for next := []hop{{origin, origin}}; len(next) > 0; next = next[1:] {
		node := next[0].to
		for _, to := range overlay.Forward(nil, node, origin, next[0].from) {
			messages++
			next = append(next, hop{node, to})
			for level := range levels {
				if f.Series[level].y(float64(node)) == float64(to) {
					s := &f.Series[levels+level]
					s.Points = append(s.Points, Point{float64(node), float64(to)})
					break
				}
			}
		}
	}
	for level := range levels {
		slices.SortFunc(f.Series[levels+level].Points, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
	}
	f.Claims = []Claim{{"§2.2, fig. 3", "messages", "", 8, 7, float64(messages)}}
	f.Notes = []string{"The paper's figure 3: rank 2 sends to rank 4, which has a higher level, and rank 4 to rank 0, which has the same, since the message is new to them."}
	return f, nil
}

// spreadOf is a summary of all origins of an overlay.
type spreadOf struct {
	most, mean   float64 // hops to the last rank
	fewest, many int64   // messages
}

// overOrigins simulates an anycast from every rank.
func overOrigins(name string, p int) (spreadOf, error) {
	var s spreadOf
	for origin := range p {
		r, err := simulate(name, schedule.Params{Ranks: p, Root: origin}, sim.Config{Model: hops, Bytes: 1})
		if err != nil {
			return s, err
		}
		s.most = max(s.most, float64(r.Makespan))
		s.mean += float64(r.Makespan) / float64(p)
		if origin == 0 || r.Counts.Sends < s.fewest {
			s.fewest = r.Counts.Sends
		}
		s.many = max(s.many, r.Counts.Sends)
	}
	return s, nil
}

// overlays001 returns the curves of values of both overlays.
func overlays001(o Options, of map[string]func(s *spreadOf) float64) ([]Series, error) {
	var all []Series
	for _, name := range []string{skipRing, circulant} {
		told := make([]spreadOf, len(ranks001(o)))
		for i, p := range ranks001(o) {
			s, err := overOrigins(name, p)
			if err != nil {
				return nil, err
			}
			told[i] = s
		}
		for _, what := range slices.Sorted(maps.Keys(of)) {
			s := Series{Name: short001(name) + ", " + what, Kind: Simulation}
			for i, p := range ranks001(o) {
				s.Points = append(s.Points, Point{float64(p), of[what](&told[i])})
			}
			all = append(all, s)
		}
	}
	return all, nil
}

func depth001(_ context.Context, o Options) (*Figure, error) {
	all, err := overlays001(o, map[string]func(s *spreadOf) float64{
		"farthest": func(s *spreadOf) float64 { return s.most },
		"mean":     func(s *spreadOf) float64 { return s.mean },
	})
	if err != nil {
		return nil, err
	}
	xs := ofInts(ranks001(o)...)
	return &Figure{
		X: Axis{Label: "ranks", Log: true, Whole: true}, Y: Axis{Label: "hops to the last rank"},
		Series: append([]Series{
			curve(short001(skipRing)+", farthest", Model, every(o, xs), func(x float64) float64 { return float64(SkipRingDepth(int(x))) }),
			curve(short001(circulant)+", farthest", Model, every(o, xs), func(x float64) float64 { return float64(bits.Len(uint(x)) - 1) }),
		}, all...),
		Notes: []string{"The paper: O(log n) on average. The model of the skip ring is its worst case, 2·log2 P - 2 hops, which it has where P is a power of two, and which bounds it elsewhere: up the levels from the origin and down on the other side. " +
			"The circulant, ours, takes ⌊log2 P⌋ from every origin, for log2 P channels a rank in place of two on average."},
	}, nil
}

// SkipRingDepth returns a bound for the number of hops from any origin of a skip ring of p ranks to
// the last rank. If p is a power of two, the farthest origin needs exactly so many: 2·log2 p - 2
// from p = 4 on, and log2 p below. For other p the bound is the bound for the next power of two.
func SkipRingDepth(p int) int {
	levels := bits.Len(uint(p - 1))
	return max(2*levels-2, levels)
}

func origins001(_ context.Context, _ Options) (*Figure, error) {
	const p = 64
	f := &Figure{X: Axis{Label: "origin", Whole: true}, Y: Axis{Label: "hops to the last rank"}, Notes: []string{
		"Rank 0 is on all levels and reaches all in log2 P hops. An origin between has to climb first, and is farthest from those just before it on the ring."}}
	for _, name := range []string{skipRing, circulant} {
		s, err := curveOf(short001(name), Simulation, floats(0, p-1), func(x float64) (float64, error) {
			r, err := simulate(name, schedule.Params{Ranks: p, Root: int(x)}, sim.Config{Model: hops, Bytes: 1})
			if err != nil {
				return 0, err
			}
			return float64(r.Makespan), nil
		})
		if err != nil {
			return nil, err
		}
		f.Series = append(f.Series, s)
	}
	return f, nil
}

func messages001(_ context.Context, o Options) (*Figure, error) {
	all, err := overlays001(o, map[string]func(s *spreadOf) float64{
		"fewest": func(s *spreadOf) float64 { return float64(s.fewest) },
		"most":   func(s *spreadOf) float64 { return float64(s.many) },
	})
	if err != nil {
		return nil, err
	}
	xs := ofInts(ranks001(o)...)
	k := len(xs) - 1
	return &Figure{
		X: Axis{Label: "ranks", Log: true, Whole: true}, Y: Axis{Label: "messages", Log: true},
		Series: append([]Series{
			curve("stated, n", Paper, xs, func(x float64) float64 { return x }),
			curve("all but the origin", Model, every(o, xs), func(x float64) float64 { return x - 1 }),
		}, all...),
		Claims: []Claim{{"§2.2", fmt.Sprintf("messages among %g ranks", xs[k]), "", xs[k], xs[k] - 1, all[1].Points[k].Y}},
		Notes:  []string{"The paper: each message is sent using only n messages. Ours are n-1: nobody sends to the origin."},
	}, nil
}
