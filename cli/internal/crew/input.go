package crew

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
)

// Input is the message of a broadcast: the content of a file, or bytes made up from a seed.
type Input struct {
	file *os.File // nil for made-up bytes
	Name string
	Size int64
	Seed uint64
}

// OpenInput opens the file to broadcast, which must be a regular file.
func OpenInput(name string) (*Input, error) {
	info, err := os.Stat(name) // before opening: a pipe would block
	if err != nil {
		return nil, fmt.Errorf("--input: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("--input: %s is not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("--input: %w", err)
	}
	return &Input{file: f, Name: name, Size: info.Size()}, nil
}

// Close closes the file. A nil input has none.
func (in *Input) Close() error {
	if in == nil || in.file == nil {
		return nil
	}
	return in.file.Close()
}

// reader returns a reader of the message from its beginning. It reads one byte more if the file has
// grown.
func (in *Input) reader() io.Reader {
	if in.file != nil {
		return io.NewSectionReader(in.file, 0, in.Size+1)
	}
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], in.Seed)
	return io.LimitReader(rand.NewChaCha8(seed), in.Size)
}

// Sum returns the SHA-256 of the message in hex. It does not hold the whole message in memory.
func (in *Input) Sum() (string, error) {
	h := sha256.New()
	n, err := io.Copy(h, in.reader())
	if err != nil {
		return "", fmt.Errorf("--input: %w", err)
	}
	if n != in.Size {
		return "", in.changed()
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// load reads the message into buf, which must have the size of the message. It returns an error if
// the message does not have the SHA-256 sum.
func (in *Input) load(buf []byte, sum string) error {
	r := in.reader()
	if _, err := io.ReadFull(r, buf); err != nil && !errors.Is(err, io.EOF) {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return in.changed()
		}
		return InputError{fmt.Errorf("--input: %w", err)}
	}
	if n, _ := io.ReadFull(r, make([]byte, 1)); n != 0 || hexSum(buf) != sum {
		return in.changed()
	}
	return nil
}

func (in *Input) changed() error {
	return InputError{fmt.Errorf("--input: %s changed while it was read", in.Name)}
}
