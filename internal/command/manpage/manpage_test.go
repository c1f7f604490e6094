package manpage

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

type grammar struct {
	Paint paint    `cmd:"" help:"Paint it - it's due."`
	Scrub struct{} `cmd:"" hidden:""`
}

type paint struct {
	Wall   string `arg:"" help:"Wall."`
	Colour string `short:"c" placeholder:"NAME" help:".red or 'blue' or \\."`
	Wet    bool   `help:"Wet on wet: ●."`
	Secret bool   `hidden:""`
}

func (paint) Help() string {
	return `Begins with words that are so many that they do not fit on one line of the source, by far.

.not a request

  code --flag 'as it is' ~ ^ ● \
    .second
  'third'

Points:

  - one
  - two`
}

func page(t *testing.T) string {
	t.Helper()
	parser, err := kong.New(new(grammar), kong.Name("decorate"))
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, Write(&b, parser.Model, Page{
		Summary: "paint - walls", Version: `decorate "v1"`, Date: "2026-01-02", Description: "Decorates.",
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
