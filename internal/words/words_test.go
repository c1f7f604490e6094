package words

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWords(t *testing.T) {
	require.Equal(t, "0 B", Bytes(0))
	require.Equal(t, "1023 B", Bytes(1023))
	require.Equal(t, "1.0 KiB", Bytes(1024))
	require.Equal(t, "100 MiB", Bytes(100<<20))
	require.Equal(t, "2048 TiB", Bytes(2<<50))
	require.Equal(t, "1 host", Count(1, "host", "hosts"))
	require.Equal(t, "0 hosts", Count(0, "host", "hosts"))
	require.Equal(t, "a, b, c, d, e and 2 more", Some([]string{"a", "b", "c", "d", "e", "f", "g"}))
	require.Equal(t, "a, b", Some([]string{"a", "b"}))
}
