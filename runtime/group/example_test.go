package group_test

import (
	"context"
	"fmt"
	"os"
	"sync"

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

func must(err error) {
	if err != nil {
		panic(err)
	}
}
