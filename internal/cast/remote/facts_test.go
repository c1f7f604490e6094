package remote

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// choose decides whether a host gets a copy, has the program, or cannot run it.
func TestChoose(t *testing.T) {
	const ours, theirs = "schedcast v1.0.0, go1.26", "schedcast v0.9.0, go1.26"
	has := func(sum, version string) []Installed { return []Installed{{"schedcast", sum, version}} }
	for _, c := range []struct {
		what    string
		facts   Facts
		version string
		use     string // sum of the program that the host runs, followed by + if it is copied
		err     string
	}{
		{"the same file", Facts{System: "Linux", Machine: "x86_64", Installed: has("aa", "")}, ours, "aa", ""},
		{"the same file on what is not known", Facts{System: "Plan9", Machine: "vax", Installed: has("aa", "")}, ours, "aa", ""},
		{"none", Facts{System: "Linux", Machine: "x86_64"}, ours, "aa+", ""},
		{"none, on a machine with a program of its own", Facts{System: "Linux", Machine: "aarch64"}, ours, "64+", ""},
		{"the program of a machine of its own", Facts{System: "Linux", Machine: "aarch64", Installed: has("64", "")}, ours, "64", ""},
		{"another build of the same version", Facts{System: "Linux", Machine: "x86_64", Installed: has("bb", ours)}, ours, "aa+", ""},
		{"the same version for another machine", Facts{System: "Linux", Machine: "s390x", Installed: has("bb", ours)}, ours, "aa", ""},
		{"another version for another machine", Facts{System: "Linux", Machine: "s390x", Installed: has("bb", theirs)}, ours, "",
			`the host is Linux s390x, but this schedcast is for linux/amd64: install "schedcast v1.0.0, go1.26" there in place of "schedcast v0.9.0, go1.26"`},
		{"none for another system", Facts{System: "Darwin", Machine: "x86_64"}, ours, "",
			`the host is Darwin x86_64, but this schedcast is for linux/amd64: install "schedcast v1.0.0, go1.26" there`},
		{"a version that says nothing", Facts{System: "Darwin", Machine: "arm64", Installed: has("bb", "")}, "", "",
			"the host is Darwin arm64, but this schedcast is for linux/amd64: install the same release of schedcast here and there"},
	} {
		p := &Programs{All: []*Program{
			{Name: "schedcast", Version: c.version, sum: "aa", system: "linux", kind: "amd64"},
			{Name: "schedcast", Version: c.version, sum: "64", system: "linux", kind: "arm64"},
		}}
		program, copies, err := p.choose(&c.facts)
		if c.err != "" {
			require.EqualError(t, err, c.err, c.what)
			continue
		}
		require.NoError(t, err, c.what)
		require.Equal(t, c.use, program.sum+map[bool]string{true: "+"}[copies], c.what)
	}
}

// FuzzFacts checks that readFacts returns complete facts or an error.
func FuzzFacts(f *testing.F) {
	const good = "system Linux\nmachine x86_64\nclient ::1\nserver ::2\ninstalled a b c d\npacker gzip\nfetcher \nend\n"
	f.Add([]byte("welcome\n\nschedgen-remote 2\n" + good))
	f.Add([]byte("schedgen-remote 2\nsystem\nsystem\n" + good))
	f.Add([]byte("bye"))
	f.Fuzz(func(t *testing.T, b []byte) {
		facts, noise, err := readFacts(bufio.NewReaderSize(bytes.NewReader(b), maxLine))
		if err != nil {
			return
		}
		require.Empty(t, noise)
		for _, field := range []string{facts.System, facts.Machine, facts.Client, facts.Server, facts.Packer, facts.Fetcher} {
			require.NotContains(t, field, "\n")
			require.LessOrEqual(t, len(field), maxLine)
		}
	})
}

