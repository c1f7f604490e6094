package cast

import (
	"context"
	"fmt"
	"io"
)

// Tail returns the source of all bytes of source after the first from, for receivers that have
// these. source must write the same bytes each time.
func Tail(source Source, from int64) Source {
	if from == 0 {
		return source
	}
	return func(ctx context.Context, w io.Writer) error {
		t := &tail{ctx, w, from}
		if err := source(ctx, t); err != nil {
			return err
		}
		if t.skip > 0 {
			return fmt.Errorf("the source has become shorter: %d of %d bytes sent before are missing", t.skip, from)
		}
		return nil
	}
}

// tail discards skip bytes, and writes all later bytes to w.
type tail struct {
	ctx  context.Context
	w    io.Writer
	skip int64
}

func (t *tail) Write(b []byte) (int, error) {
	known := int(min(t.skip, int64(len(b))))
	t.skip -= int64(known)
	if known == len(b) {
		if t.ctx.Err() != nil {
			return 0, context.Cause(t.ctx)
		}
		return known, nil
	}
	n, err := t.w.Write(b[known:])
	return known + n, err
}
