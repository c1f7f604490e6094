package stream

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/transport/seal"
	"github.com/schedgen/schedgen/runtime/wire"
)

// siege is the number of forgeries: all in the heavy tests, else a twentieth.
func siege(all int) int { return heavy.Or(all/20, all) }

// script is a rank's traffic on a connection: frames, each in its own record.
func script(t testing.TB, s *seal.Session, turn uint64, frames int) (records [][]byte) {
	line, _, err := s.Lines(1, 0, 0, turn)
	require.NoError(t, err)
	for i := range frames {
		var r record
		body := bytes.Repeat([]byte{byte(i)}, 10*i)
		encodeHeader(&r, &wire.Header{Kind: wire.FrameSlot, Seq: uint64(i), Len: len(body)})
		records = append(records, line.Seal(append(append(make([]byte, seal.RecordHead), r[:]...), body...)))
	}
	return records
}

// scribe records arriving frames.
type scribe struct {
	wire.Nobody
	buf   [100]byte
	seqs  []uint64
	wrong bool
}

func (s *scribe) Body(h *wire.Header) ([]byte, wire.Verdict) { return s.buf[:h.Len], wire.Accept }

func (s *scribe) Arrived(h *wire.Header, body []byte) {
	s.seqs = append(s.seqs, h.Seq)
	s.wrong = s.wrong || h.Len != 10*int(h.Seq) || !bytes.Equal(body, bytes.Repeat([]byte{byte(h.Seq)}, h.Len))
}

// play feeds bytes to a, on a connection after its greeting, and returns the frames that a took.
func play(t testing.TB, a *Transport, said []byte) *scribe {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	require.NoError(t, err)
	require.NoError(t, unix.SetNonblock(ends[0], true))
	defer unix.Close(ends[1])
	p := &peer{t: a, rank: 1, end: end{how: wire.Broken, told: true}} // its end need not be told
	p.reach(0)
	c := a.newConn()
	c.p = p
	c.in.sealed.line, c.out.sealed.line, err = a.session.Lines(1, 0, 0, 0)
	require.NoError(t, err)
	require.NoError(t, c.connect(ends[0]))
	a.employ(&c.in)
	n, err := unix.Write(ends[1], said)
	require.NoError(t, err)
	require.Equal(t, len(said), n)
	s := &scribe{}
	a.receive(&c.in, s)
	a.closeConn(c)
	return s
}

// If a stranger on the way inserts bytes into a connection, the frames before them count, and none
// after.
func TestSiegeOfFrames(t *testing.T) {
	const frames = 4
	for name, edit := range map[string]func(*Options){"signed": signed, "encrypted": encrypted} {
		t.Run(name, func(t *testing.T) {
			before, _ := pair(t, edit)
			a, _ := pair(t, edit)
			good, other, later := script(t, a.session, 0, frames), script(t, before.session, 0, frames), script(t, a.session, 1, frames)
			require.Equal(t, []uint64{0, 1, 2, 3}, play(t, a, slices.Concat(good...)).seqs)
			r := rand.New(rand.NewPCG(1, 2))
			refused := a.stats.Unauthenticated
			for n := range siege(400_000) / 2 {
				at := r.IntN(frames)
				said := slices.Clone(good)
				how, counted := "", uint64(1)
				switch n % 7 {
				case 0:
					how, said[at] = "flipped", slices.Clone(said[at])
					said[at][r.IntN(len(said[at]))] ^= 1 << r.IntN(8)
				case 1:
					how, said = "replayed", slices.Insert(said, at, said[r.IntN(frames)])
					for at = 0; &said[at][0] == &good[min(at, frames-1)][0] && at < frames; at++ {
					}
				case 2:
					how, said, counted = "left out", slices.Delete(said, at, at+1), b2n(at < frames-1)
				case 3:
					how, said[at] = "of an earlier job", other[at]
				case 4:
					how, said[at] = "of another connection", later[at]
				case 5:
					how, said[at] = "cut", said[at][:r.IntN(len(said[at]))]
					said, counted = said[:at+1], 0
				case 6:
					how, said[at] = "noise", make([]byte, 300)
					for i := range said[at] {
						said[at][i] = byte(r.Uint32())
					}
				}
				s := play(t, a, slices.Concat(said...))
				if len(s.seqs) != at || s.wrong || !slices.IsSorted(s.seqs) {
					t.Fatalf("%s at %d: frames %v", how, at, s.seqs)
				}
				got := a.stats.Unauthenticated - refused
				refused = a.stats.Unauthenticated
				if got != counted && how != "flipped" && how != "noise" { // a length may promise more than has arrived
					t.Fatalf("%s at %d: %d counted, want %d", how, at, got, counted)
				}
			}
			require.NotZero(t, refused)
		})
	}
}

func b2n(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// A greeting counts only if it is the rank's own, for this rank, and for its turn. Any other
// greeting on a connection is counted as rejected.
func TestSiegeOfGreetings(t *testing.T) {
	for name, edits := range map[string][]func(*Options){"no key": nil, "signed": {signed}} {
		t.Run(name, func(t *testing.T) {
			before, _ := pair(t, edits...)
			a, b := pair(t, edits...)
			requireWorks(t, a, b)
			used := greeting{id: a.ID(), rank: 1, size: 2} // that connection exists
			next := greeting{id: a.ID(), rank: 1, size: 2, turn: 1}
			r := rand.New(rand.NewPCG(3, 4))
			forge := func(n int) []byte {
				good := next.greetingTo(0, a.session)
				switch n % 5 {
				case 0:
					good[r.IntN(len(good))] ^= 1 << r.IntN(8)
				case 1:
					good = used.greetingTo(0, a.session)
				case 2:
					good = next.greetingTo(0, before.session)
				case 3:
					good = next.greetingTo(1, a.session)
				case 4:
					for i := recordLen; i < len(good); i++ {
						good[i] = byte(r.Uint32())
					}
				}
				return good
			}
			for n := range siege(100_000) / 2 {
				said := forge(n)
				g, ok := decodeGreeting(said, a.id, a.size)
				if ok && g.rank != a.rank && a.authentic(&g, said) {
					t.Fatalf("greeting %d is taken for %+v", n, g)
				}
			}
			for n := range 500 {
				was, s := a.Stats().Rejected, &log{}
				a.listener.strangers = 0
				knock(t, a, forge(n)).Close()
				until(t, a, s, func() bool { return a.Stats().Rejected == was+1 })
				require.Zero(t, s.frames)
			}
			requireWorks(t, a, b)
		})
	}
}
