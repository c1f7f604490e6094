package verify

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// Terms says what a schedule makes of the contributions of its ranks. It is zero if the schedule
// folds nothing, or if what it folds is not proved: one of checks typed, contributes and same-tree
// does not hold, or a result is missing.
type Terms struct {
	// Digest stands for the trees that are folded, the order of operands included. Two schedules among
	// as many ranks that have the same digest give the same bits, for any operation and any vector of
	// the same length. It depends on nothing but the trees: not on names, on how the vector is cut into
	// chunks, on which rank folds what, or on who gets the result.
	//
	// It is hexadecimal: the first 16 bytes of a SHA-256. That of a leaf is of a zero byte and the
	// rank's number in 8 bytes, that of a fold of a byte 1 and the hashes of its operands. Where all
	// parts of the vector have the same tree, the digest is that of the tree. Otherwise it is that of
	// the list of trees by position in the vector; each is there with the fraction of the vector at
	// which its part ends, and neighbours that are equal are one part. If the P-th part of the vector
	// that comes next always has the trees of the one before with all ranks moved on by one, as in a
	// ring, the digest is that of the list of the first P-th, marked as such. The digest of a scan is
	// that of the digests of all blocks.
	Digest string

	RankOrder bool // the leaves of all trees are in the order of ranks: operations need not commute
	Position  bool // every part of the vector has the same tree: a result does not depend on where it stands
	InPlace   bool // input and output of a rank may share memory without a copy or a delayed write
}

// termsOf returns what is known of the terms.
func termsOf(sub *subject) Terms {
	v := sub.values()
	if v == nil || firstError(sub, proveTyped, proveContributes, proveSameTree) != nil {
		return Terms{}
	}
	return v.terms(&sub.s.Header, sub.overlap() == nil)
}

// terms returns what is known of proved terms.
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

// list returns the digest of the trees of a vector, part after part.
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

// piece returns the trees of the first of as many equal pieces as there are ranks, if those of each
// piece are those of the one before with all ranks moved on by one; otherwise nil.
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

// foldsAnything reports whether a schedule folds or renames anything, or is to fold.
func foldsAnything(s *ir.Schedule) bool {
	if s.Folds() {
		return true
	}
	for rank := range s.Programs {
		rules := s.Programs[rank].Rules
		for i := range rules {
			for _, a := range rules[i].Do {
				if a.Op == ir.Fold || a.As != ir.None {
					return true
				}
			}
		}
	}
	return false
}
