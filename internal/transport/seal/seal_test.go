package seal

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

var testKey = []byte(strings.Repeat("k", MinKey))

func session(t testing.TB, mode Mode, edit func(key []byte, seed *[SeedLen]byte, id *[16]byte, job *string)) *Session {
	key, seed, id, job := slices.Clone(testKey), [SeedLen]byte{1}, [16]byte{2}, "job"
	edit(key, &seed, &id, &job)
	s, err := NewSession(mode, key, &seed, id, job)
	require.NoError(t, err)
	return s
}

func same([]byte, *[SeedLen]byte, *[16]byte, *string) {}

func TestModeOf(t *testing.T) {
	for _, c := range []struct {
		key     int
		encrypt bool
		want    Mode
		err     string
	}{
		{0, false, Plain, ""}, {0, true, Plain, "needs a key"}, {MinKey - 1, false, Plain, "a key of 31 bytes"}, {MinKey, false, Signed, ""},
		{MaxKey, true, Encrypted, ""}, {MaxKey + 1, true, Plain, "a key of 4097 bytes"},
	} {
		m, err := ModeOf(make([]byte, c.key), c.encrypt)
		require.Equal(t, c.want, m)
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
		} else {
			require.NoError(t, err)
		}
	}
}

// Every input of a session changes its keys.
func TestSessionsDiffer(t *testing.T) {
	base := session(t, Signed, same)
	tag := base.Prove([]byte("what"))
	require.True(t, session(t, Signed, same).Proven([]byte("what"), tag[:]))
	require.False(t, base.Proven([]byte("else"), tag[:]))
	require.False(t, base.Proven([]byte("what"), tag[:TagLen-1]))
	for name, other := range map[string]*Session{
		"mode": session(t, Encrypted, same),
		"key":  session(t, Signed, func(key []byte, _ *[SeedLen]byte, _ *[16]byte, _ *string) { key[MinKey-1]++ }),
		"seed": session(t, Signed, func(_ []byte, seed *[SeedLen]byte, _ *[16]byte, _ *string) { seed[SeedLen-1]++ }),
		"id":   session(t, Signed, func(_ []byte, _ *[SeedLen]byte, id *[16]byte, _ *string) { id[15]++ }),
		"job":  session(t, Signed, func(_ []byte, _ *[SeedLen]byte, _ *[16]byte, job *string) { *job = "other" }),
	} {
		require.False(t, other.Proven([]byte("what"), tag[:]), name)
	}
}

func TestPlainSealsNothing(t *testing.T) {
	s := session(t, Plain, same)
	there, back, err := s.Lines(0, 1, 0, 0)
	require.NoError(t, err)
	require.Nil(t, there)
	require.Nil(t, back)
	p, err := s.Packets()
	require.NoError(t, err)
	require.Nil(t, p)
}

func lines(t testing.TB, s *Session, from, to, lane int, turn uint64) (there, back *Line) {
	there, back, err := s.Lines(from, to, lane, turn)
	require.NoError(t, err)
	return there, back
}

func record(text string) []byte { return append(make([]byte, RecordHead), text...) }

func TestLineOpensWhatItSeals(t *testing.T) {
	for _, mode := range []Mode{Signed, Encrypted} {
		rapid.Check(t, func(r *rapid.T) {
			in, _ := lines(t, session(t, mode, same), 0, 1, 0, 0)
			out, _ := lines(t, session(t, mode, same), 0, 1, 0, 0)
			for _, text := range rapid.SliceOfN(rapid.StringN(1, 200, -1), 1, 5).Draw(r, "records") {
				b := out.Seal(record(text))
				n, err := RecordLen(b)
				require.NoError(r, err)
				require.Len(r, b, n)
				if len(text) > TagLen {
					require.Equal(r, mode == Signed, bytes.Contains(b, []byte(text)))
				}
				got, err := in.Open(b)
				require.NoError(r, err)
				require.Equal(r, text, string(got))
			}
		})
	}
}

