package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

func TestByteSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "0KiB": 0, "100": 100, "100B": 100, "64KiB": 65536, "1MiB": 1 << 20, "2GiB": 2 << 30,
		"3kB": 3000, "3KB": 3000, "3MB": 3e6, "3GB": 3e9,
	} {
		var s byteSize
		require.NoError(t, s.UnmarshalText([]byte(text)), text)
		require.Equal(t, want, int64(s), text)
	}
	for _, text := range []string{"", "KiB", "-1", "1.5MiB", "1XB", "1K", "1 KiB", "99999999999GiB", "99999999999999999999"} {
		var s byteSize
		require.Error(t, s.UnmarshalText([]byte(text)), text)
	}
	require.Equal(t, "16 MiB", byteSize(16<<20).String())
	require.Equal(t, "1025 B", byteSize(1025).String())
	require.Equal(t, "0 B", byteSize(0).String())
}

func TestSpell(t *testing.T) {
	require.Equal(t, "999 ns", spell(999))
	require.Equal(t, "1.00 µs", spell(1000))
	require.Equal(t, "12.3 ms", spell(12345*time.Microsecond))
	require.Equal(t, "123 s", spell(123*time.Second))
	require.Equal(t, "1.50 GB/s", rate(1.5e9))
	require.Equal(t, "0 B/s", rate(0))
}

// TestRootCause checks the order of causes: a process that died, an error of the rank itself, no
// answer, the time being over, the loss of another rank, and an aborted run.
func TestRootCause(t *testing.T) {
	aborted := newFailure(0, &runtime.RankError{Rank: 3, Err: runtime.ErrAborted})
	lost := newFailure(1, &runtime.RankError{Rank: 3, Err: runtime.ErrPeerLost})
	own := newFailure(2, io.ErrShortWrite)
	died := &failure{Rank: 3, Cause: causeDied, Text: "killed"}

	var no *noError
	err := rootCause([]*failure{aborted, lost, own, died})
	require.ErrorAs(t, err, &no)
	require.Equal(t, "rank 3: killed\n3 other ranks gave up with it", err.Error())
	require.Equal(t, "rank 2: short write\n2 other ranks gave up with it", rootCause([]*failure{lost, aborted, own}).Error())
	require.Contains(t, rootCause([]*failure{aborted, lost}).Error(), "rank 1: ")

	late := newFailure(4, fmt.Errorf("barrier: %w", &lateError{"not finished"}))
	mute := &failure{Rank: 5, Cause: causeMute, Text: "killed"}
	require.Contains(t, rootCause([]*failure{late, mute, aborted}).Error(), "rank 5: killed\n2 other")
	require.Contains(t, rootCause([]*failure{late, mute, own}).Error(), "rank 2: short write\n2 other")
	require.Contains(t, rootCause([]*failure{aborted, lost, late}).Error(), "rank 4: barrier: not finished\n2 other")

	bad := newFailure(5, inputError{os.ErrNotExist})
	require.False(t, errors.As(rootCause([]*failure{bad, aborted}), &no), "bad input is not an answer")
	require.NoError(t, rootCause(nil))
}

func TestMessageFindsAChangedByte(t *testing.T) {
	buf := bytes.Repeat([]byte{7}, 1000)
	m := &message{&job{Sum: hexSum(buf)}, buf}
	var wrong findings
	m.check(&wrong, 0)
	require.Zero(t, wrong)
	buf[999] ^= 1
	m.check(&wrong, 4)
	m.check(&wrong, 5)
	require.Equal(t, 2, wrong.Count)
	require.Contains(t, wrong.First, "iteration 5:")
}

// TestSpoil checks that all bytes are overwritten, with another byte in each iteration.
func TestSpoil(t *testing.T) {
	buf := make([]byte, 1001)
	seen := map[string]bool{}
	for i := -1; i < 4; i++ {
		spoil(buf, i)
		require.Equal(t, 1001, bytes.Count(buf, buf[:1]), "all bytes are overwritten")
		require.False(t, seen[string(buf)], "and differ from those of the iterations before")
		seen[string(buf)] = true
	}
	spoil(nil, 0)
}

func TestCountersFindAnEarlyLeaver(t *testing.T) {
	f, err := counterFile(3)
	require.NoError(t, err)
	c, err := mapCounters(f, 3)
	require.NoError(t, err)
	var wrong findings
	all := []entries{{c, 0}, {c, 1}, {c, 2}}
	for _, e := range all {
		e.prepare(6)
	}
	all[1].check(&wrong, 6)
	require.Zero(t, wrong)
	all[1].prepare(7)
	all[2].prepare(7)
	all[1].check(&wrong, 7)
	require.Equal(t, 1, wrong.Count)
	require.Equal(t, "rank 1 left barrier 8 before rank 0 had entered it (it had entered 7)", wrong.First)
}

