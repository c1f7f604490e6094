package emit

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/graph/encoding"
	"gonum.org/v1/gonum/graph/encoding/dot"
	"gonum.org/v1/gonum/graph/multi"

	"github.com/schedgen/schedgen/ir"
)

// Inches between rounds and between ranks.
const (
	dotRound = 1.1
	dotRank  = 0.6
)

// writeDOT prints s as a graph of space and time. A node is a rank at the end of a round. An edge
// is a transfer in a round or, in grey, the time between two events of a rank. The nodes are pinned
// to a grid and the graph names its layout engine, so that any Graphviz program draws the same
// picture.
func writeDOT(w io.Writer, s *ir.Schedule) error {
	t, err := trace(s, false)
	if err != nil {
		return err
	}
	text, err := dot.MarshalMulti(newDotGraph(t), s.Name(), "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// dotGraph is the graph of a run. Nodes are numbered by round, then rank.
type dotGraph struct {
	*multi.DirectedGraph
	run   *run
	folds map[int64][]fold // by node: the folds of the rank at that time
}

func newDotGraph(t *run) dotGraph {
	g := dotGraph{multi.NewDirectedGraph(), t, make(map[int64][]fold)}
	for _, f := range t.folds {
		g.folds[g.id(f.round, f.rank)] = append(g.folds[g.id(f.round, f.rank)], f)
	}
	for rank := range t.Programs {
		g.point(0, rank)
	}
	for _, f := range t.folds {
		g.point(f.round, f.rank)
	}
	for _, e := range t.timedEdges() {
		line := dotLine{Line: g.NewLine(g.point(e.round-1, e.from), g.point(e.round, e.to)).(multi.Line), edge: e.edge}
		g.SetLine(line)
	}
	g.timelines()
	return g
}

// timedEdge is an edge and its round.
type timedEdge struct {
	edge
	round int
}

// timedEdges merges the run's transfers into edges, in order.
func (t *run) timedEdges() []timedEdge {
	var out []timedEdge
	all := t.transfers()
	for i := 0; i < len(all); {
		n := i + 1
		for n < len(all) && all[n].round == all[i].round && all[n].class == all[i].class {
			n++
		}
		for _, e := range edges(all[i:n], len(t.Programs)) {
			out = append(out, timedEdge{e, all[i].round})
		}
		i = n
	}
	return out
}

// id returns the number of the node of a rank at the end of a round.
func (g dotGraph) id(round, rank int) int64 {
	return int64(round)*int64(len(g.run.Programs)) + int64(rank)
}

// point returns the node of a rank at the end of a round. It adds the node if necessary.
func (g dotGraph) point(round, rank int) dotNode {
	id := g.id(round, rank)
	if n := g.Node(id); n != nil {
		return n.(dotNode)
	}
	n := dotNode{id: id, round: round, rank: rank, done: g.run.returns[rank] == round, folds: g.folds[id], run: g.run}
	g.AddNode(n)
	return n
}

// timelines adds the node at which each rank is done, and links the nodes of each rank in the order
// of time.
func (g dotGraph) timelines() {
	for rank, done := range g.run.returns {
		if done >= 0 {
			g.point(done, rank)
		}
		last := g.point(0, rank)
		for round := 1; round <= g.run.last; round++ {
			if g.Node(g.id(round, rank)) == nil {
				continue
			}
			next := g.point(round, rank)
			g.SetLine(dotTime{g.NewLine(last, next).(multi.Line)})
			last = next
		}
	}
}

// DOTAttributers returns the attributes of the graph, of its nodes and of its edges.
func (g dotGraph) DOTAttributers() (graph, node, edge encoding.Attributer) {
	label := fmt.Sprintf("%s: %s\n%s; a full dot is where a call returns", g.run.Name(), headerFacts(&g.run.Header), totals(g.run))
	if len(g.folds) > 0 {
		label += ", a diamond where the rank folds"
	}
	if idle := g.run.notNeeded(); idle != "" {
		label += "; not drawn: " + idle
	}
	if g.run.stuck > 0 {
		label += "; " + count(g.run.stuck, "rule") + " can never fire"
	}
	return dotAttrs{{Key: "layout", Value: "neato"}, {Key: "splines", Value: "line"}, {Key: "outputorder", Value: "edgesfirst"},
			{Key: "label", Value: label}, {Key: "labelloc", Value: "t"}, {Key: "fontname", Value: "Helvetica"}, {Key: "fontsize", Value: "12"}},
		dotAttrs{{Key: "shape", Value: "circle"}, {Key: "fontname", Value: "Helvetica"}, {Key: "fontsize", Value: "10"},
			{Key: "style", Value: "filled"}, {Key: "fillcolor", Value: "white"}, {Key: "fixedsize", Value: "true"}},
		dotAttrs{{Key: "fontname", Value: "Helvetica"}, {Key: "fontsize", Value: "8"}, {Key: "arrowsize", Value: "0.6"},
			{Key: "labeldistance", Value: "2"}, {Key: "labelangle", Value: "15"}}
}

type dotAttrs []encoding.Attribute

// Attributes returns the attributes in the order in which they are printed.
func (a dotAttrs) Attributes() []encoding.Attribute { return a }

// dotNode is a rank at the end of a round.
type dotNode struct {
	id          int64
	round, rank int
	done        bool
	folds       []fold
	run         *run
}

// ID returns the node's number in the graph.
func (n dotNode) ID() int64 { return n.id }

// DOTID returns the node's name, such as r3t1 for rank 3 after round 1.
func (n dotNode) DOTID() string { return fmt.Sprintf("r%dt%d", n.rank, n.round) }

// Attributes places the node. The first node of a rank shows the rank's number, and the others are
// dots.
func (n dotNode) Attributes() []encoding.Attribute {
	pos := fmt.Sprintf("%.2f,%.2f!", float64(n.round)*dotRound, -float64(n.rank)*dotRank)
	label, width := "", "0.1"
	if n.round == 0 {
		label = strconv.Itoa(n.rank)
		width = fmt.Sprintf("%.2f", 0.15+0.08*float64(max(2, len(label))))
	}
	out := []encoding.Attribute{{Key: "pos", Value: pos}, {Key: "label", Value: label}, {Key: "width", Value: width}}
	if len(n.folds) > 0 {
		var told []string
		for _, f := range n.folds {
			told = append(told, foldTitle(n.run, f))
		}
		text := n.run.wordsOf(n.folds, maxTerm)
		if len(text) > maxTerm || strings.Contains(text, "…") {
			text = count(len(n.folds), "fold")
		}
		if n.round > 0 {
			out[2] = encoding.Attribute{Key: "width", Value: "0.18"}
			out = append(out, encoding.Attribute{Key: "height", Value: "0.18"}, encoding.Attribute{Key: "shape", Value: "diamond"})
		}
		out = append(out, encoding.Attribute{Key: "xlabel", Value: text}, encoding.Attribute{Key: "tooltip", Value: strings.Join(told, "; ")})
	}
	if n.done {
		out = append(out, encoding.Attribute{Key: "fillcolor", Value: "black"})
	}
	if n.done && (n.round == 0 || len(n.folds) == 0) { // the terms of folds are beside the node
		out = append(out, encoding.Attribute{Key: "fontcolor", Value: "white"})
	}
	return out
}

// dotLine is everything that one rank sends another in a round.
type dotLine struct {
	multi.Line
	edge edge
}

// Attributes returns the label, the colour and the style of the edge.
func (l dotLine) Attributes() []encoding.Attribute {
	key, class := "label", looks[l.edge.class]
	if l.edge.class == mcast {
		key = "headlabel"
	}
	out := []encoding.Attribute{{Key: key, Value: l.edge.cargo.renamedLabel()}, {Key: "color", Value: class.light}}
	if class.dot != "" {
		out = append(out, encoding.Attribute{Key: "style", Value: class.dot})
	}
	return out
}

// dotTime links two events of one rank.
type dotTime struct{ multi.Line }

// Attributes draws the passing of time in the background.
func (dotTime) Attributes() []encoding.Attribute {
	return []encoding.Attribute{{Key: "color", Value: "gray80"}, {Key: "arrowhead", Value: "none"}}
}
