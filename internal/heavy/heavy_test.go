package heavy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTests(t *testing.T) {
	for value, heavy := range map[string]bool{"": false, "0": false, "no": false, "1": true} {
		t.Setenv("SCHEDGEN_HEAVY", value)
		require.Equal(t, heavy, Tests(), "%q", value)
		require.Equal(t, map[bool]int{false: 3, true: 300}[heavy], Or(3, 300), "%q", value)
	}
}
