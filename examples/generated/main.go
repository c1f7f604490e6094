// Generated runs a broadcast and a barrier with schedules that are Go code. The command go generate
// writes them to the packages bcast8 and barrier8. The eight ranks are goroutines of this process.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"sync"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/examples/generated/barrier8"
	"github.com/schedgen/schedgen/examples/generated/bcast8"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/wire"
)

//go:generate go run ../../cmd/schedgen emit bcast/mcast-chain -p 8 --chunks 64 --format go --package bcast8 -o bcast8/bcast8.go
//go:generate go run ../../cmd/schedgen emit barrier/dissemination -p 8 --degree 2 --format go --package barrier8 -o barrier8/barrier8.go

func main() {
	lines, err := broadcast(context.Background(), "generated for eight ranks", mem.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for rank, line := range lines {
		fmt.Printf("rank %d has %q\n", rank, line)
	}
}

// broadcast sends text from the root to all ranks, and returns the copy of each rank.
func broadcast(ctx context.Context, text string, o mem.Options) ([]string, error) {
	transports, err := mem.New(bcast8.Ranks, o)
	if err != nil {
		return nil, err
	}
	lines, errs := make([]string, bcast8.Ranks), make([]error, bcast8.Ranks)
	var wg sync.WaitGroup
	for rank, tr := range transports {
		wg.Go(func() { lines[rank], errs[rank] = run(ctx, tr, text) })
	}
	wg.Wait()
	return lines, errors.Join(errs...)
}

// run does the work of one rank.
func run(ctx context.Context, tr wire.Transport, text string) (string, error) {
	comm, err := schedgen.Join(ctx, schedgen.Config{Transport: tr})
	if err != nil {
		return "", err
	}
	defer comm.Close()
	if err := errors.Join(comm.Use(bcast8.Schedule()), comm.Use(barrier8.Schedule())); err != nil {
		return "", err
	}
	if comm.Rank() != bcast8.Root {
		text = strings.Repeat(".", len(text))
	}
	buf := []byte(text)
	if err := schedgen.Bcast(ctx, comm, buf, bcast8.Root); err != nil {
		return "", err
	}
	return string(buf), schedgen.Barrier(ctx, comm)
}
