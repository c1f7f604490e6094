package meet

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHelloRoundTrip(t *testing.T) {
	want := &hello{rank: 3, size: 9, job: "night", door: ":6", addr: "[::1]:5", blob: []byte("blob")}
	got, err := readHello(bytes.NewReader(appendHello(nil, want)))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestTableRoundTrip(t *testing.T) {
	want := &Meeting{ID: [16]byte{1, 2}, Addrs: []string{":1", "h:2"}, Blobs: [][]byte{{}, []byte("b")}}
	r := bytes.NewReader(appendTable(nil, want))
	status, err := readStatus(r)
	require.NoError(t, err)
	require.Empty(t, status)
	got, err := readTable(r, 2)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Zero(t, r.Len())
}

func TestLongReasonsAreCut(t *testing.T) {
	status, err := readStatus(bytes.NewReader(appendStatus(nil, strings.Repeat("x", 1<<17))))
	require.NoError(t, err)
	require.Len(t, status, maxText)
}

func FuzzHello(f *testing.F) {
	f.Add(appendHello(nil, &hello{rank: 1, size: 2, job: "j", addr: "a:1", blob: []byte("x")}))
	f.Add([]byte("GET / HTTP/1.0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := readHello(bytes.NewReader(b))
		if err != nil {
			require.ErrorIs(t, err, errStranger)
			return
		}
		require.Less(t, h.rank, h.size)
		require.True(t, bytes.HasPrefix(b, appendHello(nil, h)))
	})
}

func FuzzTable(f *testing.F) {
	f.Add(appendTable(nil, &Meeting{Addrs: []string{"a:1", "b:2"}, Blobs: [][]byte{nil, nil}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		if _, err := readStatus(r); err != nil {
			return
		}
		tab, err := readTable(r, 2)
		if err != nil {
			require.False(t, errors.Is(err, io.EOF) && len(b) > 4*(maxText+MaxBlob))
			return
		}
		require.Len(t, tab.Addrs, 2)
		require.Len(t, tab.Blobs, 2)
	})
}

func TestNotesRoundTrip(t *testing.T) {
	var said []byte
	for _, want := range []note{
		{kind: noteCome, come: []entry{{1, "a:1", []byte("x")}, {9, "b:2", []byte{}}}},
		{kind: noteGone, rank: 9, why: "it hung up"},
		{kind: noteQuit, rank: 1, why: "late"},
		{kind: noteFault, why: "no paper"},
		{kind: noteReady},
		{kind: noteAlive},
	} {
		switch want.kind {
		case noteCome:
			said = appendCome(nil, want.come)
		case noteGone, noteQuit:
			said = appendOf(nil, want.kind, want.rank, want.why)
		case noteFault:
			said = appendFault(nil, want.why)
		default:
			said = []byte{want.kind}
		}
		got, err := readNote(bytes.NewReader(said), 1, 20)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, bad := range [][]byte{
		appendOf(nil, noteGone, 2, ""), appendOf(nil, noteQuit, 73, ""), appendCome(nil, []entry{{rank: 0}}),
		{noteCome, 0xFF, 0xFF, 0xFF, 0xFF}, {99}, {noteFault, 0xFF, 0xFF},
	} {
		_, err := readNote(bytes.NewReader(bad), 1, 20)
		require.Error(t, err)
	}
}

func FuzzNote(f *testing.F) {
	f.Add(appendCome(nil, []entry{{1, "a:1", []byte("x")}, {9, "b:2", nil}}))
	f.Add(appendOf(nil, noteGone, 9, "it hung up"))
	f.Add(appendFault(nil, "no paper"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := readNote(bytes.NewReader(b), 1, 20)
		if err != nil {
			return
		}
		for _, e := range n.come {
			require.True(t, isBelow(e.rank, 1))
		}
	})
}
