package runtime

import "github.com/schedgen/schedgen/runtime/core"

// Fold is what the contributions of ranks are folded with, in a collective that folds. Its Kernel
// makes dst[i] of a[i] and b[i], in this order; dst may be a or b, or share no memory with either. It
// must be associative in so far as results may depend on which algorithm runs; all ranks get the same
// bits in any case.
type Fold = core.Fold

// Kernel is the function of a [Fold].
type Kernel = core.Kernel

// foldAtOnce is how long a fold is, in bytes, that is done at once. A longer one gives way to what
// arrives every 10 µs or so.
const foldAtOnce = 128 << 10
