package meet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/internal/seal"
)

var testKey = []byte(strings.Repeat("k", seal.MinKey))

// keyed gives a rank the key.
func keyed(c *Config) { c.Key = testKey }

// Ranks with one key meet, everywhere in the tree, and share a session that no other meeting has.
func TestRanksWithAKeyMeet(t *testing.T) {
	var tags [][seal.TagLen]byte
	for _, encrypt := range []bool{false, true, false} {
		both(t, 20, func(t *testing.T, h *hall) {
			h.edit = func(c *Config) {
				c.Key, c.Encrypt = testKey, encrypt
				c.Rand = bytes.NewReader(make([]byte, 16)) // always the same identity
				c.Blob = bytes.Repeat([]byte{byte(c.Rank)}, MaxBlob)
			}
			h.all(t.Context())
			h.met()
			for _, m := range h.tabs {
				require.Equal(t, h.tabs[0].Blobs, m.Blobs)
			}
			tag := h.tabs[0].Session.Prove([]byte("x"))
			require.NotContains(t, tags, tag)
			tags = append(tags, tag)
		})
	}
}

// A rank with another key does not join, wherever it is in the tree, and gets an error; the others
// name it as absent. Where it asks rank 0 the way, they also say that a rank with another key was
// there.
func TestAnotherKeyDoesNotJoin(t *testing.T) {
	other := bytes.Repeat([]byte("x"), seal.MinKey)
	for name, c := range map[string]struct {
		edit        func(*Config)
		told, rank0 string
	}{
		"another key": {func(c *Config) { c.Key = other }, "WHO has not the same key", "not the same key"},
		"no key":      {func(c *Config) { c.Key = nil }, "a rank has no key, the one that it has come to has a key", "a rank has no key"},
		"encryption": {func(c *Config) { c.Encrypt = true },
			"WHO, which has not proved the key, says: a rank has a key, and encryption, the one that it has come to has a key", "and encryption"},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, 20, func(t *testing.T, h *hall) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				h.edit = keyed
				h.all(ctx, 17)
				h.come(ctx, 17, c.edit)
				h.wg.Wait()
				host := "the coordinator"
				if h.known {
					host = "rank 2"
				}
				for rank, err := range h.errs {
					switch {
					case rank == 17:
						require.Less(t, h.ends[rank], time.Second)
						require.ErrorContains(t, err, strings.Replace(c.told, "WHO", host, 1))
					case h.known:
						require.ErrorContains(t, err, "rank 17 has not come", "rank %d", rank)
					default:
						require.ErrorContains(t, err, "rank 17 has not come", "rank %d", rank)
						require.ErrorContains(t, err, c.rank0, "rank %d", rank)
					}
				}
			})
		})
	}
}

// A rank 0 without the key is not accepted.
func TestRankZeroWithoutTheKey(t *testing.T) {
	both(t, 2, func(t *testing.T, h *hall) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		h.come(ctx, 0, nil)
		h.come(ctx, 1, keyed)
		h.wg.Wait()
		require.ErrorContains(t, h.errs[1], "a rank has a key, the one that it has come to has no key")
		require.ErrorContains(t, h.errs[0], "rank 1 has not come")
	})
}

// A process that accepts connections and says nothing is not rank 0, and does not use up a rank's
// time.
func TestCoordinatorThatProvesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		h := newHall(t, 2)
		l, err := h.net.host(0).Listen(ctx, meeting)
		require.NoError(t, err)
		defer l.Close()
		h.come(ctx, 1, keyed)
		h.wg.Wait()
		require.ErrorContains(t, h.errs[1], "rank 0 has not come: the coordinator has not answered: ")
		require.ErrorIs(t, h.errs[1], context.DeadlineExceeded)
	})
}

func TestBadKeysAreRefused(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Size: 1, Key: testKey[1:]}, "a key of 31 bytes"},
		{Config{Size: 1, Encrypt: true}, "encryption needs a key"},
	} {
		_, _, err := Meet(t.Context(), c.cfg)
		require.ErrorContains(t, err, c.want)
	}
}

