package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/schedgen/schedgen/internal/cast"
	"github.com/schedgen/schedgen/internal/cast/pack"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/words"
)

// finish prints the result of a cast, and returns the error of the command. err is the sender's
// error.
func (c *sendCmd) finish(ctx context.Context, r *cast.Result, std terminal.Stdio, err error) error {
	bad := int64(r.Failed())
	if c.JSON {
		if err := terminal.WriteJSON(std.Out, r, ""); err != nil {
			return err
		}
	} else if c.Checksum && err == nil {
		if _, err := io.WriteString(std.Out, comparedWords(r)); err != nil {
			return err
		}
	} else if !c.Quiet || bad > 0 || err != nil {
		if _, err := io.WriteString(std.Out, resultWords(r, ctx.Err() != nil)); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return terminal.Failed(err)
	case bad > 0:
		return terminal.Failed(fmt.Errorf("%s of %d failed", words.Count(bad, "receiver", "receivers"), len(r.Receivers)))
	}
	return skipsFail(r.Skipped)
}

// skipsFail returns the error for n skipped entries, or nil if n is 0.
func skipsFail(n int64) error {
	if n == 0 {
		return nil
	}
	return terminal.Failed(fmt.Errorf("%s skipped; --exclude leaves entries out on purpose, --links or --copy-links sends links", words.Count(n, "entry was", "entries were")))
}

// comparedWords says what each host lacks.
func comparedWords(r *cast.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s compared at %s\n", r.What, words.Bytes(float64(r.Bytes)), words.Count(int64(len(r.Receivers)-r.Failed()), "host", "hosts"))
	for i := range r.Receivers {
		each := &r.Receivers[i]
		switch l := each.Lacks; {
		case !each.Done || l == nil:
			fmt.Fprintf(&b, "  %s: %s\n", each.Name, each.Reason)
		case l.Files == 0:
			fmt.Fprintf(&b, "  %s: lacks nothing\n", each.Name)
		default:
			names := strings.Join(l.Names, ", ")
			if more := l.Files - int64(len(l.Names)); more > 0 {
				names += fmt.Sprintf(", and %d more", more)
			}
			fmt.Fprintf(&b, "  %s: lacks %s in %s: %s\n", each.Name, words.Bytes(float64(l.Bytes)), words.Count(l.Files, "file", "files"), names)
		}
	}
	return b.String()
}

// resultWords describes the result of a cast, which may have been interrupted.
func resultWords(r *cast.Result, interrupted bool) string {
	var b strings.Builder
	done, all := 0, words.Count(int64(len(r.Receivers)), "receiver", "receivers")
	for i := range r.Receivers {
		if r.Receivers[i].Done {
			done++
		}
	}
	how := ""
	if r.Transport != "" {
		how = fmt.Sprintf(" after %.2f s by %s", r.Seconds, cast.WayOf(r.Transport))
	}
	switch {
	case interrupted:
		fmt.Fprintf(&b, "%s: interrupted%s: %d of %s got it", r.What, how, done, all)
	case done == 0:
		fmt.Fprintf(&b, "%s: failed%s: 0 of %s got it", r.What, how, all)
	default:
		fmt.Fprintf(&b, "%s: %s to %d of %s by %s in %.2f s, %s/s", r.What, words.Bytes(float64(r.Bytes)), done, all,
			cast.WayOf(r.Transport), r.Seconds, words.Bytes(float64(r.Bytes)/max(r.Seconds, 1e-3)))
	}
	b.WriteByte('\n')
	if r.Setup != nil && r.Transport != "" {
		fmt.Fprintf(&b, "  set-up %.2f s%s, all %.2f s\n", r.Setup.Seconds, copiesWords(r.Setup), r.Total)
	}
	for i := range r.Receivers {
		switch r := &r.Receivers[i]; {
		case !r.Done:
			fmt.Fprintf(&b, "  %s: %s\n", r.Name, r.Reason)
		case r.Command != "":
			fmt.Fprintf(&b, "  %s: has everything, but %s\n", r.Name, r.Command)
		}
	}
	return b.String()
}

// copiesWords says how hosts have got the program.
func copiesWords(s *cast.Setup) string {
	if s.Sent+s.Passed == 0 {
		return ""
	}
	return fmt.Sprintf(" (program of %s: %d sent, %d passed on by hosts)", words.Bytes(float64(s.Bytes)), s.Sent, s.Passed)
}

// plan is what a cast would send, for --dry-run.
type plan struct {
	What      string       `json:"what"`
	Totals    *pack.Totals `json:"totals,omitempty"` // nil for a stream
	Receivers int          `json:"receivers"`
	Hosts     []cast.Visit `json:"hosts,omitempty"`
	Skipped   int64        `json:"skipped,omitempty"` // entries that could not be sent
	Seconds   float64      `json:"seconds,omitempty"` // time of connecting to all hosts
}

// print prints the plan. It returns an error if hosts would get nothing.
func (p *plan) print(std terminal.Stdio, asJSON bool) error {
	if err := p.write(std, asJSON); err != nil {
		return err
	}
	bad := int64(0)
	for i := range p.Hosts {
		if p.Hosts[i].Reason != "" {
			bad++
		}
	}
	if bad > 0 {
		return terminal.Failed(fmt.Errorf("%s of %d would get nothing", words.Count(bad, "host", "hosts"), len(p.Hosts)))
	}
	return skipsFail(p.Skipped)
}

func (p *plan) write(std terminal.Stdio, asJSON bool) error {
	if asJSON {
		return terminal.WriteJSON(std.Out, p, "")
	}
	what := "a stream"
	if p.Totals != nil {
		what = fmt.Sprintf("%s, %s", words.Count(p.Totals.Entries, "entry", "entries"), words.Size(p.Totals.Bytes))
	}
	var b strings.Builder
	to := words.Count(int64(p.Receivers), "receiver", "receivers")
	if p.Receivers == 0 {
		to = "all receivers that come in time"
	}
	fmt.Fprintf(&b, "would send %s to %s: %s\n", p.What, to, what)
	if len(p.Hosts) > 0 {
		fmt.Fprintf(&b, "  set-up: %s, connected in %.2f s\n", p.copies(), p.Seconds)
	}
	for i := range p.Hosts {
		fmt.Fprintf(&b, "  %s: %s\n", p.Hosts[i].Name, visitWords(&p.Hosts[i]))
	}
	_, err := io.WriteString(std.Out, b.String())
	return err
}

// copies says how hosts without the program would get it.
func (p *plan) copies() string {
	var here, passed, bytes int64
	first := map[int64]bool{} // whether a host gets the program from here, by the length of its copy
	for i := range p.Hosts {
		switch v := &p.Hosts[i]; {
		case v.Reason != "" || !v.Copy:
			continue
		case v.Fetches && first[v.Bytes]:
			passed++
		default:
			here++
			bytes += v.Bytes
			first[v.Bytes] = true
		}
	}
	if here == 0 {
		return "no host needs the program"
	}
	return fmt.Sprintf("%s of the program sent, %s, and %d passed on by hosts", words.Count(here, "copy", "copies"), words.Bytes(float64(bytes)), passed)
}

// visitWords says what would happen at a host.
func visitWords(v *cast.Visit) string {
	switch {
	case v.Reason != "":
		return v.Reason
	case v.Copy:
		return fmt.Sprintf("would get a copy of %s, %s", v.Program, words.Bytes(float64(v.Bytes)))
	}
	return "has " + v.Program
}
