package notice

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/clock"
)

// Warnings come after 2, 6, 14, 30, 62, 122 … seconds.
func TestWait(t *testing.T) {
	var m clock.Manual
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}}))
	asked := 0
	stop := Wait(&m, log, func() string {
		if asked++; asked == 2 {
			return "" // nothing to log
		}
		return fmt.Sprint("answer ", asked)
	})
	for _, c := range []struct {
		pass time.Duration
		want string
	}{
		{First - 1, ""},
		{1, "msg=\"answer 1\" waited=2s\n"},
		{4 * time.Second, ""},
		{8 * time.Second, "msg=\"answer 3\" waited=14s\n"},
		{16*time.Second - 1, ""},
		{1, "msg=\"answer 4\" waited=30s\n"},
		{32 * time.Second, "msg=\"answer 5\" waited=1m2s\n"},
		{time.Minute, "msg=\"answer 6\" waited=2m2s\n"},
		{time.Minute, "msg=\"answer 7\" waited=3m2s\n"},
	} {
		m.Advance(c.pass)
		require.Equal(t, c.want, out.String())
		out.Reset()
	}
	stop()
	m.Advance(time.Hour)
	require.Empty(t, out.String())
	require.Equal(t, 7, asked)
}

func TestWaitWithoutLog(t *testing.T) {
	var m clock.Manual
	stop := Wait(&m, nil, func() string { panic("nobody is to be told") })
	m.Advance(time.Hour)
	stop()
}
