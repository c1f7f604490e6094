package meet

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/meet/internal/contact"
)

func TestHelloRoundTrip(t *testing.T) {
	want := &hello{rank: 3, size: 9, job: "night", transport: "tcp", addr: "[::1]:5", blob: []byte("blob")}
	got, err := readHello(bytes.NewReader(appendHello(nil, want)))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// A guest of a lobby is recognized as such where ranks meet.
func TestGuestsAreNoRanks(t *testing.T) {
	_, err := readHello(strings.NewReader("\xff\xff\xff\xff\x00\x05node7"))
	require.ErrorIs(t, err, contact.ErrStranger)
}

func TestTableRoundTrip(t *testing.T) {
	want := &Meeting{ID: [16]byte{1, 2}, Addrs: []string{":1", "h:2"}, Blobs: [][]byte{{}, []byte("b")}}
	r := bytes.NewReader(appendTable(nil, want))
	status, err := contact.ReadStatus(r)
	require.NoError(t, err)
	require.Empty(t, status)
	got, err := readTable(r, 2)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Zero(t, r.Len())
}

func FuzzHello(f *testing.F) {
	f.Add(appendHello(nil, &hello{rank: 1, size: 2, job: "j", transport: "t", addr: "a:1", blob: []byte("x")}))
	f.Add(appendHello(nil, &hello{rank: 1, transport: "t", fault: "no paper"}))
	f.Add([]byte("GET / HTTP/1.0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := readHello(bytes.NewReader(b))
		if err != nil {
			require.ErrorIs(t, err, contact.ErrStranger)
			return
		}
		if h.size > 0 || h.fault == "" {
			require.Less(t, h.rank, h.size)
		}
		h.fault = "" // its unprintable characters have been replaced
		text := appendHello(nil, h)
		require.True(t, bytes.HasPrefix(b, text[:len(text)-len(contact.AppendStatus(nil, ""))]))
	})
}

func FuzzTable(f *testing.F) {
	f.Add(appendTable(nil, &Meeting{Addrs: []string{"a:1", "b:2"}, Blobs: [][]byte{nil, nil}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		if _, err := contact.ReadStatus(r); err != nil {
			return
		}
		tab, err := readTable(r, 2)
		if err != nil {
			require.False(t, errors.Is(err, io.EOF) && len(b) > 4*(contact.MaxText+MaxBlob))
			return
		}
		require.Len(t, tab.Addrs, 2)
		require.Len(t, tab.Blobs, 2)
	})
}

func TestReportsRoundTrip(t *testing.T) {
	for _, want := range []report{
		{kind: reportQuit, why: "late"}, {kind: reportFault, why: "no paper"}, {kind: reportReady}, {kind: reportAlive},
	} {
		said := []byte{want.kind}
		if want.why != "" {
			said = appendReport(nil, want.kind, want.why)
		}
		got, err := readReport(bytes.NewReader(said))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, bad := range [][]byte{{}, {0}, {99}, {reportQuit}, {reportFault, 0xFF, 0xFF}} {
		_, err := readReport(bytes.NewReader(bad))
		require.Error(t, err)
	}
}

func FuzzReport(f *testing.F) {
	f.Add(appendReport(nil, reportQuit, "late"))
	f.Add(appendReport(nil, reportFault, "no paper"))
	f.Add([]byte{reportReady})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := readReport(bytes.NewReader(b))
		if err != nil {
			return
		}
		require.True(t, r.why == "" || r.kind == reportQuit || r.kind == reportFault)
		require.LessOrEqual(t, len(r.why), contact.MaxText)
	})
}
