package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/schedgen/schedgen/cast"
)

// castOutcome is how a cast has ended.
type castOutcome struct {
	What      string         `json:"what"`
	Transport string         `json:"transport,omitempty"` // "": nobody has come
	Bytes     int64          `json:"bytes"`               // of files, holes included; of a stream those that were broadcast
	Sent      int64          `json:"sent"`                // bytes that were broadcast
	Seconds   float64        `json:"seconds"`
	Error     string         `json:"error,omitempty"`
	Receivers []castReceiver `json:"receivers"`
}

// castReceiver is how it has ended at one.
type castReceiver struct {
	Name         string `json:"name"`
	cast.Outcome        // rank 0: it has not come
}

func newCastOutcome(p *castPlan, transport string, took time.Duration, sent int64, all []castReceiver) *castOutcome {
	o := &castOutcome{What: p.What, Transport: transport, Bytes: sent, Sent: sent, Seconds: took.Seconds(), Receivers: all}
	if p.Totals != nil {
		o.Bytes = p.Totals.Bytes
	}
	return o
}

// failed returns how many receivers do not have all.
func (o *castOutcome) failed() (n int) {
	for i := range o.Receivers {
		if !o.Receivers[i].Done {
			n++
		}
	}
	return n
}

// finish prints the outcome and returns what is wrong; err is the sender's.
func (o *castOutcome) finish(ctx context.Context, std stdio, asJSON bool, err error) error {
	if err != nil {
		o.Error = err.Error()
	}
	if printed := o.print(std, asJSON); printed != nil {
		return printed
	}
	switch bad := int64(o.failed()); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return failed(err)
	case bad > 0:
		return failed(fmt.Errorf("%s of %d without all of it", plural(bad, "receiver", "receivers"), len(o.Receivers)))
	}
	return nil
}

func (o *castOutcome) print(std stdio, asJSON bool) error {
	if asJSON {
		return writeJSON(std.Out, o, "")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s to %d of %s", o.What, about(float64(o.Bytes)), len(o.Receivers)-o.failed(), plural(int64(len(o.Receivers)), "receiver", "receivers"))
	if o.Transport != "" {
		fmt.Fprintf(&b, " by %s in %.2f s, %s/s", wayOf(o.Transport), o.Seconds, about(float64(o.Bytes)/max(o.Seconds, 1e-3)))
	}
	b.WriteByte('\n')
	for i := range o.Receivers {
		if r := &o.Receivers[i]; !r.Done {
			fmt.Fprintf(&b, "  %s: %s\n", r.who(), r.Reason)
		}
	}
	_, err := fmt.Fprint(std.Out, b.String())
	return err
}

// who names a receiver.
func (r *castReceiver) who() string {
	if r.Rank == 0 {
		return r.Name
	}
	return fmt.Sprintf("%s, rank %d", r.Name, r.Rank)
}

// about spells bytes in three digits or so.
func about(bytes float64) string {
	unit := 0
	names := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for bytes >= 1024 && unit < len(names)-1 {
		bytes, unit = bytes/1024, unit+1
	}
	digits := 0
	if unit > 0 && bytes < 100 {
		digits = 1
	}
	return strconv.FormatFloat(bytes, 'f', digits, 64) + " " + names[unit]
}

func plural(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// castRate is a number of bytes a second, 0 for no limit.
type castRate int64

// UnmarshalText reads "200MiB/s".
func (r *castRate) UnmarshalText(text []byte) error {
	number, ok := strings.CutSuffix(string(text), "/s")
	if !ok {
		return fmt.Errorf("%q is no rate: must be a size and /s, such as 200MiB/s", text)
	}
	var size byteSize
	if err := size.UnmarshalText([]byte(number)); err != nil {
		return err
	}
	if size == 0 {
		return errors.New("a rate of 0")
	}
	*r = castRate(size)
	return nil
}
