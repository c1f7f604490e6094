package cast

import (
	"context"
	"io"
	"time"

	"github.com/schedgen/schedgen/cast/block"
	"github.com/schedgen/schedgen/cast/pack"
	"github.com/schedgen/schedgen/cast/record"
	"github.com/schedgen/schedgen/cast/unpack"
)

// Source writes what is to be sent. It returns when all is written, and soon after ctx has ended or
// a write has failed.
type Source func(ctx context.Context, w io.Writer) error

// Sink takes what comes, up to the end of r. Nil means that all is where it belongs. It returns
// soon after ctx has ended or a read has failed.
type Sink func(ctx context.Context, r io.Reader) error

// Digest identifies what is sent.
type Digest = record.Digest

// Tree is the source of a file or a directory. It sends the blocks in lacked, or all if that is
// nil. See [pack.Origin.Tree]. If the origin has changed since an earlier cast of it, the cast
// fails.
func Tree(o *pack.Origin, lacked *block.Set) Source {
	return func(ctx context.Context, w io.Writer) error { return o.Tree(ctx, w, lacked) }
}

// Survey is the source of a survey, which receivers compare with the files that they have; see
// [pack.Origin.Survey]. Of a quick origin it has the files of which receivers lack some block.
func Survey(o *pack.Origin, lacked *block.Set) Source {
	return func(ctx context.Context, w io.Writer) error { return o.Survey(ctx, w, lacked) }
}

// Outline is the source of an outline of a quick origin; see [pack.Origin.Outline]. Its sink is
// that of a survey.
func Outline(o *pack.Origin) Source { return o.Outline }

// Compare is the sink of a survey. It says in held what is there below dir.
func Compare(dir unpack.Dir, held **unpack.Held) Sink {
	return func(ctx context.Context, r io.Reader) (err error) {
		*held, err = unpack.Survey(ctx, r, dir)
		return err
	}
}

// Stream is the source of all that in gives, whose length nobody knows. It sets *digest, unless
// that is nil, when all has been read.
func Stream(in io.Reader, digest *Digest) Source {
	return func(ctx context.Context, w io.Writer) error {
		got, err := pack.Stream(ctx, w, in)
		if err == nil && digest != nil {
			*digest = got
		}
		return err
	}
}

// Into is the sink of what Tree and Stream send. It says in totals, unless that is nil, how much it
// was, and its digest.
func Into(t unpack.Target, totals *unpack.Totals) Sink {
	return func(ctx context.Context, r io.Reader) error {
		got, err := unpack.Unpack(ctx, r, t)
		if totals != nil {
			*totals = got
		}
		return err
	}
}

// Options say how a sender to hosts works. The zero value of a field stands for its default.
type Options struct {
	Link
	Limit  float64 // bytes a second at most; default no limit
	Resume bool    // send to each receiver that resumes only the blocks that it lacks
	// Compare has receivers that resume compare what they have, and sends nothing: see Receiver.Lacks.
	Compare bool
	Strict  bool // the first receiver that fails ends the cast for all
	// Compress says whether files are sent compressed. A stream is, only if it is CompressAlways.
	Compress Compress
	// Silence is the time after which a host without a sign of life is lost; default 10 s, negative:
	// never. The others wait for it for a shorter time, and it gets the rest behind them.
	Silence time.Duration
	// Wait is the time after which the cast begins with the receivers that have come; default: it
	// waits for all.
	Wait   time.Duration
	Alone  bool        // the process only casts: take less memory by more garbage collections
	Events func(Event) // is called with news, by one goroutine at a time; default nobody
}

const defaultSilence = 10 * time.Second

// SendOptions say how the rank of a communicator that sends works. The zero value of a field stands
// for its default.
type SendOptions struct {
	Limit    float64        // bytes a second at most; default no limit
	Rate     float64        // bytes a second that the networks take, as far as is known: where that is little, little is under way; default not known
	Strict   bool           // the first rank that fails ends the cast for all
	Progress func(Progress) // called before each piece, by the goroutine that is inside Send; default nobody
	Behind   bool           // receivers that are much slower than the others, as is their disk or their network, are left out, with ErrSlow
	Chain    bool           // comm broadcasts along the chain of its ranks, by bcast/chain: who is slow slows down those behind

	piece int                      // bytes of a piece, with its head, at least firstLen; default and at most pieceLen
	stale func(behind uint64) bool // whether all pause behind that piece; default as tally.stale with Behind, else never
}

// ReceiveOptions say how a receiver works. The zero value of a field stands for its default.
type ReceiveOptions struct {
	Patience time.Duration  // a sink that takes nothing for so long, while others wait for it, is given up; default 30 s
	From     int64          // where in the stream what is sent begins, at most what has come of it: see [Tail] and [Intake]
	Progress func(Progress) // called after each piece, by the goroutine that is inside Receive; default nobody
	Answer   func() []byte  // what the sender is told once all is where it belongs, at most some MiB; default nothing

	piece int // as the sender's, or more
}

const defaultPatience = 30 * time.Second

// Progress is how far a cast has come.
type Progress struct {
	Bytes  int64  // what has been broadcast, or has come
	Failed int    // at the sender: receivers that are lost or have given up
	Slow   []Slow // at the sender: the receivers whose sinks the others have waited for lately, the slowest first, at most three
}

// Slow is a receiver that holds up the others.
type Slow struct {
	Rank int
	Rate float64 // bytes a second that its sink takes
}

// Outcome is how a cast has ended at a receiver.
type Outcome struct {
	Rank   int    `json:"rank,omitempty"`
	Done   bool   `json:"done"`             // all is where it belongs
	Reason string `json:"reason,omitempty"` // why not
	Answer []byte `json:"-"`                // what the receiver has said in the end
	Behind bool   `json:"-"`                // it was left out since it is slow: it is to be served by itself
	told   bool   // the receiver itself gave the reason
	Silent bool   `json:"-"` // it has given no sign of life, and may live and come again
}

// Report is how a cast has ended.
type Report struct {
	Outcomes []Outcome // of ranks 1, 2, …
	Bytes    int64     // that were broadcast
}

// Failed returns how many receivers do not have all.
func (r *Report) Failed() (n int) {
	for _, o := range r.Outcomes {
		if !o.Done {
			n++
		}
	}
	return n
}
