package filter

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

// The first rule that matches decides, with the patterns of rsync.
func TestExcludes(t *testing.T) {
	for _, c := range []struct {
		rules string // + or - before each pattern
		sent  string // a slash at the end: a directory
		not   string
	}{
		{"", "a a/b .git/", ""},
		{"-*.o", "a.c o", "a.o sub/a.o .o"},
		{"-/build", "src/build", "build build/"},
		{"-build/", "build src/build", "build/ src/build/"},
		{"-a/b", "a/ b a/c ab", "a/b x/a/b"},
		{"-/a/b", "x/a/b", "a/b"},
		{"-a/*", "a/ a/b/c", "a/b x/a/b"},
		{"-a/**", "a/ a", "a/b a/b/c x/a/b"},
		{"-a/***", "a ab/ ab/c", "a/ a/b a/b/c x/a/b"},
		{"-?.py", "ab.py .py", "a.py x/é.py"},
		{"-[a-c]x", "dx x ax/y", "ax bx/"},
		{"-[!a-c]x", "ax", "dx"},
		{"-[^a-c]x", "ax", "dx"},
		{"-[]x]", "a", "] x"},
		{`-\*`, "a", "*"},
		{"+*.py -*", "a.py x/b.py", "a.txt x/"},
		{"-secret.py +*/ +*.py -*", "a.py x/ x/b.py", "secret.py x/secret.py a.txt"},
		{"-**/x", "x ax", "a/x a/b/x"},
		{"-a*b", "a/b", "ab axxb"},
		{"-/a**b", "xa/b", "ab a/b a/x/yb"},
		{"-/***", "", "a a/ a/b"},
		{"-.* -..?/[.]", "a b/x", ".a ..b/."},
	} {
		var rules []Rule
		for _, r := range strings.Fields(c.rules) {
			rules = append(rules, Rule{r[0] == '+', r[1:]})
		}
		f, err := New(rules)
		require.NoError(t, err, c.rules)
		for _, p := range strings.Fields(c.sent) {
			require.False(t, f.Excludes(strings.TrimSuffix(p, "/"), strings.HasSuffix(p, "/")), "%s: %s", c.rules, p)
		}
		for _, p := range strings.Fields(c.not) {
			require.True(t, f.Excludes(strings.TrimSuffix(p, "/"), strings.HasSuffix(p, "/")), "%s: %s", c.rules, p)
		}
	}
}

func TestBadPatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		"": "names nothing", "/": "names nothing", "//": "names nothing", "[a": "a [ has no ]", `a\`: "nothing follows",
		"[b-a]": "the range b-a is empty", "[[:alpha:]]": "not supported", "a\x00": "NUL",
		strings.Repeat("a", MaxPattern+1): "at most 1024",
		"///":                             "an empty name", "//x": "an empty name", "a//": "an empty name", "a//*": "an empty name", "a//***": "an empty name",
		"./x": `contains "."`, ".": `contains "."`, "/.": `contains "."`, `x/\./*`: `contains "."`, "a/../b/***": `contains ".."`,
	} {
		_, err := New([]Rule{{Pattern: pattern}})
		require.ErrorIs(t, err, ErrPattern, pattern)
		require.ErrorContains(t, err, want)
	}
	_, err := New(make([]Rule, MaxRules+1))
	require.ErrorContains(t, err, "1001 patterns")
}

// Patterns of one name match like path.Match.
func TestMatchesLikePath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`([ab?]|\[ab\]|\[\^a\]|\*[ab]){1,6}`).Draw(t, "pattern")
		name := rapid.StringMatching(`[abc]{1,8}`).Draw(t, "name")
		f, err := New([]Rule{{Pattern: pattern}})
		require.NoError(t, err)
		want, err := path.Match(pattern, name)
		require.NoError(t, err)
		require.Equal(t, want, f.Excludes(name, false))
		require.Equal(t, want, f.Excludes("x/"+name, false))
	})
}

// FuzzFilter checks that any pattern can be compared with any path.
func FuzzFilter(f *testing.F) {
	f.Add("a**b*[c-d]/***", "a/b/c", true)
	f.Fuzz(func(t *testing.T, pattern, p string, dir bool) {
		filter, err := New([]Rule{{Pattern: pattern}})
		if err != nil {
			require.ErrorIs(t, err, ErrPattern)
			return
		}
		filter.Excludes(p, dir)
	})
}
