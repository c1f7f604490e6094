package verify

// sameTree compares terms and not values. Floating-point operations do not associate, and
// operations on NaNs, ties of MinLoc and a program's own functions do not even commute bit by bit.
var sameTree = Check{
	Name:    "same-tree",
	Summary: "all ranks that fold a chunk fold the same tree, with the same order of operands, so every copy has the same bits",
	scope:   &everyFold,
	prove:   proveSameTree,
}

func proveSameTree(sub *subject) (string, error) { return "", sub.values().sameTree() }

// sameTree returns the failure of the check same-tree, or nil.
func (v *values) sameTree() error {
	for _, b := range v.made {
		if a := v.first[b.Slot.Index()]; a.tree() != b.tree() {
			return v.refuteSameTree(a, b)
		}
	}
	return nil
}

func (v *values) refuteSameTree(a, b made) error {
	only := ""
	if v.sameButForOrder(a.tree(), b.tree()) {
		only = "; they differ only in the order of operands"
	}
	return fail([]int{a.Rank, b.Rank}, []Place{a.Place, b.Place}, nil, "rank %d folds %v as %s, rank %d as %s%s",
		a.Rank, a.Slot, v.spell(a.tree()), b.Rank, v.spell(b.tree()), only)
}
