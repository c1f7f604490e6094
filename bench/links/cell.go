//go:build linux

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// cell is a broadcast on links.
type cell struct {
	algorithm string
	rate      int64 // of each link's ends, bits per second; 0: not limited
	perMille  int   // of the frames to each host that are lost
	bytes     int
	hosts     int
}

func (c cell) String() string {
	return fmt.Sprintf("%s, %s to %d hosts, %s, %s loss", c.algorithm, spellSize(c.bytes), c.hosts, spellRate(c.rate), spellLoss(c.perMille))
}

// A frame of Ethernet, as a shaper counts it, and what a bare datagram carries in
// it.
const (
	frameBytes   = 1514
	payloadBytes = 1472
)

// wire returns how many seconds one copy of the message takes a link in full
// datagrams without heads of ours; 0 if the link is not limited.
func (c cell) wire() float64 {
	if c.rate == 0 {
		return 0
	}
	full, rest := c.bytes/payloadBytes, c.bytes%payloadBytes
	onLink := full * frameBytes
	if rest > 0 {
		onLink += rest + frameBytes - payloadBytes
	}
	return float64(onLink) * 8 / float64(c.rate)
}

// compareCells orders cells as the report has them.
func compareCells(a, b cell) int {
	order := func(c cell) []int {
		rate := int(c.rate)
		if rate == 0 {
			rate = int(^uint(0) >> 1)
		}
		return []int{slices.Index(algorithms, c.algorithm), rate, c.bytes, c.perMille, c.hosts}
	}
	return slices.Compare(order(a), order(b))
}

var units = []struct {
	name  string
	bytes int
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

func spellSize(n int) string {
	for _, u := range units {
		if n >= u.bytes && n%u.bytes == 0 {
			return fmt.Sprintf("%d %s", n/u.bytes, u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// maxBytes is the simulator's bound.
const maxBytes = 1 << 30

func parseSize(text string) (int, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(digits))
		if err != nil || n < 1 || n > maxBytes/u.bytes {
			return 0, fmt.Errorf("%q: must be 1B … 1GiB", text)
		}
		return n * u.bytes, nil
	}
	return 0, fmt.Errorf("%q has no unit: B, KiB, MiB or GiB", text)
}

const unlimited = "unlimited"

func spellRate(r int64) string {
	switch {
	case r == 0:
		return unlimited
	case r%1e9 == 0:
		return fmt.Sprintf("%dgbit", r/1e9)
	}
	return fmt.Sprintf("%dmbit", r/1e6)
}

func parseRate(text string) (int64, error) {
	if text == unlimited {
		return 0, nil
	}
	for unit, bits := range map[string]int64{"mbit": 1e6, "gbit": 1e9} {
		if digits, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseInt(digits, 10, 64)
			if err != nil || n < 1 || n > 1e12/bits {
				return 0, fmt.Errorf("%q: must be 1mbit … 1000gbit", text)
			}
			return n * bits, nil
		}
	}
	return 0, fmt.Errorf("%q is no rate, such as 100mbit, 1gbit or %s", text, unlimited)
}

func spellLoss(perMille int) string {
	return strconv.FormatFloat(float64(perMille)/10, 'f', -1, 64) + " %"
}
