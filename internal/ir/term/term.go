// Package term records which contributions a value is folded from, and in which order.
//
// A term is the contribution of one rank, or a fold of two terms, left and right. Equal terms have
// equal numbers. So terms compare with ==, and a fold takes constant time.
package term

import "strconv"

// Term is the number of a term in its [Table]. The zero value means that nothing is known.
type Term int32

// node is the rank of a contribution, or two terms.
type node struct {
	left, right Term // 0: a contribution
	rank        int32
}

// Table numbers terms. The zero value is an empty table.
type Table struct {
	nodes  []node // of the terms 1, 2 …
	number map[node]Term
}

// Of returns the term of a rank's contribution.
func (t *Table) Of(rank int) Term { return t.add(node{rank: int32(rank)}) }

// Fold returns the fold of left and right, in this order. It returns 0 if either is 0.
func (t *Table) Fold(left, right Term) Term {
	if left == 0 || right == 0 {
		return 0
	}
	return t.add(node{left: left, right: right})
}

func (t *Table) add(n node) Term {
	if x, ok := t.number[n]; ok {
		return x
	}
	if t.number == nil {
		t.number = make(map[node]Term)
	}
	t.nodes = append(t.nodes, n)
	x := Term(len(t.nodes))
	t.number[n] = x
	return x
}

// Parts returns the two terms from which x is folded. ok is false if x is a contribution or 0.
func (t *Table) Parts(x Term) (left, right Term, ok bool) {
	if x == 0 || t.nodes[x-1].left == 0 {
		return 0, 0, false
	}
	n := t.nodes[x-1]
	return n.left, n.right, true
}

// Rank returns the rank of contribution x, or -1 if x is not a contribution.
func (t *Table) Rank(x Term) int {
	if x == 0 || t.nodes[x-1].left != 0 {
		return -1
	}
	return int(t.nodes[x-1].rank)
}

// Text spells a term: the ranks of its contributions from left to right, with parentheses around
// each fold, such as ((01)(23)). Blanks separate numbers of several digits from others: ((9 10)11).
// A text longer than most bytes is cut and ends in "…". most must be at least 3. Text returns "?"
// for 0.
func (t *Table) Text(x Term, most int) string {
	if x == 0 {
		return "?"
	}
	const ellipsis = "…"
	w := writer{t: t, most: most}
	w.write(x)
	if len(w.text) <= most {
		return string(w.text)
	}
	return string(w.text[:most-len(ellipsis)]) + ellipsis
}

// writer spells a term. It stops once the text is longer than most.
type writer struct {
	t    *Table
	text []byte
	most int
	long bool // the number at the end of text has several digits
}

func (w *writer) write(x Term) {
	if len(w.text) > w.most {
		return
	}
	n := w.t.nodes[x-1]
	if n.left != 0 {
		w.text = append(w.text, '(')
		w.write(n.left)
		w.write(n.right)
		w.text = append(w.text, ')')
		return
	}
	if last := len(w.text) - 1; last >= 0 && '0' <= w.text[last] && w.text[last] <= '9' && (w.long || n.rank > 9) {
		w.text = append(w.text, ' ')
	}
	w.text = strconv.AppendInt(w.text, int64(n.rank), 10)
	w.long = n.rank > 9
}
