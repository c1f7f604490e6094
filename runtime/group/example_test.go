package group_test

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/group"
	"github.com/schedgen/schedgen/runtime/membership/file"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Members are processes on several hosts; here they are in one.
func ExampleJoin() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "prices")
	must(err)
	defer os.RemoveAll(dir)
	both := make(chan struct{})
	together := sync.OnceFunc(func() { close(both) })
	join := func(changed func(group.Change)) *group.Group {
		manager, err := file.New(file.Config{Dir: dir})
		must(err)
		g, err := group.Join(ctx, group.Config{
			Name: "prices", Address: "127.0.0.1:0", Manager: manager, Changed: changed,
			Connect: func(ctx context.Context, m group.Meeting) (wire.Transport, error) {
				return tcp.Join(ctx, tcp.Config{Rank: m.Rank, Size: m.Size, Job: m.Job, Coordinator: m.Coordinator, Listener: m.Listener})
			},
		})
		must(err)
		return g
	}
	one := join(func(c group.Change) {
		if len(c.View.Members) == 2 {
			together()
		}
	})
	two := join(nil)
	<-both
	must(one.Publish(ctx, []byte("gold 4012")))
	msg, err := two.Next(ctx)
	must(err)
	fmt.Printf("%s\n", msg.Data)
	must(two.Leave(ctx))
	must(one.Leave(ctx))
	// Output: gold 4012
}

// Collective operations run in the communicator of Advance, which all members call between them.
func ExampleGroup_Advance() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "sums")
	must(err)
	defer os.RemoveAll(dir)
	var members sync.WaitGroup
	for range 2 {
		members.Go(func() {
			manager, err := file.New(file.Config{Dir: dir})
			must(err)
			g, err := group.Join(ctx, group.Config{
				Name: "sums", Address: "127.0.0.1:0", Manager: manager, Comm: runtime.Config{Quorum: runtime.Majority},
				Connect: func(ctx context.Context, m group.Meeting) (wire.Transport, error) {
					return tcp.Join(ctx, tcp.Config{Rank: m.Rank, Size: m.Size, Job: m.Job, Coordinator: m.Coordinator, Listener: m.Listener})
				},
			})
			must(err)
			for size := 0; size < 2; { // until both are there
				under, err := g.Advance(ctx)
				must(err)
				comm := schedgen.Wrap(under)
				sum := []int{1}
				must(schedgen.Allreduce(ctx, comm, sum, schedgen.Sum))
				if size = sum[0]; size == 2 && comm.Rank() == 0 {
					fmt.Println("the sum of both is", sum[0])
				}
			}
			must(g.Leave(ctx))
		})
	}
	members.Wait()
	// Output: the sum of both is 2
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
