package schedule

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMulticasts(t *testing.T) {
	for _, a := range Algorithms() {
		require.Equal(t, a.Multicasts(), Multicasts(a.Name), a.Name)
	}
	require.False(t, Multicasts("bcast/none"))
	require.True(t, Multicasts("bcast/mcast-chain"))
	Algorithms()[0].Name = "another"
	require.Equal(t, "bcast/linear", Algorithms()[0].Name, "the list is a copy")
}
