// Transpose transposes a matrix whose rows are distributed over many ranks. Each rank cuts its rows
// into a tile for every rank and transposes each tile. Alltoall takes the tiles to their ranks.
//
//	mpirun -n 4 ./transpose -n 1000
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/schedgen/schedgen"
)

func main() {
	n := flag.Int("n", 500, "rows and columns of the matrix")
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
	if err := check(ctx, comm, n); err != nil {
		return err
	}
	first, rows := share(comm, n)
	fmt.Printf("rank %d of %d has %d rows of the transpose from row %d on\n", comm.Rank(), comm.Size(), rows, first)
	return nil
}

// check transposes the n×n matrix whose element in row i and column j is n·i + j, and returns an
// error if an element is wrong.
func check(ctx context.Context, comm *schedgen.Comm, n int) error {
	first, rows := share(comm, n)
	matrix := make([]float64, rows*n)
	for i := range rows {
		for j := range n {
			matrix[i*n+j] = float64(n*(first+i) + j)
		}
	}
	turned, err := transpose(ctx, comm, matrix, n)
	if err != nil {
		return err
	}
	for i := range rows {
		for j := range n {
			if want := float64(n*j + first + i); turned[i*n+j] != want {
				return fmt.Errorf("row %d, column %d: %v, want %v", first+i, j, turned[i*n+j], want)
			}
		}
	}
	return nil
}

// share returns the first row and the number of rows of this rank. The first ranks have mostRows
// rows each, and the last ranks have the rest, perhaps none.
func share(comm *schedgen.Comm, n int) (first, rows int) {
	most := mostRows(comm, n)
	first = min(comm.Rank()*most, n)
	return first, min(most, n-first)
}

// mostRows returns the largest number of rows that a rank has.
func mostRows(comm *schedgen.Comm, n int) int { return (n + comm.Size() - 1) / comm.Size() }

// transpose returns this rank's rows of the transpose of an n×n matrix. matrix holds this rank's
// rows of the matrix itself.
func transpose(ctx context.Context, comm *schedgen.Comm, matrix []float64, n int) ([]float64, error) {
	_, rows := share(comm, n)
	most := mostRows(comm, n)
	tile := most * most // a tile that is not full has zeros at its end
	src, dst := make([]float64, comm.Size()*tile), make([]float64, comm.Size()*tile)
	for i := range rows {
		for j := range n { // column j becomes row j%most of its rank's tile
			src[j/most*tile+j%most*most+i] = matrix[i*n+j]
		}
	}
	if err := schedgen.Alltoall(ctx, comm, dst, src); err != nil {
		return nil, err
	}
	turned := make([]float64, rows*n)
	for i := range rows {
		for j := range n { // row j of the matrix is in the tile from the rank that had it
			turned[i*n+j] = dst[j/most*tile+i*most+j%most]
		}
	}
	return turned, nil
}
