package status

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/runtime"
)

func TestSize(t *testing.T) {
	for bytes, want := range map[int]string{
		0: "0 B", 1000: "1000 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 1023 << 10: "1023 KiB", 1<<20 - 1: "1 MiB",
		16 << 20: "16 MiB", 123456789: "118 MiB", 1 << 40: "1 TiB", 1<<63 - 1: "8 EiB",
	} {
		require.Equal(t, want, sizeText(bytes), bytes)
	}
}

// TestRates: a rate is known from the second look on, if at least a second lies between the two.
func TestRates(t *testing.T) {
	var now time.Time
	r := &rates{now: func() time.Time { return now }}
	look := func(after time.Duration, operations, bytes uint64) string {
		now = now.Add(after)
		s := &runtime.State{Ended: operations}
		s.Totals.Transport.PutBytes = bytes
		return r.describe(s)
	}
	require.Equal(t, "1 operation", look(0, 1, 0))
	require.Equal(t, "5 operations; sent 4 MiB", look(999*time.Millisecond, 5, 4<<20), "too soon to tell")
	require.Equal(t, "9 operations, 4/s; sent 8 MiB, 4 MiB/s", look(1001*time.Millisecond, 9, 8<<20))
	require.Equal(t, "9 operations, 4/s; sent 8 MiB, 4 MiB/s", look(time.Millisecond, 9, 8<<20), "another one looks")
	require.Equal(t, "9 operations; sent 8 MiB", look(time.Hour, 9, 8<<20), "nothing goes on")
	for i := range 100 {
		now = now.Add(2 * time.Minute)
		r.describe(&runtime.State{Process: i})
		require.LessOrEqual(t, len(r.seen), 1, "what nobody looks at is forgotten")
	}
}

func TestProgress(t *testing.T) {
	for _, c := range []struct {
		o    core.OpState
		want string
	}{
		{core.OpState{Root: -1}, ""},
		{core.OpState{Root: 0, Bytes: 16 << 20, Chunks: 16, Missing: core.Missing{Chunks: 16}, Age: 1e9}, "0 B of 16 MiB (0 %)"},
		{core.OpState{Root: 0, Bytes: 16 << 20, Chunks: 16, Missing: core.Missing{Chunks: 4}, Age: 2e9}, "12 MiB of 16 MiB (75 %), 6 MiB/s"},
		{core.OpState{Root: 0, Bytes: 16 << 20, Chunks: 16, Age: 2e9}, "16 MiB of 16 MiB (100 %)"},
	} {
		require.Equal(t, c.want, progress(&runtime.Operation{OpState: c.o}))
	}
}

// TestNamed: a request that names another host is refused. A browser sends such a request when a
// foreign page has made its own name resolve to this host.
func TestNamed(t *testing.T) {
	s, err := Serve(t.Context(), "localhost:0", Handler(func(ctx context.Context) []Report { return nil }), "job.example", "Ranks")
	require.NoError(t, err)
	defer s.Close()
	for host, want := range map[string]int{
		s.Addr().String(): 200, "127.0.0.1": 200, "localhost:9000": 200, "LOCALHOST.": 200, "[::1]:80": 200, "10.77.0.1:80": 200,
		"job.example": 200, "JOB.example.:9000": 200, "ranks:80": 200, "a.job.example": 421, "job.example.com": 421,
		"rebind.example": 421, "rebind.example:9000": 421, "127.0.0.1.rebind.example": 421, "localhost.rebind.example": 421,
	} {
		for _, path := range []string{"/", "/status.json", "/metrics"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr().String()+path, nil)
			require.NoError(t, err)
			req.Host = host
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			res.Body.Close()
			require.Equal(t, want, res.StatusCode, "%s%s", host, path)
		}
	}
}
