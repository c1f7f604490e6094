package remote

import (
	"bufio"
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Who gets a copy, who has the program, and who cannot run it.
func TestSuits(t *testing.T) {
	const ours, theirs = "schedgen v1.0.0, go1.26", "schedgen v0.9.0, go1.26"
	for _, c := range []struct {
		what      string
		facts     Facts
		version   string
		installed bool
		err       string
	}{
		{"the same file", Facts{System: "Linux", Machine: "x86_64", Sum: "aa"}, ours, true, ""},
		{"the same file on what is not known", Facts{System: "Plan9", Machine: "vax", Sum: "aa"}, ours, true, ""},
		{"none", Facts{System: "Linux", Machine: "x86_64"}, ours, false, ""},
		{"another build of the same version", Facts{System: "Linux", Machine: "x86_64", Sum: "bb", Version: ours}, ours, false, ""},
		{"the same version for another machine", Facts{System: "Linux", Machine: "aarch64", Sum: "bb", Version: ours}, ours, true, ""},
		{"another version for another machine", Facts{System: "Linux", Machine: "aarch64", Sum: "bb", Version: theirs}, ours, false,
			`it is a host of Linux aarch64, and this schedgen is for linux/amd64: install "schedgen v1.0.0, go1.26" there in place of "schedgen v0.9.0, go1.26"`},
		{"none for another system", Facts{System: "Darwin", Machine: "x86_64"}, ours, false,
			`it is a host of Darwin x86_64, and this schedgen is for linux/amd64: install "schedgen v1.0.0, go1.26" there`},
		{"a version that says nothing", Facts{System: "Darwin", Machine: "arm64", Sum: "bb"}, "", false,
			"it is a host of Darwin arm64, and this schedgen is for linux/amd64: a schedgen of a release, the same here and there, must be installed"},
	} {
		p := &Program{Name: "schedgen", Version: c.version, sum: "aa", system: "linux", kind: "amd64"}
		installed, err := p.suits(&c.facts)
		require.Equal(t, c.installed, installed, c.what)
		if c.err == "" {
			require.NoError(t, err, c.what)
		} else {
			require.EqualError(t, err, c.err, c.what)
		}
	}
}

// FuzzFacts: what is read of a host is all that is asked, or an error.
func FuzzFacts(f *testing.F) {
	const good = "system Linux\nmachine x86_64\nclient ::1\nsum \nversion a b\npacker gzip\nend\n"
	f.Add([]byte("welcome\n\nschedgen-remote 1\n" + good))
	f.Add([]byte("schedgen-remote 1\nsystem\nsystem\n" + good))
	f.Add([]byte("bye"))
	f.Fuzz(func(t *testing.T, b []byte) {
		facts, noise, err := readFacts(bufio.NewReaderSize(bytes.NewReader(b), maxLine))
		if err != nil {
			return
		}
		require.Empty(t, noise)
		for _, field := range []string{facts.System, facts.Machine, facts.Client, facts.Sum, facts.Version, facts.Packer} {
			require.NotContains(t, field, "\n")
			require.LessOrEqual(t, len(field), maxLine)
		}
	})
}

func TestFacts(t *testing.T) {
	const text = "Welcome!\nno newline\nschedgen-remote 1\nsystem Linux\nmachine x86_64\nclient 10.0.0.1\nsum aa\nversion schedgen v1, go1\npacker gzip\nend\nmore"
	r := bufio.NewReaderSize(strings.NewReader(text), maxLine)
	facts, noise, err := readFacts(r)
	require.NoError(t, err)
	require.Empty(t, noise)
	require.Equal(t, Facts{"Linux", "x86_64", "10.0.0.1", "aa", "schedgen v1, go1", "gzip"}, facts)
	rest, err := r.ReadString('\n')
	require.Error(t, err)
	require.Equal(t, "more", rest)
	_, noise, err = readFacts(bufio.NewReaderSize(strings.NewReader("go away\n"), maxLine))
	require.Error(t, err)
	require.Equal(t, "go away", noise)
}

// Names of hosts in a file, and what is none.
func TestReadHosts(t *testing.T) {
	for text, want := range map[string][]string{
		"":                       nil,
		"\n# nobody\n \t\n":      nil,
		"a\nb # two\r\nroot@c\n": {"a", "b", "root@c"},
		"ssh://me@h:22":          {"ssh://me@h:22"},
	} {
		hosts, err := ReadHosts(strings.NewReader(text))
		require.NoError(t, err, text)
		require.Equal(t, want, hosts, text)
	}
	for text, want := range map[string]string{
		"a\n-v\n":                          `line 2: host "-v": would be an option of ssh`,
		"a b":                              `line 1: host "a b": has a blank in it, or what cannot be printed`,
		"\x1b[2J":                          `line 1: host "\x1b[2J": has a blank in it, or what cannot be printed`,
		"a\n\nb\na":                        `line 4: host "a" is there twice, first in line 1`,
		"a\n" + strings.Repeat("x", 256):   `line 2: host "xxxxxxxxxxxxxxxxxxxx"…: 256 bytes, at most 255 are allowed`,
		"a\n" + strings.Repeat("x", 70000): "line 2: bufio.Scanner: token too long",
	} {
		_, err := ReadHosts(strings.NewReader(text))
		require.EqualError(t, err, want)
	}
}

// FuzzHosts: what is read is hosts, each once.
func FuzzHosts(f *testing.F) {
	f.Add("a\nb # c\n")
	f.Fuzz(func(t *testing.T, text string) {
		hosts, err := ReadHosts(strings.NewReader(text))
		if err != nil {
			return
		}
		again, err := ReadHosts(strings.NewReader(strings.Join(hosts, "\n")))
		require.NoError(t, err)
		require.Equal(t, hosts, again)
	})
}

// A shell reads words as they are, whatever they are.
func TestQuote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[ -~\n\té]{0,9}`), 1, 20).Draw(t, "words")
		text := "printf '%s\\0'"
		for _, w := range words {
			text += " " + quote(w)
		}
		out, err := exec.Command("sh", "-c", text).Output()
		require.NoError(t, err)
		require.Equal(t, strings.Join(words, "\x00")+"\x00", string(out))
	})
}

// Lines come whole however they are written, long ones in parts, and the last that says something is remembered.
func TestLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.SampledFrom([]string{"a", "", " ", strings.Repeat("x", maxLine-1), strings.Repeat("y", maxLine), strings.Repeat("z", 2*maxLine+1)})).Draw(t, "lines")
		var want []string
		last := ""
		for _, line := range text {
			for len(line) > maxLine {
				want, line = append(want, line[:maxLine]), line[maxLine:]
			}
			want = append(want, line)
			if clean := strings.TrimSpace(line); clean != "" {
				last = clean
			}
		}
		var got []string
		l := &lines{say: func(line string) { got = append(got, line) }}
		rest := []byte(strings.Join(text, "\n"))
		if len(text) > 0 {
			rest = append(rest, '\n')
		}
		for len(rest) > 0 {
			n := rapid.IntRange(1, len(rest)).Draw(t, "bytes")
			m, err := l.Write(rest[:n])
			require.NoError(t, err)
			require.Equal(t, n, m)
			rest = rest[n:]
		}
		require.True(t, last == l.end(), "the last is another one") // long ones are not to be printed
		require.True(t, slices.Equal(want, got), "%d lines, want %d", len(got), len(want))
	})
}