// A record opens only on its connection, in its direction, at its place, and unchanged.
func TestLineRefuses(t *testing.T) {
	for _, mode := range []Mode{Signed, Encrypted} {
		s := session(t, mode, same)
		seal := func(l *Line) []byte { return l.Seal(record("record")) }
		good := func() *Line { l, _ := lines(t, s, 0, 1, 0, 0); return l }
		second := func() []byte { l := good(); seal(l); return seal(l) }
		of := func(from, to, lane int, turn uint64) []byte {
			l, _ := lines(t, s, from, to, lane, turn)
			return seal(l)
		}
		_, back := lines(t, s, 0, 1, 0, 0)
		for name, b := range map[string][]byte{
			"the second first": second(), "the way back": seal(back), "another sender": of(2, 1, 0, 0), "another receiver": of(0, 2, 0, 0),
			"another lane": of(0, 1, 1, 0), "another turn": of(0, 1, 0, 256), "nothing": make([]byte, RecordOver+6),
		} {
			_, err := good().Open(b)
			require.ErrorIs(t, err, ErrForged, name)
		}
		b := seal(good())
		for bit := range 8 * len(b) {
			flipped := slices.Clone(b)
			flipped[bit/8] ^= 1 << (bit % 8)
			_, err := good().Open(flipped)
			require.ErrorIs(t, err, ErrForged)
		}
		l := good()
		_, err := l.Open(slices.Clone(b))
		require.NoError(t, err)
		_, err = l.Open(b)
		require.ErrorIs(t, err, ErrForged, "twice")
	}
}

// After an invalid record nothing opens: replacing a record must not look like removing it.
func TestNothingIsOpenedBehindAForgery(t *testing.T) {
	for _, mode := range []Mode{Signed, Encrypted} {
		out, _ := lines(t, session(t, mode, same), 0, 1, 0, 0)
		in, _ := lines(t, session(t, mode, same), 0, 1, 0, 0)
		forged := out.Seal(record("first"))
		forged[RecordHead]++
		_, err := in.Open(forged)
		require.ErrorIs(t, err, ErrForged)
		_, err = in.Open(out.Seal(record("second")))
		require.ErrorIs(t, err, ErrForged)
	}
}

func TestRecordLen(t *testing.T) {
	head := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	for _, n := range []uint32{0, RecordMax + 1, 1<<32 - 1} {
		_, err := RecordLen(head(n))
		require.ErrorIs(t, err, ErrForged)
	}
	n, err := RecordLen(head(RecordMax))
	require.NoError(t, err)
	require.Equal(t, RecordOver+RecordMax, n)
	n, err = RecordLen(head(RecordMax)[:3])
	require.NoError(t, err)
	require.Zero(t, n)
}

func packets(t testing.TB, mode Mode) *Packets {
	p, err := session(t, mode, same).Packets()
	require.NoError(t, err)
	return p
}

func TestPackets(t *testing.T) {
	const head = 8
	for _, mode := range []Mode{Signed, Encrypted} {
		p := packets(t, mode)
		for _, payload := range []string{"", "payload", strings.Repeat("long", 4000)} {
			plain := []byte("headhead" + payload)
			b := p.Seal(slices.Clone(plain), head, 3, 77)
			require.Len(t, b, len(plain)+PacketOver)
			require.Equal(t, plain[:head], b[:head])
			require.Equal(t, mode == Signed || payload == "", bytes.Equal(plain, b[:len(plain)]))
			data, count, ok := p.Open(slices.Clone(b), head, 3)
			require.True(t, ok)
			require.Equal(t, uint64(77), count)
			require.Equal(t, plain, data)
			_, _, ok = p.Open(slices.Clone(b), head, 4)
			require.False(t, ok, "another sender")
			for bit := 0; bit < 8*len(b); bit += 1 + len(b)/50 {
				flipped := slices.Clone(b)
				flipped[bit/8] ^= 1 << (bit % 8)
				_, _, ok = p.Open(flipped, head, 3)
				require.False(t, ok, "bit %d", bit)
			}
		}
	}
}

func TestSealingAllocatesNothing(t *testing.T) {
	for _, mode := range []Mode{Signed, Encrypted} {
		out, _ := lines(t, session(t, mode, same), 0, 1, 0, 0)
		in, _ := lines(t, session(t, mode, same), 0, 1, 0, 0)
		p, b := packets(t, mode), make([]byte, 0, 2000)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if _, err := in.Open(out.Seal(b[:1000])); err != nil {
				t.Fatal(err)
			}
			if _, _, ok := p.Open(p.Seal(b[:1000], 64, 1, 1), 64, 1); !ok {
				t.Fatal("not opened")
			}
		}))
	}
}

