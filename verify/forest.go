package verify

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"
)

// term describes how a value is folded from the contributions of ranks, as a binary tree with ranks
// as leaves. The tree is a node of a forest whose ranks are all increased by shift, modulo their
// number. So terms that differ only in where they start, such as the terms of a ring, share their
// nodes. Two terms are equal if and only if their fields are equal.
type term struct {
	node  int32
	shift int32

	// part is the part of each contribution to which the leaves belong: k for x<k>, givenPart for a
	// chunk that a rank holds at enter, and mixedParts if the leaves do not all belong to one part.
	part int32
}

// tree is a term without its part.
type tree struct{ node, shift int32 }

func (t term) tree() tree { return tree{t.node, t.shift} }

const (
	noPart     = -1
	mixedParts = -2
)

// givenPart returns the part of a chunk that is not folded from contributions.
func givenPart(chunk int) int32 { return int32(-3 - chunk) }

// givenChunk returns the chunk whose givenPart is part.
func givenChunk(part int32) int { return int(-3 - part) }

// partName returns the name of a part: "x0", or "c0" for a chunk that is given.
func partName(part int32) string {
	if part >= 0 {
		return "x" + strconv.Itoa(int(part))
	}
	return "c" + strconv.Itoa(givenChunk(part))
}

// The first nodes of a forest.
const (
	noNode    = -1
	rankNode  = 0 // the contribution of a rank, which is the term's shift
	givenNode = 1 // a chunk that a rank holds at enter
)

// node is a tree. Its ranks are counted from the rank of its first leaf, modulo their number.
type node struct {
	left, right int32 // noNode in a leaf
	by          int32 // how much the ranks of right are increased against the ranks of left

	leaves int32 // number of leaves, at most one more than there are ranks
	// If span is not 0, the leaves are the ranks first … first+span-1, each once. If it is 0, the
	// leaves may be any ranks.
	first, span int32
	last        int32 // the rank of the last leaf
	rising      bool  // each leaf's rank is above the previous leaf's rank, without wrapping around
}

// forest holds each node once.
type forest struct {
	ranks     int32
	unordered bool // folds have no order: the lower of two operands is on the left
	nodes     []node
	index     map[[3]int32]int32
}

func newForest(ranks int) *forest {
	leaf := node{left: noNode, right: noNode, leaves: 1, span: 1, rising: true}
	given := node{left: noNode, right: noNode, leaves: 1}
	return &forest{ranks: int32(ranks), nodes: []node{leaf, given}, index: make(map[[3]int32]int32)}
}

// contribution returns the term of a rank's contribution.
func (f *forest) contribution(rank, part int) term { return term{rankNode, int32(rank), int32(part)} }

// given returns the term of a chunk that is there at enter.
func (f *forest) given(chunk int) term { return term{givenNode, 0, givenPart(chunk)} }

// fold returns the term a·b.
func (f *forest) fold(a, b term) term {
	if f.unordered && cmp.Or(a.node-b.node, a.shift-b.shift) > 0 {
		a, b = b, a
	}
	if a.part != b.part {
		a.part = mixedParts
	}
	a.node = f.join(a.node, b.node, f.mod(b.shift-a.shift))
	return a
}

func (f *forest) mod(rank int32) int32 {
	if rank < 0 {
		return rank + f.ranks
	}
	if rank >= f.ranks {
		return rank - f.ranks
	}
	return rank
}

// join returns the node with the given children.
func (f *forest) join(left, right, by int32) int32 {
	key := [3]int32{left, right, by}
	if id, ok := f.index[key]; ok {
		return id
	}
	l, r := &f.nodes[left], &f.nodes[right]
	n := node{left: left, right: right, by: by, leaves: min(l.leaves+r.leaves, f.ranks+1), last: f.mod(by + r.last)}
	n.rising = l.rising && r.rising && l.last < by && by+r.last < f.ranks
	if l.span > 0 && r.span > 0 && l.span+r.span <= f.ranks {
		switch second := f.mod(by + r.first); {
		case f.mod(l.first+l.span) == second:
			n.first, n.span = l.first, l.span+r.span
		case f.mod(second+r.span) == l.first:
			n.first, n.span = second, l.span+r.span
		}
	}
	id := int32(len(f.nodes))
	f.nodes = append(f.nodes, n)
	f.index[key] = id
	return id
}

// children returns the two trees from which t is folded. ok is false for a leaf.
func (f *forest) children(t tree) (left, right tree, ok bool) {
	n := &f.nodes[t.node]
	if n.left == noNode {
		return tree{}, tree{}, false
	}
	return tree{n.left, t.shift}, tree{n.right, f.mod(t.shift + n.by)}, true
}

// rotated returns t with all ranks increased by by, 0 ≤ by < ranks.
func (f *forest) rotated(t tree, by int32) tree { return tree{t.node, f.mod(t.shift + by)} }

// inOrder reports whether the leaves of t are in the order of their ranks.
func (f *forest) inOrder(t tree) bool {
	n := &f.nodes[t.node]
	return n.rising && t.shift+n.last < f.ranks
}

