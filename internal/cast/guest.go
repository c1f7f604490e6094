package cast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"github.com/schedgen/schedgen/internal/cast/remote"
	"github.com/schedgen/schedgen/internal/cast/unpack"
)

// order is the line by which a sender tells a receiver that it has started by ssh what to do.
type order struct {
	From    []string      `json:"from"` // addresses of the sender, in the order in which they are tried
	Key     []byte        `json:"key"`
	Name    string        `json:"name"` // of the receiver's host, in the sender's result
	To      string        `json:"to,omitempty"`
	Exec    string        `json:"exec,omitempty"`
	Then    string        `json:"then,omitempty"`
	Resume  bool          `json:"resume,omitempty"`
	Compare bool          `json:"compare,omitempty"` // compare only; nothing is sent
	Delete  int           `json:"delete,omitempty"`  // greatest number of deleted entries
	Accept  unpack.Accept `json:"accept"`
	Share   bool          `json:"share,omitempty"` // pass on the copy of the program
}

// maxOrder is the greatest length of an order in bytes.
const maxOrder = 1 << 20

// errHungUp says that the sender's ssh client has ended.
var errHungUp = errors.New("the connection to the sender has ended")

// Guest does the whole work of a process that a sender has started by ssh. It reads the sender's
// order from the standard input in, receives, and returns when the cast is over, or when in ends.
// dir is the process's last argument: the directory of the copy that runs, or "" if the program is
// installed. Guest changes how the process handles SIGPIPE and SIGHUP. tell may be nil.
func Guest(ctx context.Context, dir string, in io.Reader, out, errs io.Writer, tell func(Event)) error {
	// A message that nobody reads any more must not end the process before it has cleaned up.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	packed, err := remote.Greet(out, dir)
	if err != nil {
		return err
	}
	ctx, hangUp := context.WithCancelCause(ctx)
	defer hangUp(nil)
	type read struct {
		order *order
		err   error
	}
	first := make(chan read, 1)
	go func() { // this goroutine may outlive Guest
		o, err := readOrder(in)
		first <- read{o, err}
		_, _ = io.Copy(io.Discard, in) // only the end comes
		hangUp(errHungUp)
	}()
	select {
	case r := <-first:
		if r.err != nil {
			return r.err
		}
		return withCause(ctx, r.order.receive(ctx, packed, out, errs, tell))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func readOrder(r io.Reader) (*order, error) {
	dec := json.NewDecoder(io.LimitReader(r, maxOrder))
	dec.DisallowUnknownFields() // the sender is the same program
	o := new(order)
	if err := dec.Decode(o); err != nil {
		return nil, fmt.Errorf("read the sender's order: %w", err)
	}
	return o, nil
}

// receive executes the order. packed is the compressed copy of the program, which receive closes,
// or nil.
func (o *order) receive(ctx context.Context, packed *os.File, out, errs io.Writer, tell func(Event)) error {
	stop := func() {}
	switch {
	case o.Share:
		stop = remote.Share(out, packed, o.port())
	case packed != nil:
		if err := packed.Close(); err != nil {
			return err
		}
	}
	defer stop()
	at, err := reach(ctx, o.From)
	if err != nil {
		return err
	}
	_, err = ReceiveFrom(ctx, JoinOptions{
		Link: Link{Key: o.Key}, From: at, To: o.To, Exec: o.Exec, Then: o.Then, Name: o.Name,
		Resume: o.Resume, Accept: o.Accept, Compare: o.Compare, Delete: o.Delete,
		Stdout: out, Stderr: errs, Alone: true, Events: tell, meeting: stop,
	})
	return err
}

// port returns the sender's port, which the hosts also use, or 0 if it is not known.
func (o *order) port() uint16 {
	if len(o.From) == 0 {
		return 0
	}
	at, err := netip.ParseAddrPort(o.From[0])
	if err != nil {
		return 0
	}
	return at.Port()
}
