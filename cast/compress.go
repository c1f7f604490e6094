package cast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// Compress says when what is sent is compressed.
type Compress int

const (
	// CompressSlow compresses if the networks of the receivers, or the limit of the sender, are
	// known to take less than zstd gives.
	CompressSlow Compress = iota
	// CompressAlways always compresses.
	CompressAlways
	// CompressNever never compresses.
	CompressNever
)

// zstdRate is how many bytes a second zstd compresses in any case, beside all else that a sender
// does.
const zstdRate = 60e6

// packs reports whether what is sent is compressed. It is decided once, before the first round of
// files: a host that is left out goes on in the middle.
func (s *server) packs(rate float64) bool {
	if !s.chosen {
		s.chosen = true
		switch s.Compress {
		case CompressAlways:
			s.packed = true
		case CompressSlow:
			slow := rate > 0 && rate < zstdRate || s.Limit > 0 && s.Limit < zstdRate
			if s.packed = slow && !s.payload.streams(); s.packed {
				s.events.detail("", "files are sent compressed, since zstd is faster than the network")
			}
		}
	}
	return s.packed
}

// packWindow is how far back compressed data refer, in bytes. Sender and receiver hold a few of it.
const packWindow = 1 << 20

// Compressed is the source of what source writes, compressed by zstd. It writes the same each time
// if source does. raw and packed, unless they are nil, count the bytes before and after.
func Compressed(source Source, raw, packed *atomic.Int64) Source {
	return func(ctx context.Context, w io.Writer) (err error) {
		// More than one goroutine would cut the blocks where time says.
		z, err := zstd.NewWriter(counting{w, packed}, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(packWindow), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		if err != nil {
			return fmt.Errorf("compress: %w", err)
		}
		if err := source(ctx, counting{z, raw}); err != nil {
			return err
		}
		return z.Close()
	}
}

// Decompressed is the sink of what Compressed has compressed. Its memory is bounded, whatever
// comes.
func Decompressed(sink Sink) Sink {
	return func(ctx context.Context, r io.Reader) error {
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(packWindow))
		if err != nil {
			return fmt.Errorf("decompress: %w", err)
		}
		defer z.Close()
		if err := sink(ctx, unpacking{z}); err != nil {
			return err
		}
		if n, err := io.Copy(io.Discard, unpacking{z}); n > 0 || err != nil {
			return errors.Join(fmt.Errorf("decompress: %d bytes too many", n), err)
		}
		return nil
	}
}

// unpacking says of errors what they are about.
type unpacking struct{ r io.Reader }

func (u unpacking) Read(b []byte) (int, error) {
	n, err := u.r.Read(b)
	if err != nil && err != io.EOF { // a reader must return io.EOF itself
		err = fmt.Errorf("decompress: %w", err)
	}
	return n, err
}

// counting counts what is written.
type counting struct {
	w io.Writer
	n *atomic.Int64 // nil: nobody counts
}

func (c counting) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	if c.n != nil {
		c.n.Add(int64(n))
	}
	return n, err
}
