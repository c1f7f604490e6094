package manpage

import (
	"bytes"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/command/syntax"
)

// detail is the long help text of a verb.
const detail = `Begins with words that are so many that they do not fit on one line of the source, by far.

.not a request

  code --flag 'as it is' ~ ^ ● \
    .second
  'third'

Points:

  - one
  - two`

// grammar returns a command with the verb paint and a hidden one.
func grammar() *syntax.Verb {
	app := &syntax.Verb{Name: "decorate", Flags: []*syntax.Value{{Name: "help", Short: 'h', Bool: true, Help: "Show context-sensitive help."}}}
	app.Verbs = []*syntax.Verb{
		{
			Name: "paint", Parent: app, Help: "Paint it - it's due.", Detail: detail, Arguments: " <wall> [flags]",
			Args: []*syntax.Value{{Name: "wall", Help: "Wall."}},
			Flags: []*syntax.Value{
				{Name: "colour", Short: 'c', Placeholder: "NAME", Help: `.red or 'blue' or \.`},
				{Name: "wet", Bool: true, Help: "Wet on wet: ●."}, {Name: "secret", Bool: true, Hidden: true},
			},
		},
		{Name: "scrub", Parent: app, Hidden: true},
	}
	return app
}

func page(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Write(&b, grammar(), Page{
		Summary: "paint - walls", Description: "Decorates.",
		Build:    &debug.BuildInfo{Main: debug.Module{Version: `"v1"`}, Settings: []debug.BuildSetting{{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}}},
		Sections: []Section{{Title: "FILES", Text: "Some.", Rows: []Row{{Term: "a'b", Text: "what"}}}},
	}))
	return b.String()
}

func TestPage(t *testing.T) {
	const want = `.TH "DECORATE" "1" "2026-01-02" "decorate \(dqv1\(dq" "User Commands"
.SH "NAME"
decorate \- paint \- walls
.SH "SYNOPSIS"
\fBdecorate\fR \fIverb\fR [\fIarguments\fR] [\fIflags\fR]
.SH "DESCRIPTION"
Decorates.
.SH "OPTIONS"
Every verb also takes these options.
.TP
\fB\-h\fR, \fB\-\-help\fR
Show context\-sensitive help.
.SH "VERBS"
.SS "decorate paint"
\fBdecorate paint\fR <wall> [flags]
.PP
Paint it \- it's due.
.PP
Begins with words that are so many that they do not fit on one line of
the source, by far.
.PP
\&.not a request
.PP
.RS "4"
.nf
code \-\-flag \(aqas it is\(aq \(ti \(ha \[u25CF] \e
  .second
\(aqthird\(aq
.fi
.RE
.PP
Points:
.IP \(bu 2
one
.IP \(bu 2
two
.TP
\fIwall\fR
Wall.
.TP
\fB\-c\fR, \fB\-\-colour\fR=\fINAME\fR
\&.red or 'blue' or \e.
.TP
\fB\-\-wet\fR
Wet on wet: \[u25CF].
.SH "FILES"
Some.
.TP
\fBa\(aqb\fR
what
`
	require.Equal(t, want, page(t))
}

// TestRenders checks that the formatters of manual pages report no errors.
func TestRenders(t *testing.T) {
	for _, c := range []struct{ tool, args string }{
		{"groff", "-man -ww -Tutf8"},
		{"mandoc", "-T lint"},
	} {
		if _, err := exec.LookPath(c.tool); err != nil {
			t.Logf("no %s here", c.tool)
			continue
		}
		cmd := exec.Command(c.tool, strings.Fields(c.args)...)
		cmd.Stdin = strings.NewReader(page(t))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		require.NoError(t, err, "%s: %s%s", c.tool, out, stderr.String())
		require.Empty(t, stderr.String(), c.tool)
		if c.tool == "mandoc" {
			require.Empty(t, string(out))
		}
	}
}
