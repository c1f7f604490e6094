// Paramserver fits a line to points that are distributed over many ranks. Rank 0 is the server. In
// each step it sends the parameters to all ranks by Bcast, collects the gradients of all ranks by
// Gather, and moves the parameters against the mean of the gradients.
//
//	mpirun -n 4 ./paramserver
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"

	"github.com/schedgen/schedgen"
)

// server is the rank that has the parameters.
const server = 0

// line is y = Slope·x + Shift, or a gradient with respect to these.
type line struct{ Slope, Shift float64 }

func main() {
	steps := flag.Int("steps", 500, "number of steps")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *steps); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, steps int) error {
	comm, err := schedgen.Init(ctx)
	if err != nil {
		return err
	}
	defer comm.Close()
	found, err := fit(ctx, comm, measure(comm.Rank(), line{Slope: 3, Shift: -1}), steps)
	if err != nil {
		return err
	}
	if comm.Rank() == server {
		fmt.Printf("y = %.2f·x %+.2f, of the points of %d ranks\n", found.Slope, found.Shift, comm.Size())
	}
	return nil
}

type point struct{ x, y float64 }

// measure returns the points of a rank, which are near the line. Each rank has different points.
func measure(rank int, of line) []point {
	random := rand.New(rand.NewPCG(1, uint64(rank)))
	points := make([]point, 100)
	for i := range points {
		x := 2*random.Float64() - 1
		points[i] = point{x, of.Slope*x + of.Shift + 0.01*random.NormFloat64()}
	}
	return points
}

// fit returns the line that fits the points of all ranks best, at every rank.
func fit(ctx context.Context, comm *schedgen.Comm, points []point, steps int) (line, error) {
	params := make([]line, 1)
	var gradients []line // at the server: one from each rank
	if comm.Rank() == server {
		gradients = make([]line, comm.Size())
	}
	for range steps {
		if err := schedgen.Bcast(ctx, comm, params, server); err != nil {
			return line{}, err
		}
		own := []line{gradient(params[0], points)}
		if err := schedgen.Gather(ctx, comm, gradients, own, server); err != nil {
			return line{}, err
		}
		for _, g := range gradients {
			params[0].Slope -= 0.2 * g.Slope / float64(comm.Size())
			params[0].Shift -= 0.2 * g.Shift / float64(comm.Size())
		}
	}
	err := schedgen.Bcast(ctx, comm, params, server)
	return params[0], err
}

// gradient returns the gradient of the mean squared error of l at points.
func gradient(l line, points []point) (g line) {
	for _, p := range points {
		off := 2 * (l.Slope*p.x + l.Shift - p.y) / float64(len(points))
		g.Slope += off * p.x
		g.Shift += off
	}
	return g
}
