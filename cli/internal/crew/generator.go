package crew

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
)

// Generator makes messages whose bytes follow from a key, so that every rank can check them.
type Generator struct {
	random *rand.ChaCha8
	buf    []byte
}

// NewGenerator returns a generator.
func NewGenerator() Generator { return Generator{random: rand.NewChaCha8([32]byte{})} }

// Make returns the message of size bytes for a key of up to four numbers. The message is valid
// until the next call.
func (g *Generator) Make(size int, key ...uint64) []byte {
	var seed [32]byte
	for i, k := range key {
		binary.LittleEndian.PutUint64(seed[8*i:], k)
	}
	g.random.Seed(seed)
	g.buf = slices.Grow(g.buf[:0], size)[:size]
	_, _ = g.random.Read(g.buf) // never fails
	return slices.Clip(g.buf)
}
