// Package nccl reads the topology of a server that NCCL writes to NCCL_TOPO_DUMP_FILE as a network.
//
// The GPUs are the ranks. Processors, PCI switches and network adapters are switches. As in NCCL, the
// NVSwitches of a server are one switch together, and the rates are NCCL's estimates.
package nccl

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/network"
)

// maxCPUs bounds the processors of a file, since each of them has a link to each other one.
const maxCPUs = 256

// Is reports whether a text begins as XML does.
func Is(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("<"))
}

// node is a node of one server. A file may have several hosts.
type node struct {
	host int
	name string
}

// fabric is the switch that joins servers.
var fabric = node{-1, "net"}

// link is a link between nodes.
type link struct {
	a, b   node
	rate   int64
	oneWay bool
}

// gpu is a GPU.
type gpu struct {
	node
	order int64 // rank or number of the device
	*element
	cpu node
}

// dump is the content of a file.
type dump struct {
	ranked   bool           // GPUs have ranks, and those without one take no part
	hosts    map[string]int // by attribute host_hash
	gpus     []gpu
	byBus    map[bus]node // GPUs
	switches []node
	links    []link
	cpus     []node
	sockets  []int64 // rates of cpus
	nics     int
	bridges  int // PCI switches
	nets     bool
	nvswitch bool
}

// Parse reads a file, and returns the network of copies such servers, which one switch joins by
// their network adapters. The ranks of a server follow each other, in the order of the attribute
// rank, or else of dev. Faults of the input are a *[network.ParseError].
func Parse(r io.Reader, copies int) (*network.Network, error) {
	if copies < 1 || copies > network.MaxRanks {
		return nil, fmt.Errorf("%d copies: want 1..%d", copies, network.MaxRanks)
	}
	system, err := readXML(r)
	if err != nil {
		return nil, err
	}
	if system.name != "system" {
		return nil, system.fault("want <system> with what NCCL found")
	}
	d := &dump{ranked: hasRanks(system), hosts: map[string]int{}, byBus: map[bus]node{}}
	for _, e := range system.named("cpu") {
		if err := d.cpu(e); err != nil {
			return nil, err
		}
	}
	if err := d.join(); err != nil {
		return nil, err
	}
	n, err := d.servers(copies)
	if err != nil {
		return nil, &network.ParseError{Err: err}
	}
	return n, nil
}

func hasRanks(e *element) bool {
	_, ranked := e.attrs["rank"]
	return e.name == "gpu" && ranked || slices.ContainsFunc(e.kids, hasRanks)
}

// link adds a link in both directions.
func (d *dump) link(a, b node, rate int64) {
	d.links = append(d.links, link{a, b, rate, false})
}

// addSwitch adds a switch.
func (d *dump) addSwitch(host int, name string) node {
	n := node{host, name}
	d.switches = append(d.switches, n)
	return n
}

