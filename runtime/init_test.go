package runtime

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/test/porttest"
)

func TestJoinTimeout(t *testing.T) {
	for _, c := range []struct {
		cfg  time.Duration
		env  string
		want time.Duration
	}{
		{0, "", DefaultJoinTimeout}, {0, "90s", 90 * time.Second}, {0, "none", 0}, {0, "0", 0}, {0, "0s", 0},
		{time.Second, "90s", time.Second}, {-1, "90s", -1}, {time.Second, "", time.Second},
	} {
		got, err := (&Config{JoinTimeout: c.cfg}).joinTimeout(func(string) string { return c.env })
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%+v", c)
	}
	for _, v := range []string{"x", "90", "-1s"} {
		_, err := new(Config).joinTimeout(func(string) string { return v })
		require.ErrorContains(t, err, "SCHEDGEN_JOIN_TIMEOUT is")
	}
}

// A rank whose coordinator does not answer says why after two seconds, and gives up when its time
// is over. The error gives the same reason.
func TestJoinEnds(t *testing.T) {
	addr := porttest.Hold(t)
	for name, value := range map[string]string{"SCHEDGEN_RANK": "1", "SCHEDGEN_SIZE": "2", "SCHEDGEN_COORDINATOR": addr, "SCHEDGEN_TRANSPORT": "tcp", "SCHEDGEN_JOIN_TIMEOUT": "10s"} {
		t.Setenv(name, value)
	}
	var out bytes.Buffer // of the joining rank; read after it has ended
	var m clock.Manual
	done := make(chan error, 1)
	go func() {
		_, err := Join(context.Background(), Config{Clock: &m, Observe: Observe{Log: slog.New(plain{&out})}})
		done <- err
	}()
	var err error
	for err == nil {
		select {
		case err = <-done:
		default:
			m.Advance(10 * time.Millisecond)
			time.Sleep(time.Millisecond) // the system answers in its own time
		}
	}
	const refused = "rank 0 has not come: reach the coordinator at "
	require.ErrorContains(t, err, refused+addr)
	require.ErrorContains(t, err, "connection refused")
	require.ErrorContains(t, err, "the ranks have not met within 10s, which SCHEDGEN_JOIN_TIMEOUT or Config.JoinTimeout sets")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Contains(t, out.String(), "schedgen: rank 1 of 2 waits: "+refused+addr)
}
