package remote

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestExpand(t *testing.T) {
	g, err := ReadGroups(strings.NewReader("# ours\ncompute: node[08-10]\ngpu: node10, gpu1 # one\nboth: @compute,@gpu\nloop: a,@loop\nempty:\n" +
		"rack1: r1n[1-3]\nrack2: r2n[1-3]!r2n2\nrack3: @rack[1-2]&@rack2\n"))
	require.NoError(t, err)
	for set, want := range map[string]string{
		"":                          "",
		"a":                         "a",
		"a, b,,a":                   "a b",
		"node[01-03]":               "node01 node02 node03",
		"node[8-10]":                "node8 node9 node10",
		"node[1-7/3,20]x":           "node1x node4x node7x node20x",
		"r[1-2]n[09-10]":            "r1n09 r1n10 r2n09 r2n10",
		"root@n[1-2]":               "root@n1 root@n2",
		"ssh://me@[fe80::1]:22":     "ssh://me@[fe80::1]:22",
		"ssh://[::1]:220[1-2],h":    "ssh://[::1]:2201 ssh://[::1]:2202 h",
		"@compute":                  "node08 node09 node10",
		"@both,x":                   "node08 node09 node10 gpu1 x",
		"@empty":                    "",
		"n[0-0],n[00],n[000000001]": "n0 n00 n000000001",
		"@rack[1-2]":                "r1n1 r1n2 r1n3 r2n1 r2n3",
		"@rack3,@rack[1-1],m":       "r2n1 r2n3 r1n1 r1n2 r1n3 m",
		"@rack1!@rack[1-2],@rack1":  "r1n1 r1n2 r1n3",
		"@compute&@gpu":             "node10",
		"n[1-3]!n2":                 "n1 n3",
		"n[1-3]&n[2-9]":             "n2 n3",
		"n[1-3]^n[2-4]":             "n1 n4",
		"n[1-3] ! n2 , n2":          "n1 n3 n2",
		"n[1-3],n5!n[1-2],n1":       "n3 n5 n1",
		"n[1-3]!n2&n3":              "n3",
		"n[1-3]!n2!n3,n2^n2":        "n1",
		"n1!n1":                     "",
		"n[1-3]!@empty":             "n1 n2 n3",
	} {
		hosts, err := g.Expand(set)
		require.NoError(t, err, set)
		require.Equal(t, want, strings.Join(hosts, " "), set)
	}
	for set, want := range map[string]string{
		"n[1-":                   `hosts "n[1-": the brackets do not match`,
		"n]1[":                   `hosts "n]1[": the brackets do not match`,
		"n[[1]]":                 `hosts "n[[1]]": the brackets do not match`,
		"n[]":                    `hosts "n[]": range "": must be numbers of at most 9 digits, such as 01-40`,
		"n[a-b]":                 `hosts "n[a-b]": range "a-b": must be numbers of at most 9 digits, such as 01-40`,
		"n[3-1]":                 `hosts "n[3-1]": range "3-1": ends before it begins`,
		"n[1-3/0]":               `hosts "n[1-3/0]": range "1-3/0": a step must be a number of at least 1 after a range`,
		"n[1234567890]":          `hosts "n[1234567890]": range "1234567890": must be numbers of at most 9 digits, such as 01-40`,
		"n[0-999999999]":         `hosts "n[0-999999999]": more than 65536`,
		"@loop":                  `group "loop" contains itself`,
		"@none":                  `group "none": not in the file of groups, which has compute, gpu, both, loop, empty, rack1, rack2, rack3`,
		"@rack[3-4]":             `group "rack4": not in the file of groups, which has compute, gpu, both, loop, empty, rack1, rack2, rack3`,
		"@rack[1-":               `hosts "@rack[1-": the brackets do not match`,
		"@rack[x]":               `hosts "@rack[x]": range "x": must be numbers of at most 9 digits, such as 01-40`,
		"!n1":                    `hosts "!n1": no hosts stand before !`,
		"n[1-3]!":                `hosts "n[1-3]!": no hosts follow !`,
		"a,^b":                   `hosts "a,^b": no hosts stand before ^`,
		"a!&b":                   `hosts "a!&b": no hosts follow !`,
		"n[1-3!2]":               `hosts "n[1-3!2]": range "1-3!2": must be numbers of at most 9 digits, such as 01-40`,
		"-o[1-2]":                `host "-o1": would be an option of ssh`,
		"@all":                   `group "loop" contains itself`,
		strings.Repeat("x", 300): `host "` + strings.Repeat("x", 20) + `"…: 300 bytes, at most 255 are allowed`,
	} {
		_, err := g.Expand(set)
		require.EqualError(t, err, want, set)
	}
	_, err = g.Expand("n[0-65535]" + strings.Repeat("!x", 20))
	require.ErrorContains(t, err, "more than 1048575, counted with repetitions")
	_, err = (*Groups)(nil).Expand("@x")
	require.EqualError(t, err, `group "x": there is no file of groups; --groups names one`)
	all, err := ReadGroups(strings.NewReader("a: n[1-2]\nb: n2,m\n"))
	require.NoError(t, err)
	hosts, err := all.Expand("@all")
	require.NoError(t, err)
	require.Equal(t, []string{"n1", "n2", "m"}, hosts)
	for text, want := range map[string]string{
		"a\n":          `line 1: "a" must be GROUP: HOSTS`,
		"\na: b\na: c": `line 3: group "a" is named twice`,
		"a b: c":       `line 1: "a b: c" must be GROUP: HOSTS`,
	} {
		_, err := ReadGroups(strings.NewReader(text))
		require.EqualError(t, err, want)
	}
}

// A range expands to the numbers of a loop.
func TestExpandRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.IntRange(0, 2000).Draw(t, "from")
		to := rapid.IntRange(from, from+300).Draw(t, "to")
		step := rapid.IntRange(1, 9).Draw(t, "step")
		var want []string
		for n := from; n <= to; n += step {
			want = append(want, fmt.Sprint("n", n))
		}
		got, err := (*Groups)(nil).Expand(fmt.Sprintf("n[%d-%d/%d]", from, to, step))
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

// FuzzExpand checks that Expand returns distinct hosts or an error.
func FuzzExpand(f *testing.F) {
	f.Add("node[01-40],@a,r[1-2]n[1,3-9/2]", "a: b[1-3]\nc: @a")
	f.Add("[", "a:@a")
	f.Add("n[1-3]!@a[1-2]^n2&n[2-9]", "a1: n1\na2: n2!n2")
	f.Fuzz(func(t *testing.T, set, groups string) {
		g, err := ReadGroups(strings.NewReader(groups))
		if err != nil {
			return
		}
		hosts, err := g.Expand(set)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, h := range hosts {
			require.NoError(t, CheckHost(h))
			require.False(t, seen[h])
			seen[h] = true
		}
	})
}
