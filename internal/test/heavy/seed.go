package heavy

import (
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"strconv"

	_ "pgregory.net/rapid" // defines its flags first
)

// seedVariable is the variable of the environment that says what tests draw.
const seedVariable = "SCHEDGEN_SEED"

var seed = func() uint64 {
	n, err := parseSeed(os.Getenv(seedVariable))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return n
}()

// init makes package rapid start from the seed. A failing draw writes no file: the seed repeats it,
// and files in testdata would make later runs fail.
func init() {
	_ = flag.Set("rapid.seed", strconv.FormatUint(seed, 10))
	_ = flag.Set("rapid.nofailfile", "true")
}

// Seed returns the number from which the generators of tests start. It is 1, so tests draw the same
// in every run on every machine, unless SCHEDGEN_SEED is another number above 0, or is "random". A
// random seed is printed, and programs that the tests start have the same one. Properties of package
// rapid start from it in every package whose tests import package heavy.
func Seed() uint64 { return seed }

// Seeds returns n seeds for generators of tests, the first of which is Seed.
func Seeds(n int) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for i := range uint64(n) {
			if !yield(seed + i) {
				return
			}
		}
	}
}

func parseSeed(text string) (uint64, error) {
	switch text {
	case "":
		return 1, nil
	case "random":
		n := 1 + rand.Uint64N(1<<53)
		fmt.Fprintf(os.Stderr, "%s=%d\n", seedVariable, n)
		return n, os.Setenv(seedVariable, strconv.FormatUint(n, 10))
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		return 0, fmt.Errorf(`%s is %q, want "random" or a number above 0`, seedVariable, text)
	}
	return n, nil
}
