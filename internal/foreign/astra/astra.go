// Package astra reads the networks of ASTRA-sim's analytical backend, which are small YAML files:
//
//	topology: [ Ring, FullyConnected, Switch ]
//	npus_count: [ 2, 8, 4 ]
//	bandwidth: [ 200.0, 100.0, 50.0 ]  # GB/s of a link in each direction
//	latency: [ 50.0, 500.0, 2000.0 ]   # ns of a link
package astra

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/schedgen/schedgen/network"
)

// maxFile bounds the bytes of a file.
const maxFile = 1 << 20

var keys = []string{"topology", "npus_count", "bandwidth", "latency"}

// Is reports whether a text begins as such a file does: its first line that is no comment begins
// with one of the keys.
func Is(head []byte) bool {
	for line := range strings.Lines(string(head)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line == "---" {
			continue
		}
		for _, key := range keys {
			if rest, ok := strings.CutPrefix(line, key); ok && strings.HasPrefix(strings.TrimSpace(rest), ":") {
				return true
			}
		}
		return false
	}
	return false
}

// dimension is one dimension of a network.
type dimension struct {
	topology string
	npus     int
	rate     int64 // bits a second
	latency  int64 // ns
}

// Parse reads a network. NPU i is rank i, and the place in the first dimension changes first. Each
// dimension joins the NPUs that have the same place in all others: as a ring, all with all, or by a
// switch. A GB is 10^9 bytes here and 2^30 bytes in ASTRA-sim: rates keep their proportions, and the
// schedules are the same. Faults of the input are a *[network.ParseError].
func Parse(r io.Reader) (*network.Network, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, &network.ParseError{Err: fmt.Errorf("a file of more than %d bytes", maxFile)}
	}
	dims, err := dimensions(text)
	if err != nil {
		return nil, err
	}
	n, err := product(dims)
	if err != nil {
		return nil, &network.ParseError{Err: err}
	}
	return n, nil
}

// dimensions reads the file.
func dimensions(text []byte) ([]dimension, error) {
	var file yaml.Node // which has lines, and whose aliases are not expanded
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, &network.ParseError{Err: err}
	}
	lists := map[string][]*yaml.Node{}
	lines := map[string]int{}
	if len(file.Content) == 1 && file.Content[0].Kind == yaml.MappingNode {
		pairs := file.Content[0].Content
		for i := 0; i+1 < len(pairs); i += 2 {
			key, value := pairs[i].Value, pairs[i+1]
			if lines[key] > 0 {
				return nil, &network.ParseError{Line: pairs[i].Line, Err: fmt.Errorf("%s: also in line %d", key, lines[key])}
			}
			lists[key], lines[key] = []*yaml.Node{value}, pairs[i].Line
			if value.Kind == yaml.SequenceNode {
				lists[key] = value.Content
			}
		}
	}
	for _, key := range keys {
		switch {
		case lines[key] == 0:
			return nil, &network.ParseError{Err: fmt.Errorf("no key %s", key)}
		case len(lists[key]) == 0:
			return nil, &network.ParseError{Line: lines[key], Err: fmt.Errorf("%s: an empty list", key)}
		case len(lists[key]) != len(lists["topology"]):
			return nil, &network.ParseError{Line: lines[key], Err: fmt.Errorf("%s: %d values, and topology has %d", key, len(lists[key]), len(lists["topology"]))}
		}
	}
	dims := make([]dimension, len(lists["topology"]))
	for i := range dims {
		for _, key := range keys {
			value := lists[key][i]
			if err := dims[i].set(key, value.Value); err != nil {
				return nil, &network.ParseError{Line: value.Line, Err: fmt.Errorf("%s: %w", key, err)}
			}
		}
	}
	return dims, nil
}

// set sets what a key says.
func (d *dimension) set(key, value string) error {
	switch key {
	case "topology":
		if value != "Ring" && value != "FullyConnected" && value != "Switch" {
			return fmt.Errorf("%q: want Ring, FullyConnected or Switch", value)
		}
		d.topology = value
		return nil
	case "npus_count":
		n, err := strconv.Atoi(value)
		if err != nil || n < 2 || n > network.MaxRanks {
			return fmt.Errorf("%q: want a number in 2..%d", value, network.MaxRanks)
		}
		d.npus = n
		return nil
	}
	x, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return fmt.Errorf("%q: want a number", value)
	}
	if key == "bandwidth" {
		bits := math.Round(x * 8e9)
		if !(bits >= 1 && bits <= network.MaxRate) {
			return fmt.Errorf("%s GB/s: want a rate of more than 0, and of at most %s", value, network.FormatRate(network.MaxRate))
		}
		d.rate = int64(bits)
		return nil
	}
	ns := math.Round(x)
	if !(x >= 0 && ns <= network.MaxDelay) {
		return fmt.Errorf("%s ns: want a latency of at least 0, and of at most %d", value, int64(network.MaxDelay))
	}
	d.latency = int64(ns)
	return nil
}

// product returns the network of the dimensions.
func product(dims []dimension) (*network.Network, error) {
	npus, arcs := 1, 0 // arcs of one NPU
	for _, d := range dims {
		if npus *= d.npus; npus > network.MaxRanks {
			return nil, fmt.Errorf("more than %d NPUs", network.MaxRanks)
		}
		if arcs += 2; d.topology == "FullyConnected" {
			arcs += d.npus
		}
	}
	if npus*arcs > 2*network.MaxArcs {
		return nil, fmt.Errorf("more than %d arcs", network.MaxArcs)
	}
	ranks := make([]string, npus)
	for i := range ranks {
		ranks[i] = fmt.Sprintf("npu%d", i)
	}
	var switches []string
	var links []network.Link
	stride := 1
	for at, d := range dims {
		group := 0
		for first := range npus {
			if first/stride%d.npus != 0 {
				continue // not the first one of its group
			}
			members := make([]string, d.npus)
			for i := range members {
				members[i] = ranks[first+i*stride]
			}
			join := func(a, b string) {
				links = append(links, network.Link{A: a, B: b, Rate: d.rate, Delay: d.latency})
			}
			switch d.topology {
			case "Ring":
				for i := range members[1:] {
					join(members[i], members[i+1])
				}
				if d.npus > 2 { // two NPUs have one link
					join(members[d.npus-1], members[0])
				}
			case "FullyConnected":
				for i, a := range members {
					for _, b := range members[i+1:] {
						join(a, b)
					}
				}
			case "Switch":
				name := fmt.Sprintf("d%ds%d", at, group)
				switches = append(switches, name)
				for _, a := range members {
					join(a, name)
				}
			}
			group++
		}
		stride *= d.npus
	}
	return network.New("", ranks, switches, links)
}
