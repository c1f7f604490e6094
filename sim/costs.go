package sim

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
)

// costs are what the messages of a run take. Signals are messages of one byte; chunks have one
// of two lengths, and every block is cut in the same way. A message of several slots is as long
// as all that it carries.
type costs struct {
	classes [2][3]cost // far and near, by class
	bytes   [3]int     // of the messages of a class
	class   []uint8    // by number of a slot, of the chunks of the first block
	chunks  int        // of all blocks
	per     int        // chunks a block
	ranks   int
	hosts   int // 0: no two ranks are on one host

	model    Model
	crossing PerByte // of Config.Switch
	folding  PerByte // of Config.Fold
	longest  int     // messages of up to so many bytes have been checked
	sized    sized   // nil: signals are of one byte
	last     cost    // that of returned for a signal or a bundle
	bundles  bundles
}

func newCosts(programs Programs, c *Config, h *ir.Header) (costs, error) {
	s := costs{model: c.Model, crossing: c.Switch, folding: c.Fold, chunks: h.Chunks, per: h.BlockChunks(), ranks: h.Ranks, hosts: c.Hosts}
	if c.Hosts == h.Ranks {
		s.hosts = 0
	}
	if c.Hosts < 0 || c.Hosts > h.Ranks {
		return s, fmt.Errorf("%d hosts: must be in 1..%d, or 0", c.Hosts, h.Ranks)
	}
	n, cut := c.Bytes, s.per // a block, and in how many chunks it is cut
	if !h.HasMessage() {
		n, cut = 0, h.Chunks
	}
	longest := max(n, 1)
	if sized, ok := programs.(sized); ok {
		s.sized = sized
		longest = max(longest, sized.largestSignal())
	}
	if err := s.allow(longest); err != nil {
		return s, err
	}
	s.class = make([]uint8, 1+cut)
	s.bytes = [3]int{1, n / max(cut, 1), (n + cut - 1) / max(cut, 1)}
	for k := range cut {
		lo, hi := ir.ChunkBounds(n, cut, k)
		s.class[1+k] = 1
		if hi-lo > s.bytes[1] {
			s.class[1+k] = 2
		}
	}
	for near := range s.classes {
		for class, bytes := range s.bytes {
			s.classes[near][class] = c.Model.cost(bytes, near == 1)
		}
	}
	return s, nil
}

// allow returns an error if what a message of so many bytes takes could overflow.
func (s *costs) allow(bytes int) error {
	if bytes <= s.longest {
		return nil
	}
	if err := s.model.check(bytes); err != nil {
		return err
	}
	s.longest = bytes
	if err := checkParams("fold", bytes, nil, []PerByte{s.folding}); err != nil {
		return err
	}
	return checkParams("switch", bytes, nil, []PerByte{s.crossing})
}

// classOf returns the class of a message by its slot's number.
func (s *costs) classOf(slot int32) uint8 {
	switch {
	case int(slot) < len(s.class):
		return s.class[slot]
	case int(slot) <= s.chunks:
		return s.class[1+(int(slot)-1)%s.per]
	}
	return 0
}

// lengthOf returns the bytes of a message at a rank by the number of its slot or its bundle.
func (s *costs) lengthOf(slot int32, to int) int {
	if slot < 0 {
		return s.bundles.at(slot).bytes
	}
	if s.sized != nil && int(slot) >= len(s.class) {
		return s.sized.signalBytes(to, int(slot)-len(s.class))
	}
	return s.bytes[s.classOf(slot)]
}

// of returns what a message takes between two ranks, or to all. It is valid until
// the next call.
func (s *costs) of(slot int32, from, to int) *cost {
	near := s.near(from, to)
	if slot < 0 || s.sized != nil {
		s.last = s.model.cost(s.lengthOf(slot, to), near)
		return &s.last
	}
	if near {
		return &s.classes[1][s.classOf(slot)]
	}
	return &s.classes[0][s.classOf(slot)]
}

// near reports whether two ranks are on one host. All ranks never are.
func (s *costs) near(from, to int) bool {
	return s.hosts > 0 && to >= 0 && s.host(from) == s.host(to)
}

// host returns the host of a rank.
func (s *costs) host(rank int) int {
	if s.hosts == 0 {
		return rank
	}
	return rank * s.hosts / s.ranks
}

// first returns the lowest rank of a host.
func (s *costs) first(host int) int {
	if s.hosts == 0 {
		return host
	}
	return (host*s.ranks + s.hosts - 1) / s.hosts
}

// checkParams returns an error for times and rates that are negative, or so large
// that what a message of so many bytes takes could overflow.
func checkParams(model string, bytes int, times []Time, rates []PerByte) error {
	for _, t := range times {
		if t < 0 {
			return fmt.Errorf("%s: a parameter is negative", model)
		}
		if t > maxTime {
			return fmt.Errorf("%s: times could exceed %d ns", model, int64(maxSum))
		}
	}
	for _, p := range rates {
		if p < 0 {
			return fmt.Errorf("%s: a parameter is negative", model)
		}
		if float64(p)*float64(bytes) > maxTime*1000 {
			return fmt.Errorf("%s and %d bytes: times could exceed %d ns", model, bytes, int64(maxSum))
		}
	}
	return nil
}
