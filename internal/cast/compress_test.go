package cast

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// wordy returns text with many repeated words.
func wordy(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	var b bytes.Buffer
	for b.Len() < n {
		b.WriteString(strings.Repeat(string(rune('a'+r.IntN(26))), 1+r.IntN(9)))
	}
	return b.Bytes()[:n]
}

// TestCompressed checks that decompression restores the data. The compressed bytes do not depend on
// how the data were split into writes, so a later round may continue in the middle.
func TestCompressed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := wordy(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 4<<20).Draw(t, "length"))
		part := func(name string) int {
			return rapid.SampledFrom([]int{1000, 4097, 256 << 10, 1 << 20, 5 << 20}).Draw(t, name)
		}
		var raw, packed atomic.Int64
		var first, tail, got bytes.Buffer
		require.NoError(t, Compressed(parts(text, part("part")), &raw, &packed)(t.Context(), &first))
		require.EqualValues(t, len(text), raw.Load())
		require.EqualValues(t, first.Len(), packed.Load())
		from := rapid.IntRange(0, first.Len()).Draw(t, "from")
		require.NoError(t, Tail(Compressed(parts(text, part("other part")), nil, nil), int64(from))(t.Context(), &tail))
		require.True(t, bytes.Equal(first.Bytes()[from:], tail.Bytes()))
		sink := Decompressed(func(_ context.Context, r io.Reader) error {
			_, err := got.ReadFrom(r)
			return err
		})
		require.NoError(t, sink(t.Context(), &first))
		require.True(t, bytes.Equal(text, got.Bytes()))
	})
}

func TestDecompressedFails(t *testing.T) {
	var packed bytes.Buffer
	require.NoError(t, Compressed(parts(wordy(1, 1<<20), 1<<20), nil, nil)(t.Context(), &packed))
	all := func(_ context.Context, r io.Reader) error { _, err := io.Copy(io.Discard, r); return err }
	none := func(context.Context, io.Reader) error { return nil }
	cut := bytes.NewReader(packed.Bytes()[:packed.Len()/2])
	require.ErrorIs(t, Decompressed(all)(t.Context(), cut), io.ErrUnexpectedEOF)
	require.ErrorContains(t, Decompressed(all)(t.Context(), strings.NewReader("no zstd")), "decompress: ")
	require.ErrorContains(t, Decompressed(none)(t.Context(), bytes.NewReader(packed.Bytes())), "bytes too many")
	why := errors.New("the disk is full")
	require.ErrorIs(t, Decompressed(func(context.Context, io.Reader) error { return why })(t.Context(), &packed), why)
	broken := errors.New("the source fails")
	require.ErrorIs(t, Compressed(func(context.Context, io.Writer) error { return broken }, nil, nil)(t.Context(), io.Discard), broken)
	gone := errors.New("the sender is gone")
	require.ErrorIs(t, Decompressed(all)(t.Context(), brokenReader{gone}), gone)
}

// brokenReader is a reader that fails.
type brokenReader struct{ err error }

func (f brokenReader) Read([]byte) (int, error) { return 0, f.err }

// FuzzDecompressed checks that any input takes bounded memory and causes no panic.
func FuzzDecompressed(f *testing.F) {
	var packed bytes.Buffer
	require.NoError(f, Compressed(parts(wordy(1, 1000), 1000), nil, nil)(context.Background(), &packed))
	f.Add(packed.Bytes())
	f.Fuzz(func(t *testing.T, input []byte) {
		_ = Decompressed(func(_ context.Context, r io.Reader) error { // errors do not matter
			_, err := io.Copy(io.Discard, io.LimitReader(r, 8<<20))
			return err
		})(t.Context(), bytes.NewReader(input))
	})
}
