package cli

import (
	"fmt"
	"math"
	"strings"
)

// sizeRange is a size of a message, or a range LO..HI of such sizes.
type sizeRange struct{ lo, hi byteSize }

// UnmarshalText reads "64KiB" or "1KiB..1MiB".
func (r *sizeRange) UnmarshalText(text []byte) error {
	first, last, isRange := strings.Cut(string(text), "..")
	if !isRange {
		last = first
	}
	if err := r.lo.UnmarshalText([]byte(first)); err != nil {
		return err
	}
	if err := r.hi.UnmarshalText([]byte(last)); err != nil {
		return err
	}
	if r.lo > r.hi {
		return fmt.Errorf("%s: the range is empty", text)
	}
	return nil
}

// all returns the sizes that are simulated.
func (r *sizeRange) all() []int { return spread(int(r.lo), int(r.hi)) }

// maxPoints is the largest number of numbers of a range that are simulated.
const maxPoints = 64

// spread returns the numbers lo … hi. If they are more than maxPoints, it returns maxPoints of
// them, with lo and hi, about evenly spaced on a logarithmic scale.
func spread(lo, hi int) []int {
	if hi-lo < maxPoints {
		all := make([]int, 0, hi-lo+1)
		for n := lo; n <= hi; n++ {
			all = append(all, n)
		}
		return all
	}
	all := []int{lo}
	from, to := math.Log(float64(max(lo, 1))), math.Log(float64(hi))
	for i := 1; i < maxPoints; i++ {
		n := int(math.Round(math.Exp(from + (to-from)*float64(i)/(maxPoints-1))))
		all = append(all, min(max(n, all[i-1]+1), hi-maxPoints+1+i))
	}
	return all
}
