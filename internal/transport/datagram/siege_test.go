package datagram

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/transport/fragment"
	"github.com/schedgen/schedgen/runtime/wire"
)

// siege is the number of forgeries: half a million in the heavy tests.
func siege() int { return heavy.Or(25_000, 500_000) }

// forgers make an invalid datagram from a valid one.
var forgers = []func(r *rand.Rand, good, other []byte) []byte{
	// Replayed.
	func(_ *rand.Rand, good, _ []byte) []byte { return good },
	// Flipped.
	func(r *rand.Rand, good, _ []byte) []byte {
		b := slices.Clone(good)
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		return b
	},
	// Cut.
	func(r *rand.Rand, good, _ []byte) []byte { return good[:r.IntN(len(good))] },
	// Longer.
	func(r *rand.Rand, good, _ []byte) []byte {
		return append(slices.Clone(good), make([]byte, 1+r.IntN(9))...)
	},
	// Forged.
	func(r *rand.Rand, good, _ []byte) []byte {
		b := slices.Clone(good)
		for i := fragment.HeadLen; i < len(b); i++ {
			b[i] = byte(r.Uint32())
		}
		return b
	},
	// Of an earlier job.
	func(_ *rand.Rand, _, other []byte) []byte { return other },
	// Spliced.
	func(r *rand.Rand, good, other []byte) []byte {
		at := 24 + r.IntN(len(good)-24)
		return append(slices.Clone(good[:at]), other[at:]...)
	},
	// Noise.
	func(r *rand.Rand, _, _ []byte) []byte {
		b := make([]byte, r.IntN(200))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	},
}

// TestSiegeOfDatagrams changes recorded datagrams and sends them from their sender's address. All
// are dropped and counted.
func TestSiegeOfDatagrams(t *testing.T) {
	for name, encrypt := range map[string]bool{"signed": false, "encrypted": true} {
		t.Run(name, func(t *testing.T) {
			before, trs := joined(t, 2, withKey(encrypt)), joined(t, 2, withKey(encrypt))
			tr, sender, s := trs[0], trs[1], &tally{}
			h := wire.Header{Kind: wire.FrameSlot, Seq: 1}
			text := []byte("a chunk that ranks have sent to each other")
			good := sender.seal(nil, &h, everybody, len(text), 0, text)
			before[1].mark = sender.mark // otherwise it would be foreign
			other := before[1].seal(nil, &h, everybody, len(text), 0, text)
			sendRaw(t, sender.group.fd, good)
			until(t, tr, s, func() bool { return s.fragments == 1 })
			r := rand.New(rand.NewPCG(1, 2))
			sent := uint64(0)
			for sent < uint64(siege()/2) {
				for _, forge := range forgers {
					sendRaw(t, sender.group.fd, forge(r, good, other))
					sent++
				}
				until(t, tr, s, func() bool { return refused(tr) == sent })
			}
			require.Equal(t, 1, s.fragments)
			got := tr.Stats()
			for _, n := range []uint64{got.Foreign, got.Torn, got.Unauthenticated, got.Replayed} {
				require.NotZero(t, n)
			}
			t.Logf("%d sent: %d foreign, %d torn, %d from another address, %d unauthenticated, %d replayed", sent, got.Foreign, got.Torn, got.Forged, got.Unauthenticated, got.Replayed)
			sender.Mcast(&wire.Frame{Header: h, Body: text})
			until(t, tr, s, func() bool { sender.Poll(&tally{}); return s.fragments == 2 })
		})
	}
}

func refused(tr *Transport) uint64 {
	s := tr.Stats()
	return s.Foreign + s.Torn + s.Forged + s.Unauthenticated + s.Replayed
}
