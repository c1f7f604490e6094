package datagram

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/transport/fragment"
	"github.com/schedgen/schedgen/internal/transport/seal"
	"github.com/schedgen/schedgen/internal/transport/stream"
	"github.com/schedgen/schedgen/runtime/wire"
)

func withKey(encrypt bool) Config {
	return Config{TCP: stream.Config{Options: stream.Options{Key: bytes.Repeat([]byte("k"), seal.MinKey), Encrypt: encrypt}}}
}

// changed returns b with one bit changed.
func changed(b []byte, at int) []byte {
	b = slices.Clone(b)
	b[(at+len(b))%len(b)] ^= 1
	return b
}

// Datagrams from the sender's address, as a stranger might forge them, count only if they are
// sealed, at their destination, and the first time.
func TestStrangersWithTheSendersAddress(t *testing.T) {
	for name, encrypt := range map[string]bool{"signed": false, "encrypted": true} {
		t.Run(name, func(t *testing.T) {
			trs := joined(t, 3, withKey(encrypt))
			tr, sender, s := trs[0], trs[1], &tally{}
			h := wire.Header{Kind: wire.FrameSlot, Seq: 1}
			sealed := func(to int) []byte { return sender.seal(nil, &h, to, 5, 0, []byte("hello")) }
			late, good := sealed(everybody), sealed(everybody)
			other, nobodys := slices.Clone(good), slices.Clone(good)
			other[9]++
			binary.BigEndian.PutUint32(nobodys[12:], 3)
			foreign := func(s wire.Stats) uint64 { return s.Foreign }
			torn := func(s wire.Stats) uint64 { return s.Torn }
			unsealed := func(s wire.Stats) uint64 { return s.Unauthenticated }
			replayed := func(s wire.Stats) uint64 { return s.Replayed }
			for _, c := range []struct {
				name string
				b    []byte
				n    func(wire.Stats) uint64
			}{
				{"garbage", []byte("hello, is anybody there?"), foreign},
				{"without a seal", whole(tr.ID(), h, 1, 5, 0, []byte("hello")), foreign},
				{"another communicator", other, foreign},
				{"half a header", good[:30], torn},
				{"no seal", good[:fragment.HeadLen+seal.PacketOver-1], torn},
				{"much longer", append(slices.Clone(good), make([]byte, 20000)...), unsealed},
				{"of nobody", nobodys, torn},
				{"cut", good[:len(good)-1], unsealed},
				{"longer", append(slices.Clone(good), 0), unsealed},
				{"another sequence number", changed(good, 31), unsealed},
				{"another payload", changed(good, fragment.HeadLen), unsealed},
				{"another tag", changed(good, -9), unsealed},
				{"another count", changed(good, -1), unsealed},
				{"to another rank", sealed(2), replayed},
				{"a length that does not fit", sender.seal(nil, &h, everybody, 50, 3, []byte("hello")), torn},
			} {
				before := c.n(tr.Stats())
				sendRaw(t, sender.group.fd, c.b)
				until(t, tr, s, func() bool { return c.n(tr.Stats()) == before+1 })
				require.Zero(t, s.fragments, c.name)
			}
			send := func(b []byte, fragments, replays int) {
				sendRaw(t, sender.group.fd, b)
				until(t, tr, s, func() bool {
					return s.fragments == fragments && tr.Stats().Replayed == uint64(1+replays)
				})
			}
			send(good, 1, 0)
			send(good, 1, 1)
			send(late, 2, 1) // overtaken, but not too late
			send(late, 2, 2)
			old := sealed(everybody)
			sender.sealed.count += 5000
			send(sealed(everybody), 3, 2)
			send(old, 3, 3)
		})
	}
}

// A datagram to one rank counts only there, and only from the right socket.
func TestSealedAtTheDoor(t *testing.T) {
	trs := joined(t, 3, withKey(false))
	tr, sender, s := trs[0], trs[1], &tally{}
	door := tr.arrival.own.sources[0]
	h := wire.Header{Kind: wire.FrameSlot, Seq: 1}
	send := func(b []byte) { require.NoError(t, sendTo(sender.direct.fd, b, door)) }
	send(sender.seal(nil, &h, 2, 5, 0, []byte("hello")))
	until(t, tr, s, func() bool { return tr.Stats().Replayed == 1 })
	send(sender.seal(nil, &h, everybody, 5, 0, []byte("hello")))
	until(t, tr, s, func() bool { return tr.Stats().Replayed == 2 })
	fd := outsider(t, door)
	sendRaw(t, fd, sender.seal(nil, &h, 0, 5, 0, []byte("hello")))
	until(t, tr, s, func() bool { return tr.Stats().Forged == 1 })
	require.Zero(t, s.fragments)
	sender.Datagram(0, &wire.Frame{Header: h, Body: []byte("hello")})
	until(t, tr, s, func() bool { sender.Poll(s); return s.fragments == 1 })
}

// The seal shortens the payload, and encrypted payloads are not readable.
func TestSealedLengths(t *testing.T) {
	plain := joined(t, 1, Config{})[0].Caps().Datagram
	for _, encrypt := range []bool{false, true} {
		tr := joined(t, 1, withKey(encrypt))[0]
		require.Equal(t, plain-seal.PacketOver, tr.Caps().Datagram)
		text := []byte("to be kept from strangers")
		b := tr.seal(nil, &wire.Header{Kind: wire.FrameSlot}, everybody, len(text), 0, text)
		require.Equal(t, !encrypt, bytes.Contains(b, text))
		require.Len(t, b, fragment.HeadLen+len(text)+seal.PacketOver)
	}
}

// FuzzSealed opens datagrams that no holder of the key has sealed, from a rank's own address.
func FuzzSealed(f *testing.F) {
	session, err := seal.NewSession(seal.Signed, bytes.Repeat([]byte("k"), seal.MinKey), &[seal.SeedLen]byte{}, [16]byte{7}, "")
	require.NoError(f, err)
	keys, err := newSealed(session)
	require.NoError(f, err)
	source := netip.MustParseAddrPort("127.0.0.1:9")
	tr := &Transport{rank: 3, size: 4, mark: fragment.MarkOf([16]byte{7}), payload: 100, sealed: keys}
	tr.arrival.all.sources = []netip.AddrPort{source, source, source, source}
	tr.arrival.all.to, tr.arrival.all.windows = noRank, make([]seal.Window, 4)
	good := tr.seal(nil, &wire.Header{Kind: wire.FrameSlot}, everybody, 5, 0, []byte("hello"))
	f.Add(good[:len(good)-1])
	f.Add(changed(good, 70))
	f.Fuzz(func(t *testing.T, b []byte) {
		var p fragment.Part
		if len(b) >= fragment.HeadLen {
			b = slices.Clone(b)
			binary.BigEndian.PutUint16(b[4:], sealedMagic)
			copy(b[8:12], tr.mark.ID[:])
		}
		if _, f := tr.open(&tr.arrival.all, b, true, source, &p); f == fragment.Sound || f == fragment.Replayed {
			t.Fatal("opened")
		}
	})
}

// The sockets are bound to one address, or to the group.
func TestSocketsAreBound(t *testing.T) {
	tr := joined(t, 1, Config{})[0]
	for fd, want := range map[int]string{tr.group.fd: "127.0.0.1", tr.direct.fd: "127.0.0.1", tr.arrival.all.fd: tr.target.Addr().String()} {
		sa, err := unix.Getsockname(fd)
		require.NoError(t, err)
		require.Equal(t, want, addrPort(sa).Addr().String())
	}
}
