package contact

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
)

// siege is the number of forgeries: all in the heavy tests, else a twentieth.
func siege(all int) int { return heavy.Or(all/20, all) }

// Nothing from one meeting, or from anywhere else, opens another meeting.
func TestSiegeOfHandshakes(t *testing.T) {
	var says, hears bytes.Buffer
	a, b := net.Pipe()
	done := make(chan error)
	go func() {
		talk, err := signed.Admit(a)
		if err == nil {
			_, err = ReadBytes(talk, MaxText)
		}
		done <- err
	}()
	talk, err := signed.Introduce(&tape{b, &says, &hears}, "rank 0")
	require.NoError(t, err)
	_, err = talk.Write(AppendBytes(nil, "rank 1 of 2 at a:1"))
	require.NoError(t, err)
	require.NoError(t, <-done)

	r := rand.New(rand.NewPCG(5, 6))
	for n := range siege(100_000) / 2 {
		for side, heard := range map[string][]byte{"rank 0": says.Bytes(), "a member": hears.Bytes()} {
			said := slices.Clone(heard)
			switch n % 4 {
			case 1:
				said[r.IntN(len(said))] ^= 1 << r.IntN(8)
			case 2:
				said = said[:r.IntN(len(said))]
			case 3:
				for i := len(AppendOpening(nil, signed.Mode)); i < len(said); i++ {
					said[i] = byte(r.Uint32())
				}
			}
			conn := &scripted{in: bytes.NewReader(said)}
			if side == "rank 0" {
				_, err = signed.Admit(conn)
			} else {
				_, err = signed.Introduce(conn, "rank 0")
			}
			if err == nil {
				t.Fatalf("forgery %d opens a meeting to %s", n, side)
			}
			var version *VersionError
			var mode *ModeError
			if side == "rank 0" && !errors.Is(err, ErrStranger) && !errors.As(err, &version) && !errors.As(err, &mode) {
				t.Fatalf("forgery %d: %v", n, err)
			}
		}
	}
}