// firstOutOfOrder returns two neighbouring ranks of t, where the first is not below the second. t
// must not be in order.
func (f *forest) firstOutOfOrder(t tree) (before, after int) {
	for {
		left, right, ok := f.children(t)
		switch {
		case !ok:
			return int(t.shift), int(t.shift)
		case !f.inOrder(left):
			t = left
		case f.mod(left.shift+f.nodes[left.node].last) < right.shift && !f.inOrder(right):
			t = right
		default:
			return int(f.mod(left.shift + f.nodes[left.node].last)), int(right.shift)
		}
	}
}

// oddity says what is wrong with the contributions in a term.
type oddity uint8

const (
	nothingOdd oddity = iota
	countedTwice
	missing
	notAskedFor
	notContributed
)

// odd returns the oddity of a tree that should be folded from the contributions of ranks 0 … n-1,
// each once, and the rank concerned.
func (f *forest) odd(t tree, n int32) (oddity, int) {
	root := &f.nodes[t.node]
	if root.span == n && root.leaves == n && (n == f.ranks || f.mod(root.first+t.shift) == 0) {
		return nothingOdd, -1
	}
	seen := make([]bool, n)
	for todo := []tree{t}; len(todo) > 0; {
		t = todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if left, right, ok := f.children(t); ok {
			todo = append(todo, right, left)
			continue
		}
		switch {
		case t.node == givenNode:
			return notContributed, -1
		case t.shift >= n:
			return notAskedFor, int(t.shift)
		case seen[t.shift]:
			return countedTwice, int(t.shift)
		}
		seen[t.shift] = true
	}
	for rank, there := range seen {
		if !there {
			return missing, rank
		}
	}
	return nothingOdd, -1
}

// Bounds of a tree in print.
const (
	maxLeaves = 24
	maxDepth  = 16
)

// spell returns a tree with ranks as leaves: ((01)(23)). Blanks separate ranks of two digits: ((8
// 9)(10 11)).
func (f *forest) spell(t tree) string {
	s := speller{f: f}
	s.write(t, 0)
	return s.b.String()
}

type speller struct {
	f      *forest
	b      strings.Builder
	leaves int
	digit  bool // the text ends in a rank
}

func (s *speller) write(t tree, depth int) {
	left, right, ok := s.f.children(t)
	switch {
	case s.leaves > maxLeaves:
	case ok && depth < maxDepth && s.leaves < maxLeaves:
		s.b.WriteByte('(')
		s.digit = false
		s.write(left, depth+1)
		s.write(right, depth+1)
		s.b.WriteByte(')')
		s.digit = false
	case ok || s.leaves == maxLeaves:
		s.leaves++
		s.digit = false
		s.b.WriteString("…")
	default:
		s.leaves++
		if s.digit && s.f.ranks > 10 {
			s.b.WriteByte(' ')
		}
		if t.node == givenNode {
			s.b.WriteByte('c')
		} else {
			s.b.WriteString(strconv.Itoa(int(t.shift)))
		}
		s.digit = true
	}
}

// maxDigests bounds the digests that are cached. The trees of reduce-scatter/pairwise have millions of
// different sub-trees.
const maxDigests = 1 << 16

// digests computes the digests of trees, and caches some of them.
type digests struct {
	*forest
	of      map[tree][sha256.Size]byte
	ordered bool // the order of operands matters
}

func (f *forest) digests(ordered bool) *digests {
	return &digests{forest: f, of: make(map[tree][sha256.Size]byte), ordered: ordered}
}

// The first byte of the hashed text.
const (
	digestLeaf = iota
	digestFold
	digestList
	digestRotation
	digestResults
	digestGiven
)

// tree returns the digest of a tree. The digest of a leaf is the hash of its rank. The digest of a
// fold is the hash of its operands' digests.
func (d *digests) tree(t tree) [sha256.Size]byte {
	if sum, ok := d.of[t]; ok {
		return sum
	}
	var text [1 + 2*sha256.Size]byte
	left, right, ok := d.children(t)
	n := 0
	switch {
	case ok:
		a, b := d.tree(left), d.tree(right)
		if !d.ordered && string(a[:]) > string(b[:]) {
			a, b = b, a
		}
		text[0] = digestFold
		n = 1 + copy(text[1:], a[:])
		n += copy(text[n:], b[:])
	case t.node == givenNode:
		text[0], n = digestGiven, 1
	default:
		text[0] = digestLeaf
		binary.BigEndian.PutUint64(text[1:], uint64(t.shift))
		n = 9
	}
	sum := sha256.Sum256(text[:n])
	if len(d.of) >= maxDigests {
		clear(d.of)
	}
	d.of[t] = sum
	return sum
}

// sameButForOrder reports whether two trees differ at most in the order of operands.
func (f *forest) sameButForOrder(a, b tree) bool {
	d := f.digests(false)
	return d.tree(a) == d.tree(b)
}
