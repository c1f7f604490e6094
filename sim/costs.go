package sim

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
)

// costs holds the costs of the messages of a run. A signal is a message of one byte. Chunks have
// one of two lengths, and every block is cut in the same way. A message of several slots is as long
// as all its slots.
type costs struct {
	classes [2][3]cost // far and near, by class
	bytes   [3]int     // bytes of a message, by class
	class   []uint8    // by slot number, for the chunks of the first block
	chunks  int        // of all blocks
	per     int        // chunks of a block
	ranks   int
	hosts   int // 0: no two ranks share a host

	model    Model
	crossing PerByte // from Config.Switch
	folding  PerByte // from Config.Fold
	longest  int     // messages of up to this many bytes have been checked
	sized    sized   // nil: signals have one byte
	last     cost    // the last result of the method of, for a signal or a bundle
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
	n, cut := c.Bytes, s.per // bytes of a block, and the number of its chunks
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

// allow returns an error if the time of a message of bytes bytes could overflow.
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

// classOf returns the class of a message by the number of its slot.
func (s *costs) classOf(slot int32) uint8 {
	switch {
	case int(slot) < len(s.class):
		return s.class[slot]
	case int(slot) <= s.chunks:
		return s.class[1+(int(slot)-1)%s.per]
	}
	return 0
}

// lengthOf returns the bytes of a message to a rank, by the number of its slot or bundle.
func (s *costs) lengthOf(slot int32, to int) int {
	if slot < 0 {
		return s.bundles.at(slot).bytes
	}
	if s.sized != nil && int(slot) >= len(s.class) {
		return s.sized.signalBytes(to, int(slot)-len(s.class))
	}
	return s.bytes[s.classOf(slot)]
}

// costOf returns the cost of a message between two ranks, or to all ranks. The result is valid
// until the next call.
func (s *costs) costOf(slot int32, from, to int) *cost {
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

// near reports whether two ranks are on one host. A message to all ranks is never near.
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

// checkParams returns an error for times and rates that are negative, or so large that the time of
// a message of bytes bytes could overflow.
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
