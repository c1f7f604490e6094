// Group is a chat among processes that come and go. It sends each line of the standard input to all
// members. Start it in several terminals:
//
//	group -name ann -listen 127.0.0.1:7000
//	group -name bob -seeds 127.0.0.1:7000
//	group -name cy  -seeds 127.0.0.1:7000
//
// You can end any of them, also the first. A member leaves the group at the end of its input, and
// the others notice a member that dies by kill -9. The manager of the membership runs in the
// members, or is an etcd (-etcd http://127.0.0.1:2379) or a directory on a shared disk (-dir
// /shared/chat).
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/schedgen/schedgen/runtime/group"
	"github.com/schedgen/schedgen/runtime/membership"
	"github.com/schedgen/schedgen/runtime/membership/embedded"
	"github.com/schedgen/schedgen/runtime/membership/etcd"
	"github.com/schedgen/schedgen/runtime/membership/file"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var o options
	flag.StringVar(&o.name, "name", "", "your name in the chat")
	flag.StringVar(&o.address, "address", "127.0.0.1:0", "host:port where the other members reach you")
	flag.StringVar(&o.listen, "listen", "127.0.0.1:0", "host:port where your manager listens")
	flag.StringVar(&o.seeds, "seeds", "", "host:port,… where managers of other members listen")
	flag.StringVar(&o.etcd, "etcd", "", "URLs of an etcd cluster that is the manager: http://…,…")
	flag.StringVar(&o.dir, "dir", "", "directory on a shared disk that is the manager")
	flag.DurationVar(&o.ttl, "ttl", 3*time.Second, "time without a sign of life after which a member is lost")
	flag.Parse()
	if err := chat(ctx, o, os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

type options struct {
	name, address, listen, seeds, etcd, dir string

	ttl time.Duration
}

// manager returns the manager that the options name.
func (o *options) manager() (membership.Manager, error) {
	switch {
	case o.etcd != "" && o.dir != "":
		return nil, errors.New("-etcd and -dir: give only one of them")
	case o.etcd != "":
		return etcd.New(etcd.Config{Endpoints: strings.Split(o.etcd, ","), Prefix: "chat", TTL: o.ttl, Log: slog.Default()})
	case o.dir != "":
		return file.New(file.Config{Dir: o.dir, TTL: o.ttl, Log: slog.Default()})
	}
	var seeds []string
	if o.seeds != "" {
		seeds = strings.Split(o.seeds, ",")
	}
	return embedded.New(embedded.Config{Group: "chat", Listen: o.listen, Seeds: seeds, TTL: o.ttl, Log: slog.Default()})
}

// connect opens the transport of a view.
func connect(ctx context.Context, m group.Meeting) (wire.Transport, error) {
	return tcp.Join(ctx, tcp.Config{Rank: m.Rank, Size: m.Size, Job: m.Job, Coordinator: m.Coordinator, Listener: m.Listener, Log: slog.Default()})
}

// chat joins the group and leaves it when in ends.
func chat(ctx context.Context, o options, in io.Reader, out io.Writer) error {
	manager, err := o.manager()
	if err != nil {
		return err
	}
	g, err := group.Join(ctx, group.Config{Name: "chat", Label: o.name, Manager: manager, Address: o.address, Connect: connect})
	if err != nil {
		return err
	}
	defer g.Close()
	var shown sync.WaitGroup
	var mu sync.Mutex
	show := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(out, format, args...)
	}
	shown.Go(func() { showViews(ctx, g, show) })
	shown.Go(func() { showMessages(ctx, g, show) })
	if err := say(ctx, g, in); err != nil {
		return err
	}
	err = g.Leave(ctx)
	shown.Wait()
	return err
}

// say publishes the lines of in.
func say(ctx context.Context, g *group.Group, in io.Reader) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if err := g.Publish(ctx, []byte(g.Self().Name+": "+lines.Text())); err != nil {
			return err
		}
	}
	return lines.Err()
}

func showViews(ctx context.Context, g *group.Group, show func(string, ...any)) {
	for v, err := g.View(), error(nil); err == nil; v, err = g.Await(ctx, v.Epoch) {
		var names []string
		for _, m := range v.Members {
			names = append(names, m.Name)
		}
		show("* %d: %s\n", v.Epoch, strings.Join(names, " "))
	}
}

func showMessages(ctx context.Context, g *group.Group, show func(string, ...any)) {
	for msg, err := range g.Messages(ctx) {
		if err == nil {
			show("%s\n", msg.Data)
		}
	}
}
