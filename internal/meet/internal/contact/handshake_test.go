package contact

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/transport/seal"
)

var testKey = []byte(strings.Repeat("k", seal.MinKey))

// signed are the credentials of a process with the key.
var signed = Credentials{testKey, seal.Signed}

// A recorded conversation is useless, whichever side it is replayed to.
func TestRecordedConversationsAreOfNoUse(t *testing.T) {
	var says, hears bytes.Buffer
	talk := func(key []byte, spoil func(net.Conn) net.Conn) (host, member error) {
		a, b := net.Pipe()
		var wg sync.WaitGroup
		wg.Go(func() {
			_, host = signed.Admit(a)
			a.Close()
		})
		_, member = (&Credentials{key, seal.Signed}).Introduce(spoil(b), "rank 0")
		b.Close()
		wg.Wait()
		return host, member
	}
	host, member := talk(testKey, func(c net.Conn) net.Conn { return &tape{c, &says, &hears} })
	require.NoError(t, errors.Join(host, member))

	// To rank 0, which has another nonce.
	a, b := net.Pipe()
	go func() {
		go io.Copy(io.Discard, b)
		b.Write(says.Bytes())
	}()
	_, err := signed.Admit(a)
	require.ErrorIs(t, err, ErrKey)
	b.Close()

	// To a member.
	a, b = net.Pipe()
	go func() {
		go io.Copy(io.Discard, b)
		b.Write(hears.Bytes())
	}()
	_, err = signed.Introduce(a, "rank 0")
	require.ErrorIs(t, err, ErrKey)
	b.Close()
}

// A process between two ranks that changes their conversation before it is sealed makes both find
// that the other side does not have the key, even if it tries to make each take the other for a
// rank of its own mode.
func TestChangedConversationsAreOfNoUse(t *testing.T) {
	const status = 2
	nonce := len(AppendOpening(nil, seal.Signed))
	mode := nonce - 1
	for name, c := range map[string]struct {
		host, member seal.Mode
		says, hears  map[int]byte // by index: what is added to the byte
	}{
		"nothing":      {seal.Signed, seal.Signed, nil, nil},
		"encryption":   {seal.Signed, seal.Encrypted, map[int]byte{mode: 255}, nil},
		"none":         {seal.Encrypted, seal.Signed, map[int]byte{mode: 1}, nil},
		"its nonce":    {seal.Signed, seal.Signed, map[int]byte{nonce: 1}, nil},
		"host's nonce": {seal.Signed, seal.Signed, nil, map[int]byte{status: 1}},
		"its proof":    {seal.Signed, seal.Signed, nil, map[int]byte{status + seal.NonceLen: 1}},
	} {
		a, b := net.Pipe()
		var host, member error
		var wg sync.WaitGroup
		wg.Go(func() {
			_, host = (&Credentials{testKey, c.host}).Admit(a)
			a.Close()
		})
		_, member = (&Credentials{testKey, c.member}).Introduce(&spoilt{Conn: b, says: c.says, hears: c.hears}, "rank 0")
		b.Close()
		wg.Wait()
		if name == "nothing" {
			require.NoError(t, errors.Join(host, member))
			continue
		}
		require.ErrorIs(t, member, ErrKey, name)
		require.True(t, errors.Is(host, ErrKey) || name == "its proof" && host == nil, name)
	}
}

// spoilt is a connection on which bytes are changed.
type spoilt struct {
	net.Conn
	says, hears map[int]byte
	said, heard int
}

func (c *spoilt) Write(b []byte) (int, error) {
	b = bytes.Clone(b)
	c.said = spoil(b, c.said, c.says)
	return c.Conn.Write(b)
}

func (c *spoilt) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.heard = spoil(b[:n], c.heard, c.hears)
	return n, err
}

// spoil changes the bytes of b; the first has index at. It returns the next index.
func spoil(b []byte, at int, add map[int]byte) int {
	for i := range b {
		b[i] += add[at+i]
	}
	return at + len(b)
}

