// Results counts primes at all ranks and gathers the results at rank 0. Each result is a struct,
// which Gather moves as it is.
//
//	mpirun -n 4 ./results -below 10000000
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"

	"github.com/schedgen/schedgen"
)

// result is the result of a rank.
type result struct {
	From, Below int64 // the rank has tested the numbers From … Below-1
	Primes      int64 // number of primes among them
}

func main() {
	below := flag.Int64("below", 1_000_000, "count the primes below this number")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *below); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, below int64) error {
	comm, err := schedgen.Init(ctx)
	if err != nil {
		return err
	}
	defer comm.Close()
	return count(ctx, comm, below, os.Stdout)
}

// count counts the primes below a number. Rank 0 prints the results of all ranks.
func count(ctx context.Context, comm *schedgen.Comm, below int64, out io.Writer) error {
	rank, size := int64(comm.Rank()), int64(comm.Size())
	own := result{From: rank * below / size, Below: (rank + 1) * below / size}
	for n := own.From; n < own.Below; n++ {
		if prime(n) {
			own.Primes++
		}
	}
	var all []result // at rank 0: one from each rank
	if comm.Rank() == 0 {
		all = make([]result, comm.Size())
	}
	if err := schedgen.Gather(ctx, comm, all, []result{own}, 0); err != nil {
		return err
	}
	if comm.Rank() != 0 {
		return nil
	}
	sum := int64(0)
	for rank, r := range all {
		sum += r.Primes
		if _, err := fmt.Fprintf(out, "rank %d: %d primes from %d to %d\n", rank, r.Primes, r.From, r.Below-1); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "%d primes below %d\n", sum, below)
	return err
}

// prime reports whether n is a prime number.
func prime(n int64) bool {
	if n < 2 {
		return false
	}
	for d := int64(2); d*d <= n; d++ {
		if n%d == 0 {
			return false
		}
	}
	return true
}
