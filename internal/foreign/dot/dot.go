// Package dot reads and writes networks as graphs of Graphviz.
package dot

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/graph/formats/dot"
	"gonum.org/v1/gonum/graph/formats/dot/ast"

	"github.com/schedgen/schedgen/network"
)

// maxDOT bounds the bytes of a graph.
const maxDOT = 64 << 20

// Is reports whether a text begins as a graph does.
func Is(head []byte) bool {
	for {
		head = bytes.TrimSpace(head)
		switch {
		case bytes.HasPrefix(head, []byte("//")), bytes.HasPrefix(head, []byte("#")):
			at := bytes.IndexByte(head, '\n')
			if at < 0 {
				return false
			}
			head = head[at:]
			continue
		case bytes.HasPrefix(head, []byte("/*")):
			return true
		}
		words := strings.FieldsFunc(string(head), func(c rune) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '{' })
		return len(words) > 0 && slices.Contains([]string{"graph", "digraph", "strict"}, strings.ToLower(words[0]))
	}
}

// Parse reads a graph in the language of Graphviz. A node with an attribute rank=3 is rank 3, and
// any other node is a switch. Each edge has a rate, such as rate="10Gbit", and may have a delay. The
// edges of a graph are links, and those of a digraph are arcs.
func Parse(r io.Reader) (*network.Network, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxDOT+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxDOT {
		return nil, &network.ParseError{Err: fmt.Errorf("a graph of more than %d bytes", maxDOT)}
	}
	file, err := dot.ParseBytes(text)
	if err != nil {
		return nil, &network.ParseError{Err: fmt.Errorf("DOT: %w", err)}
	}
	if len(file.Graphs) != 1 {
		return nil, &network.ParseError{Err: fmt.Errorf("DOT: %d graphs, want 1", len(file.Graphs))}
	}
	n, err := ofDOT(file.Graphs[0])
	if err != nil {
		return nil, &network.ParseError{Err: fmt.Errorf("DOT: %w", err)}
	}
	return n, nil
}

// dotGraph is what a graph says of nodes and edges, in its order.
type dotGraph struct {
	names []string
	ranks map[string]string // by name: the attribute; "" for a switch
	edges []dotEdge
}

type dotEdge struct {
	from, to string
	attrs    map[string]string
}

func ofDOT(graph *ast.Graph) (*network.Network, error) {
	g := &dotGraph{ranks: make(map[string]string)}
	if err := g.add(graph.Stmts, nil, nil); err != nil {
		return nil, err
	}
	name := unquote(graph.ID)
	if !network.IsName(name) {
		name = "" // the name of a picture
	}
	ranks, err := g.byRank()
	if err != nil {
		return nil, err
	}
	var switches []string
	for _, name := range g.names {
		if g.ranks[name] == "" {
			switches = append(switches, name)
		}
	}
	var links []network.Link
	for _, e := range g.edges {
		l, err := e.link()
		if err != nil {
			return nil, fmt.Errorf("edge %s %s: %w", e.from, e.to, err)
		}
		l.OneWay = graph.Directed
		links = append(links, l)
	}
	return network.New(name, ranks, switches, links)
}

// byRank returns the names of the ranks.
func (g *dotGraph) byRank() ([]string, error) {
	names := make(map[int]string)
	for _, name := range g.names {
		text := g.ranks[name]
		if text == "" {
			continue
		}
		rank, err := strconv.Atoi(text)
		if err != nil || rank < 0 || rank >= network.MaxRanks {
			return nil, fmt.Errorf("node %s: rank=%s: must be in 0..%d", name, text, network.MaxRanks-1)
		}
		if other, taken := names[rank]; taken {
			return nil, fmt.Errorf("node %s: rank=%d is node %s", name, rank, other)
		}
		names[rank] = name
	}
	ranks := make([]string, len(names))
	for rank := range ranks {
		name, ok := names[rank]
		if !ok {
			return nil, fmt.Errorf("no node has rank=%d", rank)
		}
		ranks[rank] = name
	}
	return ranks, nil
}

