package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/clock"
)

const (
	firstPause = 5 * time.Millisecond
	lastPause  = 250 * time.Millisecond
	dialLimit  = 3 * time.Second
)

// climber connects a rank with the one above, again and again until the outcome of
// all is known or ctx ends.
type climber struct {
	n    *node
	ctx  context.Context
	net  Network
	bind string       // of data
	data net.Listener // where this rank accepts connections afterwards
	to   int          // the rank that is, or was, to be reached
	last error        // why it was not
}

// ending is how the climb has ended.
type ending struct{ err error }

// climb returns when the outcome is posted.
func (c *climber) climb() {
	err := c.try()
	c.n.post(func() error {
		c.n.end, c.n.going = &ending{err}, err == nil
		return err
	})
}

// errUnheard: the rank above has hung up before it has said anything. It may have had
// to make room for others, or be started again.
var errUnheard = errors.New("it hung up")

func (c *climber) try() error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := c.once()
		if err == nil || c.final(err) {
			return err
		}
		if c.last == nil || c.ctx.Err() == nil && !timedOut(err) {
			c.last = err // others may only say that ctx has ended, before it does itself
			c.n.trouble.Set(c.absence() + ": " + err.Error())
		}
		if late := clock.Sleep(c.ctx, c.n.cfg.Clock, pause); late != nil {
			return fmt.Errorf("%s: %w (%w)", c.absence(), c.last, late)
		}
	}
}

// absence says who is missing.
func (c *climber) absence() string {
	if errors.Is(c.last, errUnheard) {
		return RankList([]int{c.to}) + " has gone and has not come again"
	}
	return notCome([]int{c.to})
}

// final reports whether trying again is of no use.
func (c *climber) final(err error) bool {
	return errors.As(err, new(*verdict)) || errors.As(err, new(*brokenError)) || errors.As(err, new(*LoopbackError)) || hopeless(err)
}

// brokenError: the rank above has gone when it was too late to come again, says what
// none would, or has not the same key.
type brokenError struct{ error }

func (e *brokenError) Unwrap() error { return e.error }

// hopeless reports whether a dial has failed for a reason of this host alone, which
// does not pass: it is out of descriptors, or its loopback interface is down.
func hopeless(err error) bool {
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return true
	}
	var op *net.OpError
	if !errors.As(err, &op) {
		return false
	}
	to, ok := op.Addr.(*net.TCPAddr)
	return ok && to.IP.IsLoopback() && (errors.Is(err, unix.ENETUNREACH) || errors.Is(err, unix.EADDRNOTAVAIL))
}

func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// verdict is why the coordinator says that there is no communicator.
type verdict struct{ why string }

func (v *verdict) Error() string { return "the coordinator says: " + v.why }
