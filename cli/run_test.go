package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

func TestSpell(t *testing.T) {
	require.Equal(t, "999 ns", spell(999))
	require.Equal(t, "1.00 µs", spell(1000))
	require.Equal(t, "12.3 ms", spell(12345*time.Microsecond))
	require.Equal(t, "123 s", spell(123*time.Second))
	require.Equal(t, "1.50 GB/s", rate(1.5e9))
	require.Equal(t, "0 B/s", rate(0))
}

// TestRefutedScheduleIsNotRun checks that a schedule which does not verify is not run. The
// counterexample is printed, and the exit code is 1.
func TestRefutedScheduleIsNotRun(t *testing.T) {
	s, err := ir.ParseText(strings.NewReader("schedule bcast/hole ranks=2 root=0 chunks=1\nrank 0\n  done enter\nrank 1\n  done c0\n"))
	require.NoError(t, err)
	_, err = prove(s)
	var out bytes.Buffer
	err = (&session{flags: &runFlags{}, std: terminal.Stdio{Out: &out}}).refuted(err)
	var no *terminal.NoError
	require.ErrorAs(t, err, &no)
	require.Regexp(t, `coverage +FAIL`, out.String())
}

// flip changes one byte of one frame that a rank receives.
type flip struct {
	wire.Transport
	done *bool
}

func (f *flip) Poll(s wire.Sink) bool { return f.Transport.Poll(&flipSink{s, f.done}) }

type flipSink struct {
	wire.Sink
	done *bool
}

func (s *flipSink) Arrived(h *wire.Header, body []byte) {
	if len(body) > 0 && !*s.done {
		*s.done = true
		body[len(body)/2] ^= 1
	}
	s.Sink.Arrived(h, body)
}

// TestFlippedBitIsNotAccepted flips one bit at one rank in one iteration, which makes exit code 1.
func TestFlippedBitIsNotAccepted(t *testing.T) {
	size, ranks := byteSize(10000), &source.Ranks{Lo: 3, Hi: 3}
	for _, flipped := range []bool{false, true} {
		var out bytes.Buffer
		cmd := newCollectiveCmd(*rowOf(schedule.Bcast), &kinds.message)
		cmd.data.size.Size = &size
		cmd.runFlags = runFlags{Ranks: ranks, Algorithm: "bcast/chain", Transport: overMem, Timeout: time.Minute}
		s := &session{flags: &cmd.runFlags, std: terminal.Stdio{Out: &out, Err: io.Discard, Getenv: os.Getenv}}
		r, err := cmd.prepare(t.Context(), s)
		require.NoError(t, err)
		s.Wrap = func(tr wire.Transport) wire.Transport {
			if tr.Rank() != 2 {
				return tr
			}
			done := !flipped
			return &flip{Transport: tr, done: &done}
		}
		err = s.finish(t.Context(), r)
		if !flipped {
			require.NoError(t, err)
			require.Contains(t, out.String(), "at every rank after every broadcast")
			continue
		}
		var no *terminal.NoError
		require.ErrorAs(t, err, &no)
		require.ErrorContains(t, err, "wrong data: found at 1 rank; rank 2: iteration 0: SHA-256 is ")
		require.Contains(t, out.String(), "rank 2: WRONG 1 times")
		require.NotContains(t, out.String(), "at every rank after every broadcast")
	}
}

// TestTimeLimit checks that --timeout ends ranks that would run on.
func TestTimeLimit(t *testing.T) {
	var out, errs bytes.Buffer
	code := schedgen.Run(context.Background(), strings.Fields("run barrier -p 3 --transport mem --iterations 1000000000 --timeout 100ms"),
		terminal.Stdio{Out: &out, Err: &errs, Getenv: os.Getenv})
	require.Equal(t, terminal.No, code)
	require.Contains(t, errs.String(), "not finished after --timeout=100ms")
}
