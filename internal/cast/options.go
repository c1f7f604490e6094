package cast

import (
	"context"
	"io"
	"time"

	"github.com/schedgen/schedgen/internal/cast/block"
	"github.com/schedgen/schedgen/internal/cast/pack"
	"github.com/schedgen/schedgen/internal/cast/record"
	"github.com/schedgen/schedgen/internal/cast/unpack"
)

// Source writes the data to send to w. It returns nil when it has written everything, and an error
// soon after ctx has ended or a write has failed.
type Source func(ctx context.Context, w io.Writer) error

// Sink reads the received data from r until r ends, and returns nil when it has stored them. It
// returns an error soon after ctx has ended or a read has failed.
type Sink func(ctx context.Context, r io.Reader) error

// Digest identifies the data that are sent.
type Digest = record.Digest

// Tree returns the source of the files of o, of which it sends the blocks in lacked; a nil set
// means all. The source fails if the files have changed since an earlier cast of o. See
// [pack.Origin.Tree].
func Tree(o *pack.Origin, lacked *block.Set) Source {
	return func(ctx context.Context, w io.Writer) error { return o.Tree(ctx, w, lacked) }
}

// Survey returns the source of a survey, which receivers compare with their files; see
// [pack.Origin.Survey]. If o is quick, the survey has only the files with blocks in lacked.
func Survey(o *pack.Origin, lacked *block.Set) Source {
	return func(ctx context.Context, w io.Writer) error { return o.Survey(ctx, w, lacked) }
}

// Outline returns the source of an outline of a quick origin; see [pack.Origin.Outline]. Compare is
// its sink.
func Outline(o *pack.Origin) Source { return o.Outline }

// Compare returns the sink of a survey or an outline. It sets *held to the data that are below dir.
func Compare(dir unpack.Dir, held **unpack.Held) Sink {
	return func(ctx context.Context, r io.Reader) (err error) {
		*held, err = unpack.Survey(ctx, r, dir)
		return err
	}
}

// Stream returns the source of all bytes of in, whose length need not be known. When all have been
// read, it sets *digest, unless digest is nil.
func Stream(in io.Reader, digest *Digest) Source {
	return func(ctx context.Context, w io.Writer) error {
		got, err := pack.Stream(ctx, w, in)
		if err == nil && digest != nil {
			*digest = got
		}
		return err
	}
}

// Into returns the sink of the data of Tree and Stream. It sets *totals, unless totals is nil, to
// their number and digest.
func Into(t unpack.Target, totals *unpack.Totals) Sink {
	return func(ctx context.Context, r io.Reader) error {
		got, err := unpack.Unpack(ctx, r, t)
		if totals != nil {
			*totals = got
		}
		return err
	}
}

// Options say how a sender to hosts works. The zero value of a field means its default.
type Options struct {
	Link
	Limit  float64 // bytes a second at most; default no limit
	Resume bool    // send to each receiver that resumes only the blocks that it lacks
	// Compare makes receivers that resume compare their files. Nothing is sent. See Receiver.Lacks.
	Compare bool
	Strict  bool // the first receiver that fails ends the cast for all
	// Compress says when files are compressed. A stream is compressed only with CompressAlways.
	Compress Compress
	// Silence is the time after which a host without a sign of life is lost; default 10 s;
	// negative: never. The other hosts wait for a shorter time. A host that comes back in time gets
	// the rest after them.
	Silence time.Duration
	// Wait is the time after which the cast begins with the receivers that have come. By default it
	// waits for all.
	Wait   time.Duration
	Alone  bool        // the process only casts: collect garbage more often, to take less memory
	Events func(Event) // called with each event, by one goroutine at a time; may be nil

	piece int // see SendOptions
}

const defaultSilence = 10 * time.Second

// SendOptions say how Send works. The zero value of a field means its default.
type SendOptions struct {
	Limit    float64        // bytes a second at most; default no limit
	Rate     float64        // known rate of the networks in bytes a second: pieces are shorter if it is low; default not known
	Strict   bool           // the first rank that fails ends the cast for all
	Progress func(Progress) // called before each piece, by the goroutine that calls Send; may be nil
	Behind   bool           // leave out receivers whose disk or network is much slower than those of the others, with ErrSlow
	Chain    bool           // comm uses bcast/chain, so a slow rank slows down those after it

	piece int                      // length of a piece in bytes, with its head: firstLen to pieceLen, which is the default
	stale func(behind uint64) bool // reports whether all ranks pause after a piece; default tally.stale with Behind, else never
}

// ReceiveOptions say how Receive works. The zero value of a field means its default.
type ReceiveOptions struct {
	Patience time.Duration  // time after which a sink that takes nothing while others wait is given up; default 30 s
	From     int64          // byte of the stream with which the sender begins, at most Intake.Have; see [Tail]
	Progress func(Progress) // called after each piece, by the goroutine that calls Receive; may be nil
	Answer   func() []byte  // answer to the sender once everything is stored, at most 16 MiB; default empty

	piece int // at least the sender's
}

const defaultPatience = 30 * time.Second

// Progress says how far a cast has come.
type Progress struct {
	Bytes  int64  // number of bytes broadcast, or received
	Failed int    // at the sender: number of receivers that are lost or have failed
	Slow   []Slow // at the sender: up to three receivers for whose sinks the others have waited lately, the slowest first
}

// Slow is a receiver that holds up the others.
type Slow struct {
	Rank int
	Rate float64 // rate of its sink in bytes a second
}

// Outcome says how a cast has ended at a receiver.
type Outcome struct {
	Rank   int    `json:"rank,omitempty"`
	Done   bool   `json:"done"`             // the receiver has stored everything
	Reason string `json:"reason,omitempty"` // why not, if Done is false
	Answer []byte `json:"-"`                // the receiver's answer; see ReceiveOptions
	Behind bool   `json:"-"`                // it was left out because it is slow
	told   bool   // the receiver itself gave the reason
	Silent bool   `json:"-"` // it gave no sign of life, and may come again
}

// Report says how a cast has ended.
type Report struct {
	Outcomes []Outcome // by rank, from rank 1 on
	Bytes    int64     // number of bytes broadcast
}

// Failed returns the number of receivers that do not have everything.
func (r *Report) Failed() (n int) {
	for _, o := range r.Outcomes {
		if !o.Done {
			n++
		}
	}
	return n
}
