package words

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "0KiB": 0, "100": 100, "100B": 100, "64KiB": 65536, "1MiB": 1 << 20, "2GiB": 2 << 30,
		"3kB": 3000, "3KB": 3000, "3MB": 3e6, "3GB": 3e9,
	} {
		n, err := ParseSize(text)
		require.NoError(t, err, text)
		require.Equal(t, want, n, text)
	}
	for _, text := range []string{"", "KiB", "-1", "1.5MiB", "1XB", "1K", "1 KiB", "99999999999GiB", "99999999999999999999"} {
		_, err := ParseSize(text)
		require.Error(t, err, text)
	}
	require.Equal(t, "16 MiB", Size(16<<20))
	require.Equal(t, "1025 B", Size(1025))
	require.Equal(t, "0 B", Size(0))
}
