// Mean computes the mean and the variance of numbers that are distributed over many ranks. Each
// rank reads its own numbers once, and one Allreduce of a struct joins the results of the ranks.
//
//	mpirun -n 4 ./mean -n 1000000
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"os/signal"

	"github.com/schedgen/schedgen"
)

func main() {
	n := flag.Int("n", 1_000_000, "number of numbers at all ranks together")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *n); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, n int) error {
	comm, err := schedgen.Init(ctx)
	if err != nil {
		return err
	}
	defer comm.Close()
	all, err := check(ctx, comm, n)
	if err != nil {
		return err
	}
	if comm.Rank() == 0 {
		fmt.Printf("%v numbers at %d ranks: mean %v, variance %v\n", all.N, comm.Size(), all.Mean, all.variance())
	}
	return nil
}

// offset is much greater than the distances between the numbers. With ten such numbers, the mean of
// the squares minus the square of the mean has no correct digit.
const offset = 1e9

// check joins the moments of the numbers offset, offset+1 … offset+n-1. This rank has every P-th
// number. check returns an error if the moments are wrong.
func check(ctx context.Context, comm *schedgen.Comm, n int) (moments, error) {
	var own []float64
	for i := comm.Rank(); i < n; i += comm.Size() {
		own = append(own, offset+float64(i))
	}
	all, err := momentsAt(ctx, comm, own)
	if err != nil {
		return all, err
	}
	mean, variance := offset+float64(n-1)/2, (float64(n)*float64(n)-1)/12
	if n > 0 && (math.Abs(all.Mean-mean) > 1e-14*mean || math.Abs(all.variance()-variance) > 1e-6*variance) {
		return all, fmt.Errorf("rank %d: mean %v and variance %v, want %v and %v", comm.Rank(), all.Mean, all.variance(), mean, variance)
	}
	return all, nil
}

// moments describes some numbers. An element of a collective may be any struct without pointers.
type moments struct {
	N    float64 // number of numbers
	Mean float64
	M2   float64 // sum of the squares of their distances from Mean
}

// join folds moments. It is a global variable because a communicator caches data for each
// operation. Two moments can be joined in either order, but rounding then differs. So join does not
// commute, and contributions are folded in the order of the ranks.
var join = schedgen.Func("join moments", false, func(dst, src []moments) {
	for i, right := range src {
		dst[i] = dst[i].joined(right)
	}
})

// momentsAt returns the moments of the numbers of all ranks. All ranks get the same bits.
func momentsAt(ctx context.Context, comm *schedgen.Comm, own []float64) (moments, error) {
	var m moments
	for _, x := range own {
		m = m.joined(moments{N: 1, Mean: x})
	}
	buf := []moments{m}
	err := schedgen.Allreduce(ctx, comm, buf, join)
	return buf[0], err
}

// joined returns the moments of the numbers of a and b. It subtracts only the two means, and never
// large numbers that are nearly equal. See T. F. Chan, G. H. Golub and R. J. LeVeque, Updating
// formulae and a pairwise algorithm for computing sample variances (1979).
func (a moments) joined(b moments) moments {
	if a.N == 0 || b.N == 0 { // a rank may have no numbers
		return moments{a.N + b.N, a.Mean + b.Mean, a.M2 + b.M2}
	}
	n, d := a.N+b.N, b.Mean-a.Mean
	return moments{n, a.Mean + d*(b.N/n), a.M2 + b.M2 + d*d*(a.N*b.N/n)}
}

// variance returns the mean of the squares of the distances from the mean.
func (a moments) variance() float64 { return a.M2 / a.N }
