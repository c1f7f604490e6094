package meet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/meet/internal/contact"
	"github.com/schedgen/schedgen/internal/transport/seal"
)

var testKey = []byte(strings.Repeat("k", seal.MinKey))

// keyed gives a rank the key.
func keyed(c *Config) { c.Key = testKey }

// Ranks with one key meet and share a session that no other meeting has.
func TestRanksWithAKeyMeet(t *testing.T) {
	var tags [][seal.TagLen]byte
	for _, encrypt := range []bool{false, true, false} {
		inHall(t, 20, func(t *testing.T, h *hall) {
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

// A rank with another key does not join, and gets an error. The others name it as absent, and say
// that a rank with another key was there.
func TestAnotherKeyDoesNotJoin(t *testing.T) {
	other := bytes.Repeat([]byte("x"), seal.MinKey)
	for name, c := range map[string]struct {
		edit        func(*Config)
		told, rank0 string
	}{
		"another key": {func(c *Config) { c.Key = other }, "the coordinator has not the same key", "not the same key"},
		"no key":      {func(c *Config) { c.Key = nil }, "a rank has no key, but the process that it connects to has a key", "a rank has no key"},
		"encryption": {func(c *Config) { c.Encrypt = true },
			"the coordinator, which has not proved the key, says: a rank has a key, and encryption, but the process that it connects to has a key", "and encryption"},
	} {
		t.Run(name, func(t *testing.T) {
			inHall(t, 20, func(t *testing.T, h *hall) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				h.edit = keyed
				h.all(ctx, 17)
				h.come(ctx, 17, c.edit)
				h.wg.Wait()
				for rank, err := range h.errs {
					if rank == 17 {
						require.Less(t, h.ends[rank], time.Second)
						require.ErrorContains(t, err, c.told)
						continue
					}
					require.ErrorContains(t, err, "rank 17 has not come", "rank %d", rank)
					require.ErrorContains(t, err, c.rank0, "rank %d", rank)
				}
			})
		})
	}
}

// A rank 0 without the key is not accepted.
func TestRankZeroWithoutTheKey(t *testing.T) {
	inHall(t, 2, func(t *testing.T, h *hall) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		h.come(ctx, 0, nil)
		h.come(ctx, 1, keyed)
		h.wg.Wait()
		require.ErrorContains(t, h.errs[1], "a rank has a key, but the process that it connects to has no key")
		require.ErrorContains(t, h.errs[0], "rank 1 has not come")
	})
}

// A rank that cannot read its key tells that without a proof. The others say so and go on waiting,
// and meet when the rank has come again with the key. If it is rank 0, they end.
func TestRankThatCannotReadItsKey(t *testing.T) {
	noKey := func(c *Config) { c.Key, c.Fault = nil, errors.New("no key file") }
	for _, guilty := range []int{3, 17} {
		inHall(t, 20, func(t *testing.T, h *hall) {
			said := newTold()
			h.edit = func(c *Config) {
				keyed(c)
				if c.Rank == 0 {
					c.Log = slog.New(said)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			h.all(ctx, guilty)
			h.come(ctx, guilty, noKey)
			time.Sleep(10 * time.Second)
			require.EqualError(t, h.failed(guilty), "no key file")
			require.Contains(t, said.all()[0], fmt.Sprintf("it says: rank %d: no key file (a rank has no key, but", guilty))
			h.come(ctx, guilty, nil)
			h.met()
		})
	}
	inHall(t, 9, func(t *testing.T, h *hall) {
		h.edit = keyed
		h.all(t.Context(), 0)
		h.come(t.Context(), 0, noKey)
		h.wg.Wait()
		require.EqualError(t, h.errs[0], "no key file")
		for rank, err := range h.errs[1:] {
			require.ErrorContains(t, err, "the coordinator, which has not proved the key, says: no key file", "rank %d", rank+1)
		}
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

// A process that has not proved the key has limited time at every point of the conversation, in
// virtual time.
func TestProvingHasABoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, 2)
		h.edit = keyed
		h.come(t.Context(), 0, nil)
		nonce := seal.NewNonce()
		opening := append(contact.AppendOpening(nil, seal.Signed), nonce[:]...)
		before := len(opening) - len(nonce)
		for _, said := range []int{0, 3, before, before + 5, len(opening)} {
			settle()
			conn, begun := h.connect(), time.Now()
			go conn.Write(opening[:said])
			_, err := io.ReadAll(conn)
			require.NoError(t, err)
			require.Equal(t, contact.HelloTime+lan, time.Since(begun), "%d bytes", said)
			conn.Close()
		}
		h.come(t.Context(), 1, nil)
		h.wg.Wait()
		require.NoError(t, errors.Join(h.errs...))
		require.EqualValues(t, 5, h.tabs[0].Refused)
	})
}
