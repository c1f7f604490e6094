// Energy computes the energy of particles that are distributed over many ranks, as simulations do
// after each step to see whether it is conserved. The exact sum has the same bits for every number
// of ranks. The plain sum differs from one number of ranks to another.
//
//	mpirun -n 4 ./energy -n 1000000
//	mpirun -n 7 ./energy -n 1000000
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
	n := flag.Int("n", 1_000_000, "number of particles at all ranks together")
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
	e, err := check(ctx, comm, n)
	if err != nil {
		return err
	}
	if comm.Rank() == 0 {
		fmt.Printf("%d particles at %d ranks\n", n, comm.Size())
		fmt.Printf("exact sum  %.17g  %x\n", e.exact, e.exact)
		fmt.Printf("plain sum  %.17g  %x\n", e.plain, e.plain)
	}
	return nil
}

// particle is one of the particles. Its height is at most some kilometres.
type particle struct {
	Mass, Speed, Height float64
}

// particleAt returns particle i, which is the same in every run.
func particleAt(i int) particle {
	draw := func(seed uint64) float64 { // 0 … 1
		h := (uint64(i)*3 + seed + 1) * 0x9E3779B97F4A7C15
		h = (h ^ h>>31) * 0xBF58476D1CE4E5B9
		return float64(h>>11) / (1 << 53)
	}
	return particle{0.001 + draw(0), 100 * draw(1), 5000*draw(2) - 2500}
}

// energies is an energy that was added up in two ways.
type energies struct{ exact, plain float64 }

// check adds up the energies of n particles. This rank has a block of them. check returns an error
// if the sums are far apart.
func check(ctx context.Context, comm *schedgen.Comm, n int) (energies, error) {
	rank, size := comm.Rank(), comm.Size()
	var own []particle
	for i := n * rank / size; i < n*(rank+1)/size; i++ {
		own = append(own, particleAt(i))
	}
	e, err := energyOf(ctx, comm, own)
	if err == nil && math.Abs(e.exact-e.plain) > 1e-9*math.Abs(e.exact)+1e-3 {
		err = fmt.Errorf("rank %d: exact sum %v, plain sum %v", rank, e.exact, e.plain)
	}
	return e, err
}

// energyOf returns the energy of the particles of all ranks. The energy of one particle is rounded,
// but it is the same wherever the particle is.
func energyOf(ctx context.Context, comm *schedgen.Comm, own []particle) (e energies, err error) {
	const gravity = 9.81
	terms := make([]float64, 0, 2*len(own))
	for _, p := range own {
		// The conversions round each product, even on processors that can multiply and add with one
		// rounding.
		terms = append(terms, float64(p.Mass*p.Speed*p.Speed/2), float64(p.Mass*gravity*p.Height))
	}
	if e.exact, err = schedgen.ExactSum(ctx, comm, terms); err != nil {
		return e, err
	}
	plain := []float64{0}
	for _, x := range terms {
		plain[0] += x
	}
	err = schedgen.Allreduce(ctx, comm, plain, schedgen.Sum)
	e.plain = plain[0]
	return e, err
}
