//go:build linux

package links

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/schedgen/schedgen/internal/lab/internal/host"
	"github.com/schedgen/schedgen/internal/lab/internal/program"
	"github.com/schedgen/schedgen/internal/lab/internal/report"
	"github.com/schedgen/schedgen/internal/lab/internal/units"
	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/network"
	"github.com/schedgen/schedgen/synth"
)

// Parameters of the links of a given network. Packets are long, because the cores that simulate all
// nodes limit the number of packets.
const (
	netQueue = "600kb"
	netMTU   = 9000
	netBurst = 20 << 10 // bytes, at least
)

// match compares schedules for a collective on a network.
type match struct {
	network    string // name
	ranks      int
	collective string
	bytes      int     // length of a block
	bound      float64 // seconds that every schedule needs; 0: unknown
	contenders []*contender
}

// compare measures all collectives on all networks. It writes the table of each as soon as it is
// complete.
func (v *Verb) compare(ctx context.Context, programs program.Programs, stdout, stderr io.Writer) error {
	var head bytes.Buffer
	about := append(host.About(ctx), fmt.Sprintf("rounds: %d; operations in each: %d, behind one that is not counted", v.Rounds, v.iterationsOfRound()))
	report.WriteHead(&head, "Schedules for given networks", about, networkDisclosure)
	if _, err := stdout.Write(head.Bytes()); err != nil {
		return err
	}
	for _, file := range v.Network {
		for _, collective := range v.Collective {
			for _, size := range v.sizesOn(collective) {
				m, err := v.play(ctx, programs, file, collective, size, stderr)
				if err != nil {
					return fmt.Errorf("%s: %s: %w", file, collective, err)
				}
				if err := m.write(stdout); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// sizesOn returns the lengths of a block.
func (v *Verb) sizesOn(collective string) []int {
	if len(v.Size) > 0 {
		return units.Numbers[int](v.Size)
	}
	if row := synth.Collective(collective).Row(); row.Blocks(2) == 1 {
		return []int{2 * mib}
	}
	return []int{mib / 2} // of each rank
}

// iterationsOfRound returns the number of operations of a round.
func (v *Verb) iterationsOfRound() int { return max(v.Iterations, 1) }

// play measures a collective on a network: in each round all contenders, one after the other.
func (v *Verb) play(ctx context.Context, programs program.Programs, file, collective string, size int, stderr io.Writer) (*match, error) {
	n, err := readNetwork(file)
	if err != nil {
		return nil, err
	}
	m := &match{network: n.Name, ranks: len(n.Ranks), collective: collective, bytes: size, contenders: v.contendersOf(collective)}
	b, err := synth.BoundOf(n, synth.Collective(collective))
	if err != nil {
		return nil, err
	}
	m.bound = b.Seconds(size)
	for i, c := range m.contenders {
		if err := c.make(ctx, programs, file, collective, i); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	fastest := int64(0)
	for _, a := range n.Arcs {
		fastest = max(fastest, a.Rate)
	}
	measure := func(args []string, parse func([]byte) (times, error)) (times, error) {
		line := v.Prefixed(self, "netns", "--network", file,
			"--queue", netQueue, "--mtu", strconv.Itoa(netMTU), "--burst", strconv.Itoa(max(netBurst, burst(fastest))), "--",
			programs.Path(program.Schedgen), "rank")
		line = append(append(line, args...), "--coordinator", "10.77.0.1:7777", "--transport", "tcp",
			"--size", fmt.Sprintf("%dB", size), "--iterations", strconv.Itoa(v.iterationsOfRound()), "--timeout", v.Limit.String(), "--json")
		return timesBy(ctx, v.Limit, line, nil, parse)
	}
	for round := range v.Rounds {
		for _, c := range m.contenders {
			if v.Quiet < 1 {
				v.Wait(ctx)
			}
			c.run(ctx, measure, collective)
			if err := ctx.Err(); err != nil {
				return nil, err // an interrupted measurement is not a result
			}
			fmt.Fprintf(stderr, "%s, %s by %s, round %d of %d: %v\n", n.Name, collective, c.name, round+1, v.Rounds, c.outcome)
		}
	}
	return m, nil
}

func readNetwork(file string) (*network.Network, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() // read only: nothing to lose
	return network.Parse(f)
}

const networkDisclosure = `Times are in seconds. A broadcast takes until the root knows that all ranks have the message. Every
other operation takes as long as the call of its slowest rank; all ranks meet at a barrier before it.
The median is that of the medians of all rounds. Each node is a network namespace of one machine
(schedlab netns --network), and ranks use tcp. No schedule is faster than the bound, which does not count
the heads of packets. Gain is the least median of a schedule that was not made for the network, by
this median.
`

// write writes the table of a match.
func (m *match) write(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "\n## %s: %s of %s on %d ranks, bound %s s\n\n", m.network, m.collective, words.Size(int64(m.bytes)), m.ranks, units.Seconds(m.bound))
	report.WriteTitles(&b, "by", "median:", "min–max", "median / bound:", "gain:")
	best := m.best(false)
	for _, c := range m.contenders {
		name, median, spread := c.name, c.failed, "-"
		if name == byChoice && c.ran != "" {
			name += ": " + c.ran
		}
		if c.good() {
			median, spread = units.Seconds(c.median), units.Seconds(c.min)+"–"+units.Seconds(c.max)
		}
		report.WriteCells(&b, name, orDash(median), spread, ratio(c.median, m.bound), ratio(best, c.median))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// best returns the least median of the schedules that were made for the network, or of all others.
// It returns 0 if there is none.
func (m *match) best(made bool) (least float64) {
	for _, c := range m.contenders {
		if c.isMade() == made && c.good() && (least == 0 || c.median < least) {
			least = c.median
		}
	}
	return least
}
