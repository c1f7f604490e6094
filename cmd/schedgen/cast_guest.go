package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/schedgen/schedgen/cast/remote"
)

// castOrder is what a sender tells a receiver that it has started by ssh: a line.
type castOrder struct {
	From []string `json:"from"` // addresses of the sender, in the order in which they are tried
	Key  []byte   `json:"key"`
	Name string   `json:"name"` // of the receiver's host, in the sender's report
	To   string   `json:"to,omitempty"`
	Exec string   `json:"exec,omitempty"`

	Resume bool `json:"resume,omitempty"`
}

// maxOrder bounds an order, in bytes.
const maxOrder = 1 << 20

// guestCmd is the hidden verb of receivers that are started by ssh.
type guestCmd struct {
	Copy string `arg:"" optional:"" help:"Directory of the copy that runs, empty if it is none."`
}

// errHungUp: the sender's ssh client has ended.
var errHungUp = errors.New("the connection to the sender has ended")

// Run receives what the sender orders it to, and ends when its standard input does.
func (c *guestCmd) Run(ctx context.Context, std stdio) error {
	// What it says when nobody listens any more must not end it before it has cleaned up.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	if err := remote.Greet(std.Out, c.Copy); err != nil {
		return failed(err)
	}
	order, err := await(ctx, func() (*castOrder, error) { return readOrder(std.In) })
	if err != nil {
		return failed(err)
	}
	ctx, hangUp := context.WithCancelCause(ctx)
	defer hangUp(nil)
	go func() {
		_, _ = io.Copy(io.Discard, std.In) // nothing comes but the end
		hangUp(errHungUp)
	}()
	if err := order.receive(ctx, std); err != nil {
		return failed(causeOf(ctx, err))
	}
	return nil
}

func readOrder(r io.Reader) (*castOrder, error) {
	dec := json.NewDecoder(io.LimitReader(r, maxOrder))
	dec.DisallowUnknownFields() // the sender is the same program
	o := new(castOrder)
	if err := dec.Decode(o); err != nil {
		return nil, fmt.Errorf("what the sender orders: %w", err)
	}
	return o, nil
}

func (o *castOrder) receive(ctx context.Context, std stdio) error {
	at, err := reach(ctx, o.From)
	if err != nil {
		return err
	}
	c := &receiveCmd{From: at, To: o.To, Exec: o.Exec, Name: o.Name, Resume: o.Resume}
	_, err = c.run(ctx, secret{Key: o.Key, Encrypt: true}, std)
	return err
}