// A process that sends a rank's own messages back is no rank.
func TestMirrorIsNoRank(t *testing.T) {
	a, b := net.Pipe()
	go io.Copy(b, b)
	defer b.Close()
	_, err := signed.Introduce(a, "rank 0")
	require.Error(t, err)
	a.Close()
}

// tape records the traffic of a connection.
type tape struct {
	net.Conn
	says, hears *bytes.Buffer
}

func (c *tape) Write(b []byte) (int, error) {
	c.says.Write(b)
	return c.Conn.Write(b)
}

func (c *tape) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.hears.Write(b[:n])
	return n, err
}

// Text from a stranger in place of rank 0 cannot move the reader's cursor, or look like another
// line of the log.
func TestReasonsArePlainText(t *testing.T) {
	says := AppendStatus(nil, "\x1b[2Jall is well\nrank 0: \xff\u202e")
	_, err := signed.Introduce(&scripted{in: bytes.NewReader(says)}, "rank 0")
	require.EqualError(t, err, "rank 0, which has not proved the key, says: �[2Jall is well�rank 0: ��")
}

// The error names both versions and both programs. A guest that is too old to name its program is
// called an older program. The guest's own words are shown as plain text.
func TestVersionsAreNamed(t *testing.T) {
	for _, c := range []struct {
		version uint16
		build   string
		want    string
	}{
		{firstBuild - 1, "", fmt.Sprintf("a rank speaks version %d on the wire (an older program), but", firstBuild-1)},
		{Version + 1, "solver v9.1.0, go1.99", fmt.Sprintf("a rank speaks version %d on the wire (solver v9.1.0, go1.99), but", Version+1)},
		{Version + 1, "\x1b[2J", fmt.Sprintf("a rank speaks version %d on the wire (\ufffd[2J), but", Version+1)},
	} {
		opening := binary.BigEndian.AppendUint16(AppendOpening(nil, seal.Plain)[:4], c.version)
		if c.version >= firstBuild {
			opening = AppendBytes(opening, c.build)
		}
		_, err := signed.Admit(&scripted{in: bytes.NewReader(append(opening, "another form"...))})
		var other *VersionError
		require.ErrorAs(t, err, &other)
		require.EqualError(t, err, fmt.Sprintf("%s the process that it connects to speaks version %d (%s)", c.want, Version, build()))
	}
	require.Regexp(t, `^contact\.test .*go1`, build())
}

// FuzzOpening sends rank 0 messages that no holder of the key sends.
func FuzzOpening(f *testing.F) {
	nonce := seal.NewNonce()
	f.Add(append(AppendOpening(nil, seal.Signed), make([]byte, seal.NonceLen+seal.ProofLen)...))
	f.Add(append(AppendOpening(nil, seal.Plain), nonce[:]...))
	f.Add(AppendOpening(nil, 77))
	f.Fuzz(func(t *testing.T, b []byte) {
		conn := &scripted{in: bytes.NewReader(b)}
		if _, err := signed.Admit(conn); err == nil {
			t.Fatal("admitted without the key")
		}
		if _, err := signed.Introduce(&scripted{in: bytes.NewReader(b)}, "rank 0"); err == nil {
			t.Fatal("introduced to who has not the key")
		}
	})
}

// scripted is a connection whose other side sends given bytes.
type scripted struct {
	net.Conn
	in io.Reader
}

func (c *scripted) Read(b []byte) (int, error)  { return c.in.Read(b) }
func (c *scripted) Write(b []byte) (int, error) { return len(b), nil }

// A host's long reason is cut to what its guest reads.
func TestLongReasonsAreCut(t *testing.T) {
	status, err := ReadStatus(bytes.NewReader(AppendStatus(nil, strings.Repeat("x", 1<<17))))
	require.NoError(t, err)
	require.Len(t, status, MaxText)
}
