package cast

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func local(t *testing.T) *net.TCPListener {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

// stand starts a receiver that stands, and returns its address.
func stand(t *testing.T, o JoinOptions) string {
	t.Helper()
	l := local(t)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Stand(ctx, l, o) }()
	t.Cleanup(func() {
		stop()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
	return l.Addr().String()
}

// Receivers that stand on hosts get one cast after the other. The result names a receiver with
// another key, a busy one and another server, with reasons.
func TestStand(t *testing.T) {
	t.Parallel()
	key, other := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	one, two, three := t.TempDir(), t.TempDir(), t.TempDir()
	hosts := []string{
		stand(t, JoinOptions{Link: Link{Key: key}, To: one, Then: "cp file again"}),
		stand(t, JoinOptions{Link: Link{Key: key}, To: two}),
	}
	stranger := stand(t, JoinOptions{Link: Link{Key: other}, To: three})
	busy := local(t)
	go func() {
		for {
			conn, err := busy.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, busyWord+"\n")
			_, _ = io.Copy(io.Discard, conn)
			conn.Close()
		}
	}()
	for i := range 2 {
		path := filepath.Join(t.TempDir(), "file")
		text := strings.Repeat(fmt.Sprint("words ", i), 1<<16)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		p, err := Files(t.Context(), path)
		require.NoError(t, err)
		all := hosts
		if i == 1 {
			all = append(all, stranger, busy.Addr().String())
		}
		r, err := To(t.Context(), local(t), all, p, HostOptions{Options: Options{Link: Link{Transport: Chain, Key: key}, Silence: -1}, Call: StandPort})
		require.NoError(t, err)
		require.Len(t, r.Receivers, len(all))
		for j, each := range r.Receivers {
			require.Equal(t, j < 2, each.Done, "%+v", each)
		}
		if i == 1 {
			require.Contains(t, r.Receivers[2].Reason, "not the same key")
			require.Equal(t, "its receiver is busy with other casts", r.Receivers[3].Reason)
		}
		for _, name := range []string{filepath.Join(one, "file"), filepath.Join(one, "again"), filepath.Join(two, "file")} {
			got, err := os.ReadFile(name)
			require.NoError(t, err)
			require.Equal(t, text, string(got))
		}
	}
	left, err := os.ReadDir(three)
	require.NoError(t, err)
	require.Empty(t, left)
}

// Without a key, no receiver stands, and no receiver is called.
func TestStandNeedsKey(t *testing.T) {
	require.ErrorIs(t, Stand(t.Context(), nil, JoinOptions{}), errNoKey)
	_, err := To(t.Context(), nil, []string{"a"}, nil, HostOptions{Call: StandPort})
	require.ErrorIs(t, err, errNoKey)
}

// A stranger gets no answer.
func TestNotACall(t *testing.T) {
	for _, line := range []string{"GET / HTTP/1.1\n", callWord + "0 a\n", callWord + "70000 a\n", callWord + "1 \n", callWord + "1\n", callWord + "1 " + strings.Repeat("x", 999) + "\n", strings.Repeat("x", 5000), "", "x"} {
		a, b := net.Pipe()
		go func() {
			_, _ = io.WriteString(a, line)
			a.Close()
		}()
		_, _, err := readCall(b, bufio.NewReaderSize(b, maxCall))
		require.Error(t, err, line)
		require.Equal(t, line == "", errors.Is(err, errNoCall), "only one that says nothing is none")
		b.Close()
	}
}
