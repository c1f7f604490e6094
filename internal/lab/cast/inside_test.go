//go:build linux

package cast

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/lab/internal/options"
	"github.com/schedgen/schedgen/internal/lab/internal/program"
	"github.com/schedgen/schedgen/internal/lab/internal/units"
	"github.com/schedgen/schedgen/internal/test/heavy"
)

func TestTables(t *testing.T) {
	const counters = "Inter-| Receive\n face |bytes packets\n    lo: 1 2 3 4 5 6 7 8 9\n   v3: 11 0 0 0 0 0 0 0 22 0\n"
	received, sent, err := parseCounters(counters, "v3")
	require.NoError(t, err)
	require.Equal(t, []int64{11, 22}, []int64{received, sent})
	_, _, err = parseCounters(counters, "v33")
	require.EqualError(t, err, "no counters of v33")
	const sockets = "  sl  local_address rem_address   st\n   0: 00000000:2328 00000000:0000 07 …\n"
	require.True(t, socket{"udp", 9000}.isIn(sockets))
	require.False(t, socket{"udp", 9001}.isIn(sockets))
}

// TestCourse checks that a course is over when the senders have ended and no receiver is awaited.
func TestCourse(t *testing.T) {
	c := newCourse(cell{Hosts: 3, Fault: faultDies})
	c.running = 1
	require.Equal(t, []int{1, 2}, c.lacking())
	c.recordEnd(end{i: 1, err: io.EOF}, time.Second)
	c.recordEnd(end{i: 3, err: io.EOF}, time.Second)
	c.at[2] = time.Second
	require.False(t, c.isOver())
	c.recordEnd(end{sender: true, err: io.ErrUnexpectedEOF}, 2*time.Second)
	require.True(t, c.isOver())
	require.Equal(t, 2*time.Second, c.ended)
	require.Equal(t, io.ErrUnexpectedEOF, c.senders)
	require.Equal(t, []int{1, 2, 3}, newCourse(cell{Hosts: 3, Fault: faultSlow}).lacking())
}

func TestArrivals(t *testing.T) {
	dir := t.TempDir()
	in := func(host int) string { return filepath.Join(dir, fmt.Sprint(host)) }
	for host := 1; host <= 2; host++ {
		require.NoError(t, os.Mkdir(in(host), 0o777))
	}
	a, err := watch(2, in)
	require.NoError(t, err)
	came := make(chan int, 4)
	done := make(chan error, 1)
	go func() { done <- a.listen(func(host int) { came <- host }) }()
	require.NoError(t, os.WriteFile(filepath.Join(in(2), "part"), nil, 0o666))
	require.NoError(t, os.Rename(filepath.Join(in(2), "part"), filepath.Join(in(2), fileName)))
	require.Equal(t, 2, <-came)
	require.NoError(t, os.WriteFile(filepath.Join(in(1), fileName), nil, 0o666))
	require.Equal(t, 1, <-came)
	require.NoError(t, a.close())
	require.NoError(t, <-done)
	_, err = watch(3, in)
	require.ErrorContains(t, err, "watch "+in(3))
	require.ErrorContains(t, a.decode(append(make([]byte, 12), 9, 9, 0, 0), nil), "events were lost")
}

func TestLimited(t *testing.T) {
	l := new(limited)
	for range 3 {
		_, err := l.Write(bytes.Repeat([]byte("x"), mostText))
		require.NoError(t, err)
	}
	_, err := l.Write([]byte("the end\n"))
	require.NoError(t, err)
	require.Len(t, l.String(), mostText)
	require.True(t, strings.HasSuffix(l.String(), "xthe end\n"))
	require.Equal(t, "b", lastLine("a\r b \n\r\n"))
	require.Empty(t, lastLine("\n"))
}

// within returns a verb with a time limit for each measurement.
func within(limit time.Duration) *Verb {
	return &Verb{Measuring: options.Measuring{LimitFlag: options.LimitFlag{Limit: limit}}}
}

// network builds a network. It skips the test if the machine allows none.
func network(t *testing.T) *built {
	heavy.Needs(t, heavy.Namespaces)
	if err := (&Verb{Loss: []units.PerMille{0}}).missing(); err != nil {
		t.Skip(err)
	}
	if os.Getuid() != 0 {
		t.Skip("only root can make networks")
	}
	return &built{program.Programs{Dir: t.TempDir()}, map[int]*payload{}}
}

// TestMeasure checks that a measurement records the outcome of a tool, whatever the tool does, and
// ends all processes that it has started.
func TestMeasure(t *testing.T) {
	t.Parallel()
	b := network(t)
	of := func(name string) trial { return trial{cell{1 << 16, 2, 0, 0, faultNone}, name, 1} }
	for name, want := range map[string]string{
		"copies":   "",
		"corrupts": "host 1: has 2 bytes that are not those of the sender",
		"fails":    "host 1: exit status 7: no room",
		"hangs":    "did not end after 1 s",
	} {
		v := within(10 * time.Minute)
		if name == "hangs" {
			v.Limit = time.Second
		}
		row, err := b.measure(t.Context(), v, of(name))
		require.NoError(t, err)
		require.Equal(t, want, row.Failed, name)
		require.Equal(t, want == "", row.seconds() > 0, name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := b.measure(ctx, within(time.Hour), of("hangs"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// TestTools checks that the installed tools bring a file to hosts with shaped links, and that
// schedgen also does so if a host dies.
func TestTools(t *testing.T) {
	t.Parallel()
	b := network(t)
	require.NoError(t, runPreparation(t.Context(), []string{"go", "build", "-o", b.Path(program.Cast), filepath.Join("..", "..", "..", program.Cast)}))
	v := within(10 * time.Minute)
	for _, name := range []string{ours, "udpcast", "uftp", "scp"} {
		if err := (&Verb{Loss: []units.PerMille{0}, Tool: []string{name}}).missing(); err != nil {
			t.Log(err)
			continue
		}
		row, err := b.measure(t.Context(), v, trial{cell{mib, 2, 100e6, 0, faultNone}, name, 1})
		require.NoError(t, err)
		require.Empty(t, row.Failed, name)
		require.Greater(t, row.Ended, row.wire(), name)
		require.Greater(t, row.Received, int64(mib), name)
		require.Positive(t, row.ReceiversMemory, name)
	}
	row, err := b.measure(t.Context(), v, trial{cell{4 * mib, 2, 100e6, 0, faultDies}, "schedgen-tcp", 1})
	require.NoError(t, err)
	require.Empty(t, row.Failed)
	require.Positive(t, row.Healthy)
	require.Equal(t, "tcp", row.Way)
}
