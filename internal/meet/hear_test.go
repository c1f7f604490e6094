package meet

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// If another process has come in the place of a rank, only a sign of life of the first one counts:
// it may be dead, and its fault or its readiness is not that of the process that replaces it.
func TestReportsOfAReplacedProcess(t *testing.T) {
	h, first := newHost(&Config{Size: 2}), new(link)
	h.guests[1] = place{link: first, next: &arrival{link: new(link)}}
	require.NoError(t, h.hear(first, 1, &report{kind: reportFault, why: "a fault"}))
	require.NoError(t, h.hear(first, 1, &report{kind: reportReady}))
	require.False(t, h.guests[1].ready)
}