// cpu adds a processor, or a part of it with memory of its own, and what is below it.
func (d *dump) cpu(e *element) error {
	hash := e.attrs["host_hash"]
	host, known := d.hosts[hash]
	if !known {
		host = len(d.hosts)
		d.hosts[hash] = host
	}
	numa, err := e.number("numaid", 0, -1, 1<<31)
	if err != nil {
		return err
	}
	rate, err := socketRate(e)
	if err != nil {
		return err
	}
	cpu := d.addSwitch(host, fmt.Sprintf("cpu%d", numa))
	switch {
	case slices.Contains(d.cpus, cpu):
		return e.fault("numaid=%d: twice", numa)
	case len(d.cpus) == maxCPUs:
		return e.fault("more than %d", maxCPUs)
	}
	d.cpus, d.sockets = append(d.cpus, cpu), append(d.sockets, rate)
	for _, kid := range e.kids {
		switch kid.name {
		case "pci":
			err = d.pci(kid, cpu, cpu)
		case "nic":
			err = d.nic(kid, cpu, local)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pci adds a PCI device: a GPU, a network adapter, or a switch with devices below it.
func (d *dump) pci(e *element, above, cpu node) error {
	rate, err := pciRate(e)
	if err != nil {
		return err
	}
	gpus, nics := e.named("gpu"), e.named("nic")
	switch {
	case len(gpus)+len(nics) > 1:
		return e.fault("several devices: want one gpu or nic")
	case len(gpus) == 1:
		return d.gpu(gpus[0], e.attrs["busid"], above, cpu, rate)
	case len(nics) == 1:
		return d.nic(nics[0], above, rate)
	}
	bridge := d.addSwitch(above.host, fmt.Sprintf("pci%d", d.bridges))
	d.bridges++
	d.link(bridge, above, rate)
	for _, kid := range e.named("pci") {
		if err := d.pci(kid, bridge, cpu); err != nil {
			return err
		}
	}
	return nil
}

// gpu adds a GPU. Its NVLinks follow when all GPUs are known.
func (d *dump) gpu(e *element, busID string, above, cpu node, rate int64) error {
	if _, ranked := e.attrs["rank"]; d.ranked && !ranked {
		return nil
	}
	rank, err := e.number("rank", -1, 0, 1<<31)
	if err != nil {
		return err
	}
	dev, err := e.number("dev", rank, 0, 1<<31)
	if err != nil {
		return err
	}
	if dev < 0 {
		return e.fault("want an attribute rank or dev")
	}
	g := gpu{node{above.host, fmt.Sprintf("g%d", dev)}, rank, e, cpu}
	if !d.ranked {
		g.order = dev
	}
	d.gpus = append(d.gpus, g)
	if busID != "" {
		d.byBus[busOf(above.host, busID)] = g.node
	}
	d.link(g.node, above, rate)
	return nil
}

// bus is the place of a device.
type bus struct {
	host int
	id   string
}

// busOf returns a bus for one of the spellings of an identifier, such as 00000000:1A:00.0 and
// 0000:1a:00.0.
func busOf(host int, id string) bus {
	id = strings.NewReplacer(":", "", ".", "").Replace(strings.ToLower(id))
	return bus{host, strings.TrimLeft(id, "0")}
}

// nic adds a network adapter, and its links to other servers.
func (d *dump) nic(e *element, above node, rate int64) error {
	nic := d.addSwitch(above.host, fmt.Sprintf("nic%d", d.nics))
	d.nics++
	d.link(nic, above, rate)
	for _, net := range e.named("net") {
		if _, ok := net.attrs["dev"]; !ok || net.attrs["net"] == "0" {
			continue // NCCL does not use it, or uses it as a part of another one
		}
		mbit, err := net.number("speed", 0, -1, network.MaxRate/1_000_000)
		if err != nil {
			return err
		}
		if mbit <= 0 {
			mbit = 10_000 // as in NCCL: the adapter does not know its speed
		}
		d.link(nic, fabric, mbit*1_000_000)
		d.nets = true
	}
	return nil
}

// join sorts the GPUs, and adds the links between processors and those of GPUs.
func (d *dump) join() error {
	if len(d.gpus) == 0 {
		return &network.ParseError{Err: errors.New("no gpu in a pci in a cpu")}
	}
	slices.SortStableFunc(d.gpus, func(a, b gpu) int {
		if d.ranked {
			return cmp.Compare(a.order, b.order)
		}
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.order, b.order))
	})
	for i, g := range d.gpus[1:] {
		if before := d.gpus[i]; g.order == before.order && (d.ranked || g.host == before.host) {
			what := "dev"
			if d.ranked {
				what = "rank"
			}
			return g.fault("%s=%d: as the gpu in line %d", what, g.order, before.line)
		}
	}
	for i, a := range d.cpus {
		for j, b := range d.cpus[:i] {
			if a.host == b.host {
				d.link(b, a, min(d.sockets[i], d.sockets[j]))
			}
		}
	}
	for _, g := range d.gpus {
		if err := d.ownLinks(g); err != nil {
			return err
		}
	}
	return nil
}

// ownLinks adds the links of a GPU that are not PCI.
func (d *dump) ownLinks(g gpu) error {
	sm, err := g.number("sm", 0, 0, 1000)
	if err != nil {
		return err
	}
	for _, e := range g.kids {
		if e.name != "nvlink" && e.name != "c2c" {
			continue
		}
		count, err := e.number("count", 1, 1, 1024)
		if err != nil {
			return err
		}
		if e.name == "c2c" {
			mbyte, err := e.number("bw", 0, 1, 1<<20) // in MB/s
			if err != nil {
				return err
			}
			if mbyte > 0 {
				d.link(g.node, g.cpu, count*mbyte*8_000_000)
			}
			continue
		}
		if sm == 0 {
			return g.fault("has an nvlink, and no attribute sm")
		}
		rate := count * nvlinkRate(sm)
		switch class := e.attrs["tclass"]; {
		case strings.HasPrefix(class, "0x03"): // a GPU, which names this one too
			if to, known := d.byBus[busOf(g.host, e.attrs["target"])]; known && to != g.node {
				d.links = append(d.links, link{g.node, to, rate, true})
			}
		case class == "0x068001": // a bridge to the processor
			d.link(g.node, g.cpu, rate)
		default: // 0x068000, an NVSwitch; NCCL takes all other classes for one, too
			nvswitch := node{0, "nvswitch"} // for all hosts of the file
			if !d.nvswitch {
				d.nvswitch, d.switches = true, append(d.switches, nvswitch)
			}
			d.link(g.node, nvswitch, rate)
		}
	}
	return nil
}

// servers returns the network of copies of the file's hosts.
func (d *dump) servers(copies int) (*network.Network, error) {
	switch {
	case copies > 1 && !d.nets:
		return nil, errors.New("no net in a nic: nothing joins copies of the server")
	case copies*len(d.gpus) > network.MaxRanks:
		return nil, fmt.Errorf("%d copies of %d GPUs: more than %d ranks", copies, len(d.gpus), network.MaxRanks)
	case copies*len(d.switches) > network.MaxNodes:
		return nil, fmt.Errorf("%d copies: more than %d nodes", copies, network.MaxNodes)
	case copies*len(d.links) > network.MaxArcs:
		return nil, fmt.Errorf("%d copies: more than %d arcs", copies, network.MaxArcs)
	}
	var ranks, switches []string
	if copies*len(d.hosts) > 1 && d.nets {
		d.switches = append(d.switches, fabric)
	}
	kept := d.prune()
	if kept[fabric] {
		switches = append(switches, fabric.name)
	}
	var links []network.Link
	for c := range copies {
		name := func(n node) string {
			if n == fabric {
				return n.name
			}
			return fmt.Sprintf("s%d%s", c*len(d.hosts)+n.host, n.name)
		}
		for _, g := range d.gpus {
			ranks = append(ranks, name(g.node))
		}
		for _, s := range d.switches {
			if kept[s] && s != fabric {
				switches = append(switches, name(s))
			}
		}
		for _, l := range d.links {
			if kept[l.a] && kept[l.b] {
				links = append(links, network.Link{A: name(l.a), B: name(l.b), Rate: l.rate, OneWay: l.oneWay})
			}
		}
	}
	return network.New("", ranks, switches, links)
}

// prune returns the nodes without the switches that lead nowhere.
func (d *dump) prune() (kept map[node]bool) {
	kept = make(map[node]bool)
	isSwitch := make(map[node]bool)
	for _, s := range d.switches {
		kept[s], isSwitch[s] = true, true
	}
	for _, g := range d.gpus {
		kept[g.node] = true
	}
	beside := make(map[node]map[node]bool)
	for _, l := range d.links {
		for _, end := range [][2]node{{l.a, l.b}, {l.b, l.a}} {
			if beside[end[0]] == nil {
				beside[end[0]] = make(map[node]bool)
			}
			if kept[end[1]] {
				beside[end[0]][end[1]] = true
			}
		}
	}
	for todo := slices.Clone(d.switches); len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s == fabric || !kept[s] || len(beside[s]) > 1 {
			continue
		}
		kept[s] = false
		for next := range beside[s] {
			delete(beside[next], s)
			if isSwitch[next] {
				todo = append(todo, next)
			}
		}
	}
	return kept
}
