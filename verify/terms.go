package verify

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// Terms describes what a schedule makes of the contributions of its ranks. It is zero if the
// schedule folds nothing, or if its folds are not proved. They are not proved if one of the checks
// typed, contributes and same-tree does not hold or if a result is missing.
type Terms struct {
	// Digest identifies the trees that are folded, including the order of operands. Two schedules
	// with the same number of ranks and the same digest give the same bits, for any operation and
	// any vector of the same length. The digest depends only on the trees. It does not depend on
	// names, on the chunks of the vector, on which rank folds what, or on which rank gets the
	// result.
	//
	// Digest is the hexadecimal form of the first 16 bytes of a SHA-256. A leaf is hashed as a zero
	// byte and the rank's number in 8 bytes, and a fold as a byte 1 and the hashes of its operands.
	// If all parts of the vector have the same tree, the digest is the hash of the tree. Otherwise
	// it is the hash of the list of trees by position in the vector. Each entry has the fraction of
	// the vector at which its part ends, and equal neighbours are one part. In a ring, each P-th
	// part of the vector has the trees of the one before with all ranks increased by one. Then the
	// digest is the hash of the list of the first P-th, marked as such. The digest of a scan is the
	// hash of the digests of all blocks.
	Digest string

	RankOrder bool // the leaves of all trees are in the order of the ranks: operations need not commute
	// Position says that every part of the vector has the same tree, so a result does not depend on
	// its position.
	Position bool
	InPlace  bool // input and output of a rank may share memory without a copy or a delayed write
}

// termsOf returns what is known about the terms.
func termsOf(sub *subject) Terms {
	v := sub.values()
	if v == nil || firstError(sub, proveTyped, proveContributes, proveSameTree) != nil {
		return Terms{}
	}
	return v.terms(&sub.s.Header, sub.overlap() == nil)
}

// terms returns what is known about proved terms.
func (v *values) terms(h *ir.Header, inPlace bool) Terms {
	all, ok := v.results(h)
	if !ok {
		return Terms{}
	}
	return Terms{
		Digest:    v.digest(all),
		RankOrder: outOfOrder(v) == nil,
		Position:  firstMoved(all) == nil,
		InPlace:   inPlace,
	}
}

// results are the trees of the chunks that are folded, in the order of the parts of the
// contributions.
type results struct {
	of    int    // the chunks are c<of·InputChunks> …
	trees []tree // by part
}

// results returns the trees of each block that is folded from all parts of the contributions. ok is
// false if no fold makes some chunk of such a block.
func (v *values) results(h *ir.Header) (all []results, ok bool) {
	parts := h.InputChunks()
	if parts == 0 {
		return nil, false
	}
	chunks := make([]int, 0, len(v.first))
	for k := range v.first {
		if h.FoldedRanks(k) > 0 {
			chunks = append(chunks, k)
		}
	}
	slices.Sort(chunks)
	for _, k := range chunks {
		if last := len(all) - 1; last < 0 || all[last].of != k/parts {
			all = append(all, results{of: k / parts})
		}
		r := &all[len(all)-1]
		if len(r.trees) != k%parts {
			return nil, false
		}
		r.trees = append(r.trees, v.first[k].tree())
	}
	for _, r := range all {
		if len(r.trees) != parts {
			return nil, false
		}
	}
	return all, len(all) > 0
}

func firstError(sub *subject, proofs ...func(*subject) (string, error)) error {
	for _, prove := range proofs {
		if _, err := prove(sub); err != nil {
			return err
		}
	}
	return nil
}

type sum = [sha256.Size]byte

// digest returns the digest of all results, see [Terms].
func (v *values) digest(all []results) string {
	d := v.digests(true)
	sums := make([]sum, len(all))
	for i, r := range all {
		sums[i] = d.list(r.trees)
	}
	total := sums[0]
	if len(all) > 1 {
		text := []byte{digestResults}
		for i, r := range all {
			text = binary.BigEndian.AppendUint64(text, uint64(r.of))
			text = append(text, sums[i][:]...)
		}
		total = sha256.Sum256(text)
	}
	return hex.EncodeToString(total[:16])
}

// list returns the digest of the trees of a vector, in the order of its parts.
func (d *digests) list(trees []tree) sum {
	if allEqual(trees) {
		return d.tree(trees[0])
	}
	kind := byte(digestList)
	if piece := d.piece(trees); piece != nil {
		kind, trees = digestRotation, piece
	}
	text := []byte{kind}
	for i, t := range trees {
		if i+1 < len(trees) && trees[i+1] == t {
			continue
		}
		end, of := i+1, len(trees)
		common := gcd(end, of)
		s := d.tree(t)
		text = binary.BigEndian.AppendUint64(text, uint64(end/common))
		text = binary.BigEndian.AppendUint64(text, uint64(of/common))
		text = append(text, s[:]...)
	}
	return sha256.Sum256(text)
}

// piece returns the trees of the first piece of a vector whose trees repeat. Such a vector consists
// of as many equal pieces as there are ranks, and increasing all ranks in the trees of a piece by
// one gives the trees of the next piece. For other vectors it returns nil.
func (d *digests) piece(trees []tree) []tree {
	per := len(trees) / int(d.ranks)
	if per == 0 || len(trees)%int(d.ranks) != 0 {
		return nil
	}
	for i, t := range trees[per:] {
		if t != d.rotated(trees[i], 1%d.ranks) {
			return nil
		}
	}
	return trees[:per]
}

func allEqual(trees []tree) bool {
	return !slices.ContainsFunc(trees, func(t tree) bool { return t != trees[0] })
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
