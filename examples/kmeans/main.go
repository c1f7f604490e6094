// Kmeans finds k centres of points that are distributed over many ranks. In each step every rank
// adds up its own points by their nearest centre, one Allreduce adds up the sums and counts of all
// ranks, and every rank moves the centres to the means.
//
// All ranks get the same bits. So they have the same centres, and stop after the same step without
// further messages.
//
//	mpirun -n 4 ./kmeans -n 100000
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
	n := flag.Int("n", 100_000, "number of points at all ranks together")
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
	centres, steps, err := check(ctx, comm, n)
	if err != nil {
		return err
	}
	if comm.Rank() == 0 {
		fmt.Printf("%d points at %d ranks, %d steps: centres %.3f\n", n, comm.Size(), steps, centres)
	}
	return nil
}

type point struct{ X, Y float64 }

// middles are the points around which the data are scattered.
var middles = []point{{0, 0}, {10, 1}, {4, 9}, {-7, 6}}

// pointAt returns point i of the data, which is the same in every run.
func pointAt(i int) point {
	noise := func(seed uint64) float64 { // -2 … 2
		h := (uint64(i)*4 + seed + 1) * 0x9E3779B97F4A7C15
		h = (h ^ h>>31) * 0xBF58476D1CE4E5B9
		return 2 * (float64(h>>11)/(1<<52) - 1)
	}
	m := middles[i%len(middles)]
	return point{m.X + noise(0) + noise(1), m.Y + noise(2) + noise(3)}
}

// check finds the centres of n points. This rank has every P-th point. check returns an error if a
// centre is far from all points.
func check(ctx context.Context, comm *schedgen.Comm, n int) (centres []point, steps int, err error) {
	var own []point
	for i := comm.Rank(); i < n; i += comm.Size() {
		own = append(own, pointAt(i))
	}
	centres = make([]point, len(middles))
	if comm.Rank() == 0 { // begin at the first points
		for i := range centres {
			centres[i] = pointAt(i)
		}
	}
	if err := schedgen.Bcast(ctx, comm, centres, 0); err != nil {
		return nil, 0, err
	}
	if steps, err = kmeans(ctx, comm, own, centres); err != nil {
		return nil, 0, err
	}
	for i, c := range centres {
		if d := math.Sqrt(distance(c, middles[i])); d > 0.3 {
			return nil, 0, fmt.Errorf("rank %d: centre %d is %.3f, which is %.3f from %v", comm.Rank(), i, c, d, middles[i])
		}
	}
	return centres, steps, nil
}

// kmeans moves the centres, which are the same at all ranks, until they do not change. It returns
// the number of steps.
func kmeans(ctx context.Context, comm *schedgen.Comm, own, centres []point) (steps int, err error) {
	sums := make([]float64, 3*len(centres)) // for each centre, over its points: the sum of X, the sum of Y, and the number of points
	for moved := true; moved; steps++ {
		clear(sums)
		for _, p := range own {
			at := 3 * nearest(p, centres)
			sums[at] += p.X
			sums[at+1] += p.Y
			sums[at+2]++
		}
		if err := schedgen.Allreduce(ctx, comm, sums, schedgen.Sum); err != nil {
			return steps, err
		}
		moved = false
		for i := range centres {
			x, y, n := sums[3*i], sums[3*i+1], sums[3*i+2]
			if n == 0 { // a centre without points stays
				continue
			}
			mean := point{x / n, y / n}
			moved = moved || mean != centres[i]
			centres[i] = mean
		}
	}
	return steps, nil
}

// nearest returns the first of the centres that are nearest to p.
func nearest(p point, centres []point) (best int) {
	for i := range centres {
		if distance(p, centres[i]) < distance(p, centres[best]) {
			best = i
		}
	}
	return best
}

// distance returns the square of the distance between p and q.
func distance(p, q point) float64 {
	dx, dy := p.X-q.X, p.Y-q.Y
	return dx*dx + dy*dy
}
