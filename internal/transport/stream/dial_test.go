package stream

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/clock"
)

// fails returns an attempt that ends with err the first times, the number of attempts, and the time
// that the last attempt was allowed.
func fails(times int, err error) (attempt func(context.Context, clock.Clock, string, time.Duration) (net.Conn, error), made *int, last *time.Duration) {
	made, last = new(int), new(time.Duration)
	return func(_ context.Context, _ clock.Clock, _ string, limit time.Duration) (net.Conn, error) {
		*last = limit
		if *made++; *made <= times {
			return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", err)}
		}
		conn, _ := net.Pipe()
		return conn, nil
	}, made, last
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
		{"an address that is back", unix.EADDRNOTAVAIL, 1, nil, 2, dialPause},
		{"a filter that is gone", unix.EPERM, 1, nil, 2, dialPause},
		{"a host that stays away", unix.EHOSTUNREACH, 1 << 20, unix.EHOSTUNREACH, 20, time.Second},
		{"what does not pass", refused, 1, refused, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDialer(clock.System{}, time.Second)
				defer d.close()
				attempt, made, limit := fails(c.times, c.err)
				d.attempt = attempt
				begun := time.Now()
				conn, err := d.connect("there:1")
				require.ErrorIs(t, err, c.want)
				require.Equal(t, c.want == nil, conn != nil)
				require.Equal(t, c.made, *made)
				require.Equal(t, c.after, time.Since(begun))
				require.Equal(t, time.Second-dialPause*time.Duration(*made-1), *limit, "what is left of the timeout")
			})
		})
	}
}

// If the network is away for ten seconds before a first connection, whether with errors or in
// silence, the rank tries until it is back: no rank is lost.
func TestDialOutlastsABlip(t *testing.T) {
	const blip = 10 * time.Second
	for name, away := range map[string]func(ctx context.Context, rest time.Duration) error{
		"it says so": func(context.Context, time.Duration) error { return unix.ENETUNREACH },
		"it is silent": func(ctx context.Context, rest time.Duration) error {
			return clock.Sleep(ctx, clock.System{}, min(rest, 15*time.Second)) // the system's fourth attempt
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDialer(clock.System{}, dialTimeout)
				defer d.close()
				begun := time.Now()
				d.attempt = func(ctx context.Context, _ clock.Clock, _ string, rest time.Duration) (net.Conn, error) {
					if time.Since(begun) < blip {
						if err := away(ctx, rest); err != nil {
							return nil, err
						}
					}
					conn, _ := net.Pipe()
					return conn, nil
				}
				conn, err := d.connect("there:1")
				require.NoError(t, err)
				require.NotNil(t, conn)
			})
		})
	}
}

// A greeting waits for room, at most for the timeout.
func TestGreetingWaitsForRoom(t *testing.T) {
	greeting := []byte("here I am")
	synctest.Test(t, func(t *testing.T) {
		d := newDialer(clock.System{}, time.Second)
		defer d.close()
		one, other := net.Pipe()
		begun := time.Now()
		go func() {
			time.Sleep(time.Second / 2)
			_, _ = io.ReadFull(other, make([]byte, len(greeting)))
		}()
		require.NoError(t, d.greet(one, greeting))
		require.Equal(t, time.Second/2, time.Since(begun))
		require.ErrorContains(t, d.greet(one, greeting), "the system takes no bytes for 1s")
		require.Equal(t, time.Second+time.Second/2, time.Since(begun))
	})
	synctest.Test(t, func(t *testing.T) {
		d := newDialer(clock.System{}, time.Second)
		one, _ := net.Pipe()
		go d.cancel()
		require.Error(t, d.greet(one, greeting))
		d.close()
	})
}
