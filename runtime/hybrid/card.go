package hybrid

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/transport/segment"
)

// card is what a rank tells the other ranks about itself.
type card struct {
	host    [16]byte // identity of its host
	pid     uint32
	segment uint32 // descriptor of memory that may become the segment of the host
	bell    uint32 // descriptor of the pipe that wakes this rank
	cannot  string // why it cannot share memory; empty: it can
}

const (
	cardVersion = 1
	cardLen     = 1 + 16 + 3*4
	maxReason   = 200
)

func (c *card) encode() []byte {
	b := append([]byte{cardVersion}, c.host[:]...)
	for _, v := range []uint32{c.pid, c.segment, c.bell} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return append(b, c.cannot[:min(len(c.cannot), maxReason)]...)
}

func decodeCard(b []byte) (c card, err error) {
	if len(b) < cardLen || len(b) > cardLen+maxReason || b[0] != cardVersion {
		return c, fmt.Errorf("it does not use this version of transport hybrid (%d bytes)", len(b))
	}
	copy(c.host[:], b[1:])
	for i, v := range []*uint32{&c.pid, &c.segment, &c.bell} {
		*v = binary.BigEndian.Uint32(b[17+4*i:])
	}
	c.cannot = string(b[cardLen:])
	return c, nil
}

// location says where this rank is among the others.
type location struct {
	ranks  []int  // ranks that share memory with it, including itself, ascending
	local  []int  // by rank: its index in ranks, or -1
	here   int    // ranks on its host, including itself
	host   []int  // by rank: its host, named by the lowest rank there
	reason string // why ranks of this host do not share memory; empty: they do, or there is only one
}

// locate returns the location of rank, given the cards of all ranks.
func locate(cards []card, rank int) *location {
	p := &location{local: make([]int, len(cards))}
	hosts := make([][16]byte, len(cards))
	for r := range cards {
		hosts[r], p.local[r] = cards[r].host, -1
		p.host = append(p.host, slices.Index(hosts, cards[r].host))
		if cards[r].host != cards[rank].host {
			continue
		}
		p.local[r] = len(p.ranks)
		p.ranks = append(p.ranks, r)
		if cards[r].cannot != "" && p.reason == "" {
			p.reason = fmt.Sprintf("rank %d: %s", r, cards[r].cannot)
		}
	}
	p.here = len(p.ranks)
	if len(p.ranks) > segment.MaxSize {
		p.reason = fmt.Sprintf("%d ranks are on one host, but at most %d can share memory", len(p.ranks), segment.MaxSize)
	}
	if len(p.ranks) < 2 {
		p.reason = ""
	}
	if len(p.ranks) < 2 || p.reason != "" {
		p.ranks = nil
		for r := range p.local {
			p.local[r] = -1
		}
	}
	return p
}

func decodeCards(blobs [][]byte) ([]card, error) {
	cards := make([]card, len(blobs))
	for rank, b := range blobs {
		var err error
		if cards[rank], err = decodeCard(b); err != nil {
			return nil, fmt.Errorf("rank %d: %w", rank, err)
		}
	}
	return cards, nil
}