// A recorded conversation is useless, whichever side it is replayed to.
func TestRecordedConversationsAreOfNoUse(t *testing.T) {
	var says, hears bytes.Buffer
	talk := func(key []byte, spoil func(net.Conn) net.Conn) (host, member error) {
		a, b := net.Pipe()
		var wg sync.WaitGroup
		wg.Go(func() {
			_, host = admitted(&Config{Key: testKey, mode: seal.Signed}, a)
			a.Close()
		})
		_, member = introduced(&Config{Key: key, mode: seal.Signed}, spoil(b), "rank 0")
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
	_, err := admitted(&Config{Key: testKey, mode: seal.Signed}, a)
	require.ErrorIs(t, err, errKey)
	b.Close()

	// To a member.
	a, b = net.Pipe()
	go func() {
		go io.Copy(io.Discard, b)
		b.Write(hears.Bytes())
	}()
	_, err = introduced(&Config{Key: testKey, mode: seal.Signed}, a, "rank 0")
	require.ErrorIs(t, err, errKey)
	b.Close()
}

// A process between two ranks that changes their conversation before it is sealed makes both find
// that the other side does not have the key, even if it tries to make each take the other for a
// rank of its own mode.
func TestChangedConversationsAreOfNoUse(t *testing.T) {
	const mode, nonce, status = openingLen - 1, openingLen, 2
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
			_, host = admitted(&Config{Key: testKey, mode: c.host}, a)
			a.Close()
		})
		_, member = introduced(&Config{Key: testKey, mode: c.member}, &spoilt{Conn: b, says: c.says, hears: c.hears}, "rank 0")
		b.Close()
		wg.Wait()
		if name == "nothing" {
			require.NoError(t, errors.Join(host, member))
			continue
		}
		require.ErrorIs(t, member, errKey, name)
		require.True(t, errors.Is(host, errKey) || name == "its proof" && host == nil, name)
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
	_, err := introduced(&Config{Key: testKey, mode: seal.Signed}, a, "rank 0")
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
	says := appendStatus(nil, "\x1b[2Jall is well\nrank 0: \xff\u202e")
	_, err := introduced(&Config{Key: testKey, mode: seal.Signed}, &scripted{in: bytes.NewReader(says)}, "rank 0")
	require.EqualError(t, err, "rank 0, which has not proved the key, says: �[2Jall is well�rank 0: ��")
}

// A process that has not proved the key has limited time at every point of the conversation, in
// virtual time.
func TestProvingHasABoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, 2)
		h.edit = keyed
		h.come(t.Context(), 0, nil)
		nonce := seal.NewNonce()
		opening := append(appendOpening(nil, seal.Signed), nonce[:]...)
		for _, said := range []int{0, 3, openingLen, openingLen + 5, len(opening)} {
			settle()
			conn, begun := h.connect(), time.Now()
			go conn.Write(opening[:said])
			_, err := io.ReadAll(conn)
			require.NoError(t, err)
			require.Equal(t, helloTime+lan, time.Since(begun), "%d bytes", said)
			conn.Close()
		}
		h.come(t.Context(), 1, nil)
		h.wg.Wait()
		require.NoError(t, errors.Join(h.errs...))
		require.EqualValues(t, 5, h.tabs[0].Refused)
	})
}

// FuzzOpening sends rank 0 messages that no holder of the key sends.
func FuzzOpening(f *testing.F) {
	nonce := seal.NewNonce()
	f.Add(append(appendOpening(nil, seal.Signed), make([]byte, seal.NonceLen+seal.ProofLen)...))
	f.Add(append(appendOpening(nil, seal.Plain), nonce[:]...))
	f.Add(appendOpening(nil, 77))
	f.Fuzz(func(t *testing.T, b []byte) {
		conn := &scripted{in: bytes.NewReader(b)}
		if _, err := admitted(&Config{Key: testKey, mode: seal.Signed}, conn); err == nil {
			t.Fatal("admitted without the key")
		}
		if _, err := introduced(&Config{Key: testKey, mode: seal.Signed}, &scripted{in: bytes.NewReader(b)}, "rank 0"); err == nil {
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
