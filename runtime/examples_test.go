package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// ranks runs f as every rank of a communicator in memory.
func ranks(size int, cfg runtime.Config, f func(ctx context.Context, c *runtime.Comm) error) {
	transports, err := mem.New(size, mem.Options{})
	if err != nil {
		log.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, tr := range transports {
		wg.Go(func() {
			ctx := context.Background()
			cfg := cfg
			cfg.Transport = tr
			comm, err := runtime.Join(ctx, cfg)
			if err != nil {
				log.Fatal(err)
			}
			if err := f(ctx, comm); err != nil {
				log.Fatal(err)
			}
			if err := comm.Close(); err != nil {
				log.Fatal(err)
			}
		})
	}
	wg.Wait()
}

func ExampleComm_Bcast() {
	cfg := runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/mcast-acktree"}}}
	ranks(4, cfg, func(ctx context.Context, c *runtime.Comm) error {
		buf := make([]byte, 5)
		if c.Rank() == 2 {
			copy(buf, "hello")
		}
		if err := c.Bcast(ctx, buf, 2); err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Printf("rank 0 has %q\n", buf)
		}
		return nil
	})
	// Output: rank 0 has "hello"
}

func ExampleComm_BcastBytes() {
	ranks(3, runtime.Config{}, func(ctx context.Context, c *runtime.Comm) error {
		var msg []byte
		for i := range 3 {
			if c.Rank() == 0 {
				msg = fmt.Append(nil, "line ", i*i*i)
			}
			var err error
			if msg, err = c.BcastBytes(ctx, msg, 0); err != nil { // the next message may overwrite this one
				return err
			}
			if c.Rank() == 2 {
				fmt.Printf("rank 2 has %q\n", msg)
			}
		}
		return nil
	})
	// Output:
	// rank 2 has "line 0"
	// rank 2 has "line 1"
	// rank 2 has "line 8"
}

func ExampleInit() {
	ctx := context.Background()
	comm, err := runtime.Init(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer comm.Close()
	fmt.Printf("rank %d of %d\n", comm.Rank(), comm.Size()) // no launcher has started this program
	if err := comm.Barrier(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: rank 0 of 1
}

func ExampleComm_StartBcast() {
	ranks(4, runtime.Config{}, func(ctx context.Context, c *runtime.Comm) error {
		var parts [4][]byte
		var requests [4]*runtime.Request
		for root := range parts { // every rank has a part for each other rank
			parts[root] = make([]byte, 6)
			if root == c.Rank() {
				copy(parts[root], fmt.Sprint("part ", root))
			}
			var err error
			if requests[root], err = c.StartBcast(ctx, parts[root], root); err != nil {
				return err
			}
		}
		for _, r := range requests {
			if err := r.Wait(ctx); err != nil {
				return err
			}
		}
		if c.Rank() == 3 {
			fmt.Printf("%s\n", parts)
		}
		return nil
	})
	// Output: [part 0 part 1 part 2 part 3]
}

func ExampleComm_Publish() {
	ranks(3, runtime.Config{}, func(ctx context.Context, c *runtime.Comm) error {
		if c.Rank() == 1 { // any rank, at any time
			if err := c.Publish(ctx, []byte("the state has changed")); err != nil {
				return err
			}
		} else {
			msg, err := c.Next(ctx)
			if err != nil {
				return err
			}
			if c.Rank() == 2 {
				fmt.Printf("rank %d says: %s\n", msg.Origin, msg.Data)
			}
		}
		return c.Barrier(ctx) // no rank leaves before all have the message
	})
	// Output: rank 1 says: the state has changed
}

func ExampleComm_Split() {
	ranks(5, runtime.Config{}, func(ctx context.Context, c *runtime.Comm) error {
		half, err := c.Split(ctx, c.Rank()%2, -c.Rank()) // the highest rank becomes the first
		if err != nil {
			return err
		}
		defer half.Close()
		first := []byte{byte(c.Rank())}
		if err := half.Bcast(ctx, first, 0); err != nil {
			return err
		}
		if c.Rank() == 2 {
			fmt.Printf("rank 2 is rank %d of %d below rank %d\n", half.Rank(), half.Size(), first[0])
		}
		return half.Barrier(ctx)
	})
	// Output: rank 2 is rank 1 of 3 below rank 4
}

// A context that ends in a call ends the communicator at every rank; Shrink makes another one of
// all.
func Example_cancelled() {
	ranks(3, runtime.Config{}, func(ctx context.Context, c *runtime.Comm) error {
		short := ctx
		if c.Rank() == 1 {
			var cancel context.CancelFunc
			short, cancel = context.WithCancel(ctx)
			cancel()
		}
		err := c.Barrier(short)
		if c.Rank() == 0 {
			fmt.Println("rank 0:", errors.Is(err, context.Canceled))
			fmt.Println("again:", errors.Is(c.Barrier(ctx), context.Canceled))
		}
		next, err := c.Shrink(ctx)
		if err != nil {
			return err
		}
		if next.Rank() == 0 {
			fmt.Println("then:", next.Size(), "ranks")
		}
		return errors.Join(next.Barrier(ctx), next.Close())
	})
	// Output:
	// rank 0: true
	// again: true
	// then: 3 ranks
}

// To wait for a limited time, give the short context to Wait alone.
func Example_limitedWait() {
	ranks(2, runtime.Config{}, func(ctx context.Context, c *runtime.Comm) error {
		if c.Rank() == 0 {
			req, err := c.StartBarrier(ctx)
			if err != nil {
				return err
			}
			short, cancel := context.WithCancel(ctx)
			cancel() // its time is over
			fmt.Println("waiting:", errors.Is(req.Wait(short), context.Canceled))
			if err := c.Publish(ctx, []byte("go on")); err != nil {
				return err
			}
			fmt.Println("barrier:", req.Wait(ctx))
			return nil
		}
		if _, err := c.Next(ctx); err != nil {
			return err
		}
		return c.Barrier(ctx)
	})
	// Output:
	// waiting: true
	// barrier: <nil>
}
