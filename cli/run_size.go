package cli

import "github.com/schedgen/schedgen/internal/words"

// byteSize is a flag's value for a number of bytes, which is written with a unit.
type byteSize int64

// UnmarshalText reads a size as [words.ParseSize] does.
func (s *byteSize) UnmarshalText(text []byte) error {
	n, err := words.ParseSize(string(text))
	*s = byteSize(n)
	return err
}

// String spells s as [words.Size] does.
func (s byteSize) String() string { return words.Size(int64(s)) }
