// Package term tells what contributions a value has been folded from, and in which order.
//
// A term is the contribution of one rank, or two terms of which one is folded onto the right of the
// other. Equal terms have one number, so that they compare with == and a fold takes constant time.
package term

import "strconv"

// Term is the number of a term in its [Table]. The zero value is no term: nothing is known.
type Term int32

// node is the rank of a contribution, or two terms.
type node struct {
	left, right Term // 0: a contribution
	rank        int32
}

// Table numbers terms. The zero value has none.
type Table struct {
	nodes  []node // of term 1, 2 …
	number map[node]Term
}

// Of returns the contribution of a rank.
func (t *Table) Of(rank int) Term { return t.add(node{rank: int32(rank)}) }

// Fold returns left with right folded onto it. It is no term if one of them is none.
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

// Parts returns the two terms that x has been folded from. ok is false if x is a contribution or no
// term.
func (t *Table) Parts(x Term) (left, right Term, ok bool) {
	if x == 0 || t.nodes[x-1].left == 0 {
		return 0, 0, false
	}
	n := t.nodes[x-1]
	return n.left, n.right, true
}

// Rank returns the rank of a contribution, -1 if x is none.
func (t *Table) Rank(x Term) int {
	if x == 0 || t.nodes[x-1].left != 0 {
		return -1
	}
	return int(t.nodes[x-1].rank)
}

// Text spells a term: its contributions as the numbers of their ranks, from left to right, and a pair
// of parentheses around each fold: ((01)(23)). Numbers of several digits are set apart from others by
// blanks: ((9 10)11). What is longer than most bytes ends in "…"; most is at least 3. No term is "?".
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

// writer spells a term, and stops once the text is longer than most.
type writer struct {
	t    *Table
	text []byte
	most int
	long bool // the number at the end of the text has several digits
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
