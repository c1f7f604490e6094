package hostlist

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func expand(set string) (names []string, err error) {
	words, err := Split(set)
	for _, w := range words {
		if err == nil {
			err = Each(w.Text, w.Text, func(name string) error {
				if names = append(names, name); len(names) > 100 {
					return errors.New("too many")
				}
				return nil
			})
		}
	}
	return names, err
}

func TestEach(t *testing.T) {
	for set, want := range map[string]string{
		"":                  "",
		"a, b,,c":           "a b c",
		"n[08-10]":          "n08 n09 n10",
		"n[1-7/3,20]x":      "n1x n4x n7x n20x",
		"r[1-2]n[3,5],m":    "r1n3 r1n5 r2n3 r2n5 m",
		"[fe80::1]:22[1-2]": "[fe80::1]:221 [fe80::1]:222",
	} {
		names, err := expand(set)
		require.NoError(t, err, set)
		require.Equal(t, want, strings.Join(names, " "), set)
	}
	words, err := Split("a!b[1,2]&c")
	require.NoError(t, err)
	require.Equal(t, []Word{{',', "a"}, {'!', "b[1,2]"}, {'&', "c"}}, words)
	for set, want := range map[string]string{
		"n[1-":           `hosts "n[1-": the brackets do not match`,
		"n[3-1]":         `hosts "n[3-1]": range "3-1": ends before it begins`,
		"a!":             `hosts "a!": no hosts follow !`,
		"n[0-999999999]": "too many",
	} {
		_, err := expand(set)
		require.EqualError(t, err, want, set)
	}
}
