package lobby

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/meet/internal/contact"
)

// helloOfRank is what rank 1 of 2 says, behind its opening, where ranks meet.
var helloOfRank = []byte("\x00\x00\x00\x01\x00\x00\x00\x02\x00\x01j\x00\x00\x00\x03a:1\x00\x00")

// FuzzGuest: every guest that is read can be written.
func FuzzGuest(f *testing.F) {
	f.Add(appendGuest(nil, &Guest{Name: "node7", Word: "no multicast"}))
	f.Add(helloOfRank)
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := readGuest(bytes.NewReader(b))
		if err != nil {
			return
		}
		again, err := readGuest(bytes.NewReader(appendGuest(nil, &g)))
		if err != nil {
			require.Greater(t, max(len(g.Name), len(g.Word)-MaxWord+MaxName), MaxName, "replaced letters are longer")
			return
		}
		require.Equal(t, g, again)
	})
}

// FuzzPlace: everything that is read is a valid place, or an error.
func FuzzPlace(f *testing.F) {
	f.Add(appendPlace(nil, &Place{Rank: 1, Size: 2, Job: "j", Note: "tcp"}))
	f.Add(appendPlace(appendProbe(appendProbe(nil, 0), 100), &Place{Rank: 1, Size: 2}))
	f.Add(appendPlace(appendWelcome(nil), &Place{Rank: 1, Size: 2}))
	f.Add(contact.AppendStatus(nil, "all that were expected have come"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := readPlace(bufio.NewReader(bytes.NewReader(b)), io.Discard, func() {})
		if err != nil {
			return
		}
		require.Positive(t, p.Rank)
		require.Less(t, p.Rank, p.Size)
		require.True(t, bytes.Contains(b, appendPlace(nil, p)), "behind probes")
	})
}

// A rank at a lobby is recognized as such.
func TestRanksAreNoGuests(t *testing.T) {
	_, err := readGuest(bytes.NewReader(helloOfRank))
	require.EqualError(t, err, "this host waits for processes without a rank: ranks cannot meet yet")
}

// A probe that is too long is an error, and takes no memory.
func TestProbeOfAnyLength(t *testing.T) {
	long := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(contact.AppendStatus(nil, ""), noRank), 1<<31)
	_, err := readPlace(bufio.NewReader(bytes.NewReader(long)), io.Discard, func() {})
	require.EqualError(t, err, "the host sends a probe of 2147483648 bytes")
}

// A guest that answers without a probe counts as gone.
func TestAnswersUnasked(t *testing.T) {
	here, there := net.Pipe()
	v := &visitor{conn: here, heard: make(chan struct{}, 1)}
	v.asked.Add(1)
	go there.Write([]byte{heard, heard, met})
	require.False(t, v.listen())
	require.Len(t, v.heard, 1, "it has answered once")
	there.Close()
}
