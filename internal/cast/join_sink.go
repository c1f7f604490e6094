package cast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/schedgen/schedgen/internal/cast/unpack"
	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime"
)

// joinSink receives the data of one round or of several.
type joinSink struct {
	write   func() Sink
	compare Sink // for a survey
	close   func() error
	totals  *unpack.Totals // totals of the written data
	clock   clock.Clock    // measures how fast write is; nil: the system's

	whole  bool    // the last transfer has written everything; the sender may not know it
	intake *Intake // the data being written; nil if there are none
	stream string  // name of the stream of intake; see roundNote
}

func (c *joiner) sink(totals *unpack.Totals) (*joinSink, error) {
	none := func(context.Context, io.Reader) error { return unpack.ErrSurvey }
	if c.To != "" && !c.Compare {
		if err := os.MkdirAll(c.To, 0o777); err != nil {
			return nil, fmt.Errorf("--to: %w", err)
		}
	}
	if c.Exec != "" {
		write := func(ctx context.Context, r io.Reader) error { return c.execute(ctx, r, totals) }
		return &joinSink{write: func() Sink { return write }, compare: none, close: func() error { return nil }, totals: totals}, nil
	}
	dir, err := unpack.OpenDir(c.To)
	if c.Compare && errors.Is(err, fs.ErrNotExist) {
		return &joinSink{write: func() Sink { return none }, compare: Compare(nil, &c.held), close: func() error { return nil }, totals: totals}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("--to: %w", err)
	}
	s := &joinSink{compare: none, close: dir.Close, totals: totals}
	s.write = func() Sink {
		return Into(unpack.Target{Dir: dir, Keep: c.Resume, Held: c.held, Accept: c.Accept, Delete: c.Delete}, totals)
	}
	if c.Resume {
		s.compare = Compare(dir, &c.held)
	}
	return s, nil
}

// has returns the name of the unfinished stream and the number of its bytes received, or "" and 0
// if there is none.
func (s *joinSink) has() (stream string, bytes int64) {
	if s.intake == nil {
		return "", 0
	}
	return s.stream, s.intake.Have()
}

// digest returns the answer to the sender when all data are written.
func (s *joinSink) digest() []byte { return s.totals.Digest[:] }

// take takes part in a round. A round of the same stream as before continues it. If a round does
// not bring the rest of a stream, the sink waits for another.
func (s *joinSink) take(ctx context.Context, comm *runtime.Comm, note roundNote, o ReceiveOptions) error {
	if s.stream == "" || note.Stream != s.stream {
		if err := s.stop(); err != nil {
			return errors.Join(err, comm.Close())
		}
	}
	if note.Survey {
		return Receive(ctx, comm, s.compare, o)
	}
	if s.intake == nil {
		sink := s.write()
		if note.Packed {
			sink = Decompressed(sink)
		}
		s.intake, s.stream = NewIntake(ctx, sink, s.clock), note.Stream
	}
	err := s.intake.Receive(ctx, comm, o)
	s.whole = s.intake.Done()
	if s.stream == "" {
		err = errors.Join(err, s.stop())
	}
	return err
}

// stop abandons the unfinished stream, if there is one.
func (s *joinSink) stop() error {
	t := s.intake
	if t == nil {
		return nil
	}
	s.intake, s.stream = nil, ""
	return t.Close()
}