func TestReceiverFindsWhatIsWrong(t *testing.T) {
	j := &job{Rank: 0, Messages: 3, Size: 100, Seed: 5, Params: schedule.Params{Ranks: 3}}
	msg := func(origin, n int) runtime.Message {
		return runtime.Message{Origin: origin, Seq: uint64(n), Data: bytes.Clone(newPayload(j).make(origin, n))}
	}
	good := []runtime.Message{msg(1, 0), msg(2, 0), msg(2, 1), msg(1, 1), msg(1, 2), msg(2, 2)}
	changed := msg(1, 1)
	changed.Data[99] ^= 1
	for name, c := range map[string]struct {
		extra []runtime.Message
		at    int
		want  string
	}{
		"good":         {nil, 0, ""},
		"twice":        {[]runtime.Message{msg(1, 0)}, 1, "message 0 of origin 1 in place of 1"},
		"overtaken":    {[]runtime.Message{msg(2, 1)}, 1, "message 1 of origin 2 in place of 0"},
		"one too many": {[]runtime.Message{msg(2, 3)}, 6, "more than 3 messages of origin 2"},
		"changed":      {[]runtime.Message{changed}, 3, "message 1 of origin 1 is not what was published"},
		"its own":      {[]runtime.Message{msg(0, 0)}, 0, "a message of origin 0"},
	} {
		t.Run(name, func(t *testing.T) {
			in := newReceiver(j)
			all := append(append(append([]runtime.Message{}, good[:c.at]...), c.extra...), good[c.at:]...)
			for _, m := range all {
				in.take(m)
			}
			require.Equal(t, c.want, in.wrong.First)
			require.Equal(t, len(c.extra), -in.left())
		})
	}
}

func TestMessagesDiffer(t *testing.T) {
	p := newPayload(&job{Size: 32, Seed: 1})
	seen := map[string]bool{}
	for origin := range 3 {
		for n := range 3 {
			seen[string(p.make(origin, n))] = true
		}
	}
	require.Len(t, seen, 9)
}

// TestInputThatChanges checks that a file which changes between two reads is noticed.
func TestInputThatChanges(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	for what, after := range map[string]string{"grows": "abcdef", "shrinks": "ab", "differs": "abX"} {
		require.NoError(t, os.WriteFile(name, []byte("abc"), 0o666))
		in, err := openInput(name)
		require.NoError(t, err)
		sum, err := in.sum()
		require.NoError(t, err)
		buf := make([]byte, in.size)
		require.NoError(t, in.load(buf, sum), what)
		require.Equal(t, "abc", string(buf))
		require.NoError(t, os.WriteFile(name, []byte(after), 0o666))
		require.ErrorContains(t, in.load(buf, sum), "changed while it was read", what)
		require.NoError(t, in.close())
	}
}

// TestRefutedScheduleIsNotRun checks that a schedule which does not verify is not run. The
// counterexample is printed, and the exit code is 1.
func TestRefutedScheduleIsNotRun(t *testing.T) {
	s, err := ir.ParseText(strings.NewReader("schedule bcast/hole ranks=2 root=0 chunks=1\nrank 0\n  done enter\nrank 1\n  done c0\n"))
	require.NoError(t, err)
	_, err = prove(s)
	var out bytes.Buffer
	err = (&session{flags: &runFlags{}, std: stdio{Out: &out}}).refuted(err)
	var no *noError
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
	size, ranks := byteSize(10000), &rankRange{3, 3}
	for _, flipped := range []bool{false, true} {
		var out bytes.Buffer
		cmd := newCollectiveCmd(*rowOf(schedule.Bcast), &kinds.message)
		cmd.data.size.Size = &size
		cmd.runFlags = runFlags{Ranks: ranks, Algorithm: "bcast/chain", Transport: overMem, Timeout: time.Minute}
		s := &session{flags: &cmd.runFlags, std: stdio{Out: &out, Err: io.Discard, Getenv: os.Getenv}}
		r, err := cmd.prepare(t.Context(), s)
		require.NoError(t, err)
		s.wrap = func(tr wire.Transport) wire.Transport {
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
		var no *noError
		require.ErrorAs(t, err, &no)
		require.ErrorContains(t, err, "wrong data: found at 1 rank; rank 2: iteration 0: SHA-256 is ")
		require.Contains(t, out.String(), "rank 2: WRONG 1 times")
		require.NotContains(t, out.String(), "at every rank after every broadcast")
	}
}

// TestTimeLimit checks that --timeout ends ranks that would run on.
func TestTimeLimit(t *testing.T) {
	var out, errs bytes.Buffer
	code := run(context.Background(), strings.Fields("run barrier -p 3 --transport mem --iterations 1000000000 --timeout 100ms"),
		stdio{Out: &out, Err: &errs, Getenv: os.Getenv})
	require.Equal(t, exitNo, code)
	require.Contains(t, errs.String(), "not finished after --timeout=100ms")
}
