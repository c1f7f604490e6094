package golden

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/verify"
)

var checkRow = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| ([^|]+) \\| [^|]+ \\|$")

// TestChecksAreDocumented compares the table of docs/checks.md with the checks, their order and the
// collectives that they apply to.
func TestChecksAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/checks.md")
	require.NoError(t, err)
	var got, want [][2]string
	for _, row := range checkRow.FindAllStringSubmatch(string(text), -1) {
		got = append(got, [2]string{row[1], row[2]})
	}
	for _, c := range verify.Checks() {
		want = append(want, [2]string{c.Name, c.Scope()})
	}
	require.Equal(t, want, got)
}
