package network

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is a kind of network that [Generate] makes.
type Kind struct {
	Name string
	Form string // of the sizes
	Says string // what it is, in a line
	make func(d *draft, sizes []int, rate, trunk, delay int64) error
	nice func(sizes []int) bool
}

// Kinds returns all kinds.
func Kinds() []Kind { return slices.Clone(kinds) }

var kinds = []Kind{
	{"star", "HOSTS", "hosts at a switch", makeStar, func(s []int) bool { return len(s) == 1 }},
	{"racks", "RACKSxHOSTS", "switches with hosts, and a switch between them", makeRacks, func(s []int) bool { return len(s) == 2 }},
	{"torus", "SIDExSIDE…", "hosts in a grid whose opposite ends are linked, of any dimension", makeTorus, func(s []int) bool { return len(s) > 0 }},
	{"mesh", "SIDExSIDE…", "hosts in a grid, of any dimension", makeMesh, func(s []int) bool { return len(s) > 0 }},
	{"hypercube", "DIMENSION", "2^DIMENSION hosts, linked if their numbers differ in one bit", makeHypercube, func(s []int) bool { return len(s) == 1 && s[0] <= 12 }},
	{"fat-tree", "LEAVESxHOSTSxSPINES", "leaf switches with hosts, each linked to all spine switches", makeFatTree, func(s []int) bool { return len(s) == 3 }},
}

// Options describe the links of a network that [Generate] makes.
type Options struct {
	Rate  int64 // bits a second of a link
	Trunk int64 // bits a second of a link between switches; 0: Rate
	Delay int64 // ns of each link
}

// Generate makes a network of a kind, such as "torus", with sizes such as "4x4". Its ranks are
// numbered in the order of the sizes, the last of which changes first.
func Generate(kind, sizes string, o Options) (*Network, error) {
	at := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == kind })
	if at < 0 {
		var names []string
		for _, k := range kinds {
			names = append(names, k.Name)
		}
		return nil, fmt.Errorf("%q: want one of %s", kind, strings.Join(names, ", "))
	}
	k := kinds[at]
	var n []int
	nodes := 1
	for text := range strings.SplitSeq(sizes, "x") {
		size, err := strconv.Atoi(text)
		if err != nil || size < 1 || size > MaxNodes {
			return nil, fmt.Errorf("%s %s: %q is not a size: want %s", kind, sizes, text, k.Form)
		}
		if n = append(n, size); k.Name != "fat-tree" {
			nodes = min(nodes*size, MaxNodes+1)
		}
	}
	if !k.nice(n) {
		return nil, fmt.Errorf("%s %s: want %s", kind, sizes, k.Form)
	}
	if nodes > MaxRanks {
		return nil, fmt.Errorf("%s %s: more than %d ranks", kind, sizes, MaxRanks)
	}
	if o.Trunk == 0 {
		o.Trunk = o.Rate
	}
	d := newDraft(kind + "-" + sizes)
	if err := k.make(d, n, o.Rate, o.Trunk, o.Delay); err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind, sizes, err)
	}
	return d.finish()
}

// hosts adds ranks h0, h1 …
func (d *draft) hosts(n int) error {
	for i := range n {
		if err := d.node("h"+strconv.Itoa(i), true); err != nil {
			return err
		}
	}
	return nil
}

func makeStar(d *draft, s []int, rate, _, delay int64) error {
	if err := d.hosts(s[0]); err != nil {
		return err
	}
	if err := d.node("s", false); err != nil {
		return err
	}
	for _, h := range slices.Clone(d.Ranks) {
		if err := d.link(h, "s", rate, delay); err != nil {
			return err
		}
	}
	return nil
}

// leaves adds switches r0, r1 … with ranks r0h0, r0h1 …
func (d *draft) leaves(leaves, hosts int, rate, delay int64) error {
	for i := range leaves {
		leaf := "r" + strconv.Itoa(i)
		if err := d.node(leaf, false); err != nil {
			return err
		}
		for j := range hosts {
			host := leaf + "h" + strconv.Itoa(j)
			if err := d.node(host, true); err != nil {
				return err
			}
			if err := d.link(host, leaf, rate, delay); err != nil {
				return err
			}
		}
	}
	return nil
}

func makeRacks(d *draft, s []int, rate, trunk, delay int64) error {
	return makeFatTree(d, []int{s[0], s[1], 1}, rate, trunk, delay)
}

func makeFatTree(d *draft, s []int, rate, trunk, delay int64) error {
	if err := d.leaves(s[0], s[1], rate, delay); err != nil {
		return err
	}
	for i := range s[2] {
		spine := "spine" + strconv.Itoa(i)
		if err := d.node(spine, false); err != nil {
			return err
		}
		for leaf := range s[0] {
			if err := d.link("r"+strconv.Itoa(leaf), spine, trunk, delay); err != nil {
				return err
			}
		}
	}
	return nil
}

func makeTorus(d *draft, s []int, rate, _, delay int64) error { return d.grid(s, rate, delay, true) }

func makeMesh(d *draft, s []int, rate, _, delay int64) error { return d.grid(s, rate, delay, false) }

// grid links neighbours in each dimension. The two links between the hosts of a side of two add up.
func (d *draft) grid(sides []int, rate, delay int64, around bool) error {
	n := 1
	for _, side := range sides {
		n *= side
	}
	if err := d.hosts(n); err != nil {
		return err
	}
	for i := range n {
		step := 1
		for at := len(sides) - 1; at >= 0; at-- {
			side := sides[at]
			if x := i / step % side; side > 1 && (around || x+1 < side) {
				j := i + ((x+1)%side-x)*step
				if err := d.link(d.Ranks[i], d.Ranks[j], rate, delay); err != nil {
					return err
				}
			}
			step *= side
		}
	}
	return nil
}

func makeHypercube(d *draft, s []int, rate, _, delay int64) error {
	if err := d.hosts(1 << s[0]); err != nil {
		return err
	}
	for i := range 1 << s[0] {
		for bit := range s[0] {
			if j := i ^ 1<<bit; j > i {
				if err := d.link(d.Ranks[i], d.Ranks[j], rate, delay); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
