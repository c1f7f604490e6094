package meet

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

// climber connects a rank with the rank above it, again and again until the outcome of all is known
// or ctx ends.
type climber struct {
	n    *node
	ctx  context.Context
	net  Network
	bind string       // host for data
	data net.Listener // where this rank accepts connections afterwards
	to   int          // the rank to reach, now or last
	last error        // why the last attempt failed
}

// ending is the result of the climb.
type ending struct{ err error }

// climb returns when its result is posted.
func (c *climber) climb() {
	err := c.try()
	c.n.post(func() error {
		c.n.end, c.n.going = &ending{err}, err == nil
		return err
	})
}

// errUnheard: the rank above has hung up before it has said anything. It may have made room for
// others, or be restarting.
var errUnheard = errors.New("it hung up")

func (c *climber) try() error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := c.once()
		if err == nil || c.final(err) {
			return err
		}
		if c.last == nil || c.ctx.Err() == nil && !timedOut(err) {
			c.last = err // later errors may only say that ctx has ended, before it has
			c.n.trouble.Set(c.absence() + ": " + err.Error())
		}
		if late := clock.Sleep(c.ctx, c.n.cfg.Clock, pause); late != nil {
			return fmt.Errorf("%s: %w (%w)", c.absence(), c.last, late)
		}
	}
}

// absence says which rank is missing.
func (c *climber) absence() string {
	if errors.Is(c.last, errUnheard) {
		return RankList([]int{c.to}) + " has gone and has not come again"
	}
	return notCome([]int{c.to})
}

// final reports whether another attempt is useless.
func (c *climber) final(err error) bool {
	return errors.As(err, new(*verdict)) || errors.As(err, new(*brokenError)) || errors.As(err, new(*LoopbackError)) || hopeless(err)
}

// brokenError: the rank above has gone too late to come again, sends nonsense, or does not have the
// same key.
type brokenError struct{ error }

func (e *brokenError) Unwrap() error { return e.error }

// hopeless reports whether a dial has failed for a lasting reason of this host: it is out of
// descriptors, or its loopback interface is down.
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

// verdict is the coordinator's reason why there is no communicator.
type verdict struct{ why string }

func (v *verdict) Error() string { return "the coordinator says: " + v.why }
