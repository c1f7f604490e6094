package rendezvous

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

// met has ranks meet over loopback, each with a configuration that edit may change.
func met(t *testing.T, size int, limit time.Duration, edit func(*Config)) ([]*Meeting, []error) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	list, errs := make([]*Meeting, size), make([]error, size)
	var wg sync.WaitGroup
	for rank := range size {
		cfg := Config{Rank: rank, Size: size, Job: "night", Key: testKey, Coordinator: l.Addr().String()}
		if rank == 0 {
			cfg.Listener = l
		}
		edit(&cfg)
		wg.Go(func() {
			m, data, err := Meet(ctx, cfg)
			if data != nil {
				err = errors.Join(err, data.Close())
			}
			list[rank], errs[rank] = m, err
		})
	}
	wg.Wait()
	return list, errs
}

// Ranks with one key meet, and share what no other meeting does.
func TestRanksWithAKeyMeet(t *testing.T) {
	var tags [][seal.TagLen]byte
	for _, encrypt := range []bool{false, true, false} {
		list, errs := met(t, 5, time.Minute, func(c *Config) {
			c.Encrypt = encrypt
			c.Rand = bytes.NewReader(make([]byte, 16)) // one identity
			c.Blob = bytes.Repeat([]byte{byte(c.Rank)}, MaxBlob)
		})
		require.NoError(t, errors.Join(errs...))
		tag := list[0].Session.Prove([]byte("x"))
		for rank, m := range list {
			require.True(t, m.Session.Proven([]byte("x"), tag[:]), "rank %d", rank)
			require.Equal(t, list[0].Addrs, m.Addrs)
			require.Equal(t, list[0].Blobs, m.Blobs)
		}
		require.NotContains(t, tags, tag)
		tags = append(tags, tag)
	}
}

// A rank whose key is another one does not join, and is told so; the others name it as
// absent, and say that one with another key was there.
func TestAnotherKeyDoesNotJoin(t *testing.T) {
	other := bytes.Repeat([]byte("x"), seal.MinKey)
	for name, c := range map[string]struct {
		edit        func(*Config)
		told, rank0 string
	}{
		"another key": {func(c *Config) { c.Key = other }, "the coordinator has not the same key", "not the same key"},
		"no key":      {func(c *Config) { c.Key = nil }, "a rank has no key, rank 0 has a key", "a rank has no key"},
		"encryption": {func(c *Config) { c.Encrypt = true },
			"the coordinator, which has not proved the key, says: a rank has a key, and encryption, rank 0 has a key", "and encryption"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait for a deadline
			_, errs := met(t, 3, 2*time.Second, func(cfg *Config) {
				if cfg.Rank == 2 {
					c.edit(cfg)
				}
			})
			require.ErrorContains(t, errs[2], c.told)
			for rank := range 2 {
				require.ErrorContains(t, errs[rank], "rank 2 has not come", "rank %d", rank)
			}
			require.ErrorContains(t, errs[0], c.rank0)
		})
	}
}

func TestRankZeroWithoutTheKey(t *testing.T) {
	t.Parallel()
	_, errs := met(t, 2, 2*time.Second, func(c *Config) {
		if c.Rank == 0 {
			c.Key = nil
		}
	})
	require.ErrorContains(t, errs[1], "a rank has a key, rank 0 has no key")
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

// A conversation that somebody has recorded is of no use, whoever it is played to.
func TestRecordedConversationsAreOfNoUse(t *testing.T) {
	var says, hears bytes.Buffer
	talk := func(key []byte, spoil func(net.Conn) net.Conn) (host, member error) {
		a, b := net.Pipe()
		var wg sync.WaitGroup
		wg.Go(func() {
			_, host = admitted(&Config{Key: testKey, mode: seal.Signed}, a)
			a.Close()
		})
		_, member = introduced(&Config{Key: key, mode: seal.Signed}, spoil(b))
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
	_, err = introduced(&Config{Key: testKey, mode: seal.Signed}, a)
	require.ErrorIs(t, err, errKey)
	b.Close()
}

// tape records what goes over a connection.
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

// Who has not proved the key has a bounded time, in virtual time, at every point of the
// conversation.
func TestProvingHasABoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t.Context(), 2, func(c *Config) { c.Key = testKey })
		nonce := seal.NewNonce()
		opening := append(appendOpening(nil, seal.Signed), nonce[:]...)
		for _, said := range []int{0, 3, openingLen, openingLen + 5, len(opening)} {
			conn, begun := h.connect(), time.Now()
			go conn.Write(opening[:said])
			_, err := io.ReadAll(conn)
			require.NoError(t, err)
			require.Equal(t, helloTime, time.Since(begun), "%d bytes", said)
			conn.Close()
		}
		h.come(t.Context(), 1, func(c *Config) { c.Key = testKey })
		h.wg.Wait()
		require.NoError(t, errors.Join(h.errs...))
		require.EqualValues(t, 5, h.tabs[0].Refused)
	})
}

// FuzzOpening has rank 0 hear what no holder of the key says.
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
		if _, err := introduced(&Config{Key: testKey, mode: seal.Signed}, &scripted{in: bytes.NewReader(b)}); err == nil {
			t.Fatal("introduced to who has not the key")
		}
	})
}

// scripted is a connection whose other side says what it is given.
type scripted struct {
	net.Conn
	in io.Reader
}

func (c *scripted) Read(b []byte) (int, error)  { return c.in.Read(b) }
func (c *scripted) Write(b []byte) (int, error) { return len(b), nil }