func TestHandshake(t *testing.T) {
	nonce, other := NewNonce(), NewNonce()
	require.NotEqual(t, nonce, other)
	opening := []byte("opening")
	a, b := NewHandshake(testKey, Signed, opening, &nonce), NewHandshake(testKey, Signed, opening, &nonce)
	require.True(t, a.Proven(Host, b.Proof(Host)))
	require.True(t, a.Proven(Member, b.Proof(Member)))
	require.False(t, a.Proven(Member, b.Proof(Host)), "a proof that is sent back")
	wrong := slices.Clone(testKey)
	wrong[0]++
	for name, h := range map[string]*Handshake{
		"key": NewHandshake(wrong, Signed, opening, &nonce), "nonce": NewHandshake(testKey, Signed, opening, &other),
		"opening": NewHandshake(testKey, Signed, []byte("openinG"), &nonce),
	} {
		require.False(t, a.Proven(Host, h.Proof(Host)), name)
		require.False(t, a.Proven(Member, h.Proof(Member)), name)
		_, in, err := h.Lines()
		require.NoError(t, err)
		_, out, err := a.Lines()
		require.NoError(t, err)
		_, err = in.Open(out.Seal(record("x")))
		require.ErrorIs(t, err, ErrForged, name)
	}
}

// conns are the two ends of a sealed connection.
func conns(t testing.TB) (host, member *Conn, wire net.Conn) {
	nonce := NewNonce()
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	end := func(c net.Conn, host bool) *Conn {
		h, m, err := NewHandshake(testKey, Signed, nil, &nonce).Lines()
		require.NoError(t, err)
		if host {
			return NewConn(c, m, h)
		}
		return NewConn(c, h, m)
	}
	return end(a, true), end(b, false), b
}

func TestConn(t *testing.T) {
	host, member, _ := conns(t)
	text := bytes.Repeat([]byte("0123456789"), 20_000) // several records
	go func() {
		member.Write(text)
		member.Close()
	}()
	got, err := io.ReadAll(host)
	require.NoError(t, err)
	require.Equal(t, text, got)
}

func TestConnRefuses(t *testing.T) {
	for want, say := range map[string]string{"a record of 0 bytes": "\x00\x00\x00\x00", "not sealed": "\x00\x00\x00\x01" + strings.Repeat("x", 1+TagLen), "unexpected EOF": "\x00\x00\x00\x01xx"} {
		host, _, wire := conns(t)
		go func() {
			wire.Write([]byte(say))
			wire.Close()
		}()
		_, err := host.Read(make([]byte, 10))
		require.ErrorContains(t, err, want)
	}
}

// brief is a connection that takes some bytes, and then none for a while.
type brief struct {
	net.Conn
	took bytes.Buffer
	room int
}

func (c *brief) Write(b []byte) (int, error) {
	n := min(len(b), c.room)
	c.room = 1 << 20
	c.took.Write(b[:n])
	if n < len(b) {
		return n, os.ErrDeadlineExceeded
	}
	return n, nil
}

// A record that was cut off is the last one, since later bytes would be read as its rest.
func TestConnWritesNothingBehindACutRecord(t *testing.T) {
	out, _ := lines(t, session(t, Signed, same), 0, 1, 0, 0)
	wire := &brief{room: 3}
	c := NewConn(wire, nil, out)
	for range 2 {
		_, err := c.Write([]byte("text"))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	}
	require.Equal(t, 3, wire.took.Len())
}

// FuzzOpen opens bytes that were never sealed.
func FuzzOpen(f *testing.F) {
	out, _ := lines(f, session(f, Encrypted, same), 0, 1, 0, 0)
	f.Add(out.Seal(record("record")))
	f.Add(packets(f, Signed).Seal(make([]byte, 80), 64, 1, 1))
	f.Add([]byte{0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, mode := range []Mode{Signed, Encrypted} {
			in, _ := lines(t, session(t, mode, same), 9, 1, 0, 0)
			if n, err := RecordLen(b); err == nil && n > 0 && n <= len(b) {
				if _, err := in.Open(slices.Clone(b[:n])); err == nil {
					t.Fatal("a record that nobody has sealed")
				}
			}
			if len(b) >= 64+PacketOver {
				if _, _, ok := packets(t, mode).Open(slices.Clone(b), 64, 9); ok {
					t.Fatal("a datagram that nobody has sealed")
				}
			}
		}
	})
}