func TestFacts(t *testing.T) {
	const text = "Welcome!\nno newline\nschedgen-remote 2\nsystem Linux\nmachine x86_64\nclient 10.0.0.1\nserver 10.0.0.2\npacker gzip\nfetcher bash\ninstalled schedcast aa schedcast v1, go1\nend\nmore"
	r := bufio.NewReaderSize(strings.NewReader(text), maxLine)
	facts, noise, err := readFacts(r)
	require.NoError(t, err)
	require.Empty(t, noise)
	require.Equal(t, Facts{"Linux", "x86_64", "10.0.0.1", "10.0.0.2", "gzip", "bash", []Installed{{"schedcast", "aa", "schedcast v1, go1"}}}, facts)
	rest, err := r.ReadString('\n')
	require.Error(t, err)
	require.Equal(t, "more", rest)
	_, noise, err = readFacts(bufio.NewReaderSize(strings.NewReader("go away\n"), maxLine))
	require.Error(t, err)
	require.Equal(t, "go away", noise)
}

// ReadHosts reads hosts of a file, and refuses other words.
func TestReadHosts(t *testing.T) {
	for text, want := range map[string][]string{
		"":                       nil,
		"\n# nobody\n \t\n":      nil,
		"a\nb # two\r\nroot@c\n": {"a", "b", "root@c"},
		"ssh://me@h:22":          {"ssh://me@h:22"},
	} {
		hosts, err := ReadHosts(strings.NewReader(text), nil)
		require.NoError(t, err, text)
		require.Equal(t, want, hosts, text)
	}
	for text, want := range map[string]string{
		"a\n-v\n":                          `line 2: host "-v": would be an option of ssh`,
		"a b":                              `line 1: host "a b": has a blank or an unprintable character`,
		"\x1b2J":                           `line 1: host "\x1b2J": has a blank or an unprintable character`,
		"a\n\nb\na":                        `line 4: host "a" is named twice, first in line 1`,
		"a\n" + strings.Repeat("x", 256):   `line 2: host "xxxxxxxxxxxxxxxxxxxx"…: 256 bytes, at most 255 are allowed`,
		"a\n" + strings.Repeat("x", 70000): "line 2: bufio.Scanner: token too long",
	} {
		_, err := ReadHosts(strings.NewReader(text), nil)
		require.EqualError(t, err, want)
	}
}

// FuzzHosts checks that ReadHosts returns distinct hosts or an error.
func FuzzHosts(f *testing.F) {
	f.Add("a\nb # c\n")
	f.Fuzz(func(t *testing.T, text string) {
		hosts, err := ReadHosts(strings.NewReader(text), nil)
		if err != nil {
			return
		}
		again, err := ReadHosts(strings.NewReader(strings.Join(hosts, "\n")), nil)
		require.NoError(t, err)
		require.Equal(t, hosts, again)
	})
}

// Lines come complete, however they are written. Long ones come in parts. The last line that is not
// blank is remembered.
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
		require.True(t, last == l.end(), "the last is another one") // long ones are not printed
		require.True(t, slices.Equal(want, got), "%d lines, want %d", len(got), len(want))
	})
}

// The reason tells an unknown key from a changed one, although ssh's last line is the same.
func TestKeys(t *testing.T) {
	l := &lines{login: (&Config{SSH: "-F 'my conf'"}).client() + " a"}
	fmt.Fprint(l, "Host key verification failed.\r\n")
	require.Equal(t, "its host key is not known here: connect once with ssh -F 'my conf' a and check the key", l.reason())
	fmt.Fprint(l, "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\nOffending ED25519 key in /root/.ssh/known_hosts:3\r\nHost key verification failed.\r\n")
	require.Equal(t, "its host key has changed, so somebody may be in between (Offending ED25519 key in /root/.ssh/known_hosts:3); if it has a new key, run ssh-keygen -R for it", l.reason())
	fmt.Fprint(l, "Permission denied\n")
	require.Equal(t, "Permission denied", l.reason())
}