func (e dotEdge) link() (l network.Link, err error) {
	l.A, l.B = e.from, e.to
	text, ok := e.attrs["rate"]
	if !ok {
		return l, fmt.Errorf(`no rate: want an attribute, such as rate="10Gbit"`)
	}
	if l.Rate, err = network.ParseRate(text); err != nil {
		return l, err
	}
	if text, ok := e.attrs["delay"]; ok {
		l.Delay, err = network.ParseDelay(text)
	}
	return l, err
}

// add adds statements. Attributes of node and edge statements hold for what is named later.
func (g *dotGraph) add(stmts []ast.Stmt, nodes, edges map[string]string) error {
	nodes, edges = merged(nodes, nil), merged(edges, nil)
	for _, stmt := range stmts {
		switch s := stmt.(type) {
		case *ast.NodeStmt:
			attrs := merged(nodes, s.Attrs)
			g.name(unquote(s.Node.ID), attrs["rank"])
		case *ast.AttrStmt:
			switch s.Kind {
			case ast.NodeKind:
				nodes = merged(nodes, s.Attrs)
			case ast.EdgeKind:
				edges = merged(edges, s.Attrs)
			}
		case *ast.Subgraph:
			if err := g.add(s.Stmts, nodes, edges); err != nil {
				return err
			}
		case *ast.EdgeStmt:
			attrs := merged(edges, s.Attrs)
			from, to := s.From, s.To
			for to != nil {
				for _, end := range []ast.Vertex{from, to.Vertex} {
					if _, ok := end.(*ast.Node); !ok {
						return fmt.Errorf("an edge of a subgraph: want edges between nodes")
					}
				}
				a, b := unquote(from.(*ast.Node).ID), unquote(to.Vertex.(*ast.Node).ID)
				g.name(a, nodes["rank"])
				g.name(b, nodes["rank"])
				g.edges = append(g.edges, dotEdge{a, b, attrs})
				from, to = to.Vertex, to.To
			}
		}
	}
	return nil
}

// name notes a node, and its attribute rank unless that is "".
func (g *dotGraph) name(name, rank string) {
	was, known := g.ranks[name]
	if !known {
		g.names = append(g.names, name)
	}
	if !known || was == "" {
		g.ranks[name] = rank
	}
}

// merged returns attributes, and with them or in their place those of a statement.
func merged(attrs map[string]string, with []*ast.Attr) map[string]string {
	m := make(map[string]string, len(attrs)+len(with))
	for k, v := range attrs {
		m[k] = v
	}
	for _, a := range with {
		m[unquote(a.Key)] = unquote(a.Val)
	}
	return m
}

// unquote returns an identifier of DOT without its quotes.
func unquote(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return strings.ReplaceAll(s[1:len(s)-1], `\"`, `"`)
	}
	return s
}

// Write writes a graph that [Parse] reads back and Graphviz draws. label returns the text at
// an arc, such as its load; nil means the rate. A network with arcs of one direction only becomes a
// digraph.
func Write(w io.Writer, n *network.Network, label func(arc int) string) error {
	var b bytes.Buffer
	_, both := n.AsFast()
	for i, a := range n.Arcs {
		if back := n.Find(a.To, a.From); back < 0 || n.Arcs[back].Delay != a.Delay || label != nil && label(back) != label(i) {
			both = false
		}
	}
	kind, dash := "graph", "--"
	if !both {
		kind, dash = "digraph", "->"
	}
	fmt.Fprintf(&b, "%s %q {\n", kind, n.Name)
	for rank, name := range n.Ranks {
		fmt.Fprintf(&b, "\t%q [rank=%d, shape=box]\n", name, rank)
	}
	for _, name := range n.Switches {
		fmt.Fprintf(&b, "\t%q [shape=ellipse]\n", name)
	}
	for i, a := range n.Arcs {
		if both && a.From > a.To {
			continue
		}
		text := network.FormatRate(a.Rate)
		if label != nil {
			text = label(i)
		}
		fmt.Fprintf(&b, "\t%q %s %q [rate=%q, label=%q", n.NameOf(a.From), dash, n.NameOf(a.To), network.FormatRate(a.Rate), text)
		if a.Delay > 0 {
			fmt.Fprintf(&b, ", delay=%q", network.FormatDelay(a.Delay))
		}
		b.WriteString("]\n")
	}
	b.WriteString("}\n")
	_, err := w.Write(b.Bytes())
	return err
}
