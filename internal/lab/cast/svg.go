//go:build linux

package cast

import (
	"fmt"
	"io"
	"slices"

	"github.com/schedgen/schedgen/internal/chart"
	"github.com/schedgen/schedgen/internal/lab/internal/units"
	"github.com/schedgen/schedgen/internal/words"
)

// The picture is one chart, for the smallest file over the slowest links, where the links and not
// the cores of this machine are the limit. For each loss and number of hosts it has a bar for each
// tool, whose height is the time in multiples of the wire's time. The table has all results.

var colors = map[string]string{
	"schedgen": "#0b61a4", "schedgen-tcp": "#6fa8d6", "schedgen-mcast": "#a9cbe6",
	"udpcast": "#c4541d", "udpcast-fec": "#e59a6d", "uftp": "#6a9a3c", "scp": "#8a8a8a",
}

// legends are the names of schedgen with a forced transport.
var legends = map[string]string{"schedgen-tcp": "schedgen, chain only", "schedgen-mcast": "schedgen, multicast only"}

func writeSVG(w io.Writer, all []*line) error { return chart.WriteBars(w, barsOf(pictured(all))) }

// pictured returns the first section of the report without a fault and with limited links.
func pictured(all []*line) (section []*line) {
	for _, l := range all {
		if l.Fault != faultNone || l.Rate == 0 {
			continue
		}
		if len(section) > 0 && (l.Bytes != section[0].Bytes || l.Rate != section[0].Rate) {
			break
		}
		section = append(section, l)
	}
	return section
}

// barsOf returns the chart of a section: a group of bars for each line.
func barsOf(section []*line) chart.Bars {
	c := chart.Bars{Unit: "×", One: "one copy"}
	if len(section) == 0 {
		return c
	}
	c.Title = fmt.Sprintf("%s to many hosts at %s: time, in multiples of one copy on the wire", words.Size(int64(section[0].Bytes)), rateWords(section[0].Rate))
	names := measured(section)
	for _, name := range names {
		s := chart.Series{Name: name, Color: colors[name], Valued: name == ours}
		if long := legends[name]; long != "" {
			s.Name = long
		}
		c.Series = append(c.Series, s)
	}
	for i, l := range section {
		g := chart.Group{Label: fmt.Sprint(l.Hosts), Below: "no loss"}
		if i == 0 || l.PerMille != section[i-1].PerMille {
			g.Label += " hosts"
		}
		if l.PerMille > 0 {
			g.Below = units.Loss(l.PerMille) + " of the frames lost"
		}
		for _, name := range names {
			if f := l.by[name]; f != nil {
				g.Bars = append(g.Bars, f.bar(slices.Index(names, name), l.wire()))
			}
		}
		c.Groups = append(c.Groups, g)
	}
	return c
}

// bar returns the bar of a figure.
func (f *figure) bar(series int, wire float64) chart.Bar {
	m := f.seconds() / wire
	if m <= 0 {
		return chart.Bar{Series: series, About: fmt.Sprintf("%s: %s", f.tool, f.failure())}
	}
	return chart.Bar{Series: series, Value: m, About: fmt.Sprintf("%s: %s s, %.2f ×", f.tool, units.Seconds(f.seconds()), m)}
}

// rateWords spells a rate for people.
func rateWords(bits int64) string {
	switch {
	case bits >= 1e9:
		return fmt.Sprintf("%g Gbit/s", float64(bits)/1e9)
	case bits >= 1e6:
		return fmt.Sprintf("%g Mbit/s", float64(bits)/1e6)
	}
	return fmt.Sprintf("%d bit/s", bits)
}
