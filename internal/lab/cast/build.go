//go:build linux

package cast

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/schedgen/schedgen/internal/lab/internal/program"
)

// built holds the programs to run and the files to send.
type built struct {
	program.Programs
	payloads map[int]*payload // by size
}

// payload is a file to send.
type payload struct {
	name string
	sum  string // SHA-256, hexadecimal
}

// payload returns a file of the given size, which no tool can compress.
func (b *built) payload(bytes int) (*payload, error) {
	if p := b.payloads[bytes]; p != nil {
		return p, nil
	}
	dir := b.Path(fmt.Sprint(bytes))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	p := &payload{name: filepath.Join(dir, fileName)}
	f, err := os.Create(p.name)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	_, err = io.CopyN(io.MultiWriter(f, sum), rand.NewChaCha8([32]byte{}), int64(bytes))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("make what is sent: %w", err)
	}
	p.sum = hex.EncodeToString(sum.Sum(nil))
	b.payloads[bytes] = p
	return p, nil
}
