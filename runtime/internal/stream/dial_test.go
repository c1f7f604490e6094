package stream

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// fails returns attempts of which so many end with err, and how many there were.
func fails(times int, err error) (attempt func(context.Context, string, time.Duration) (net.Conn, error), made *int) {
	made = new(int)
	return func(context.Context, string, time.Duration) (net.Conn, error) {
		if *made++; *made <= times {
			return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", err)}
		}
		conn, _ := net.Pipe()
		return conn, nil
	}, made
}

func TestDialIsRepeated(t *testing.T) {
	refused := errors.New("refused")
	for _, c := range []struct {
		name  string
		err   error
		times int
		want  error
		made  int
		after time.Duration
	}{
		{"at once", unix.EHOSTUNREACH, 0, nil, 1, 0},
		{"a host that is back", unix.EHOSTUNREACH, 3, nil, 4, 3 * dialPause},
		{"a network that is back", unix.ENETUNREACH, 1, nil, 2, dialPause},
		{"a host that stays away", unix.EHOSTUNREACH, 1 << 20, unix.EHOSTUNREACH, 20, time.Second},
		{"what does not pass", refused, 1, refused, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDialer(time.Second - time.Millisecond)
				defer d.close()
				attempt, made := fails(c.times, c.err)
				d.attempt = attempt
				begun := time.Now()
				conn, err := d.connect("there:1")
				require.ErrorIs(t, err, c.want)
				require.Equal(t, c.want == nil, conn != nil)
				require.Equal(t, c.made, *made)
				require.InDelta(t, c.after, time.Since(begun), float64(time.Millisecond))
			})
		})
	}
}
