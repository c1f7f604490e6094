package hybrid

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/transport/segment"
)

func TestCardsComeBack(t *testing.T) {
	for _, c := range []card{
		{},
		{host: [16]byte{1, 15: 2}, pid: 1 << 31, segment: 7, bell: 9},
		{cannot: "there is no memory"},
	} {
		got, err := decodeCard(c.encode())
		require.NoError(t, err)
		require.Equal(t, c, got)
	}
	long := card{cannot: strings.Repeat("x", 300)}
	got, err := decodeCard(long.encode())
	require.NoError(t, err)
	require.Len(t, got.cannot, maxReason)
}

func FuzzDecodeCard(f *testing.F) {
	f.Add((&card{pid: 1, cannot: "?"}).encode())
	f.Add([]byte{cardVersion})
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := decodeCard(b); err == nil {
			require.Equal(t, b, c.encode())
		}
	})
}

// on returns cards of ranks on hosts named by letters; ranks with capital letters cannot share
// memory.
func on(hosts string) []card {
	cards := make([]card, len(hosts))
	for i, h := range strings.ToLower(hosts) {
		cards[i].host[0] = byte(h)
		if byte(h) != hosts[i] {
			cards[i].cannot = "no memory"
		}
	}
	return cards
}

func TestLocate(t *testing.T) {
	for _, test := range []struct {
		hosts  string
		rank   int
		ranks  []int
		reason string
	}{
		{"a", 0, nil, ""},
		{"ab", 1, nil, ""},
		{"aabb", 1, []int{0, 1}, ""},
		{"aabb", 2, []int{2, 3}, ""},
		{"abab", 3, []int{1, 3}, ""},
		{"aAbb", 0, nil, "rank 1: no memory"}, // one rank that cannot share keeps its whole host from sharing
		{"aAbb", 1, nil, "rank 1: no memory"},
		{"aAbb", 3, []int{2, 3}, ""},
		{"AB", 0, nil, ""}, // there was no rank to share with
	} {
		p := locate(on(test.hosts), test.rank)
		require.Equal(t, test.ranks, p.ranks, test)
		require.Equal(t, test.reason, p.reason, test)
		for local, r := range p.ranks {
			require.Equal(t, local, p.local[r])
		}
	}
	require.Equal(t, []int{0, 1, 0, 3, 1}, locate(on("abacb"), 2).host)
	require.Nil(t, locate(on(strings.Repeat("a", segment.MaxSize+1)), 0).ranks)
	require.Len(t, locate(on(strings.Repeat("a", segment.MaxSize)), 0).ranks, segment.MaxSize)
}

// If a rank cannot share memory, all ranks of its host use the network.
func TestCannotShare(t *testing.T) {
	s := newSelf("")
	require.Empty(t, s.cannot)
	require.NoError(t, s.close())
	require.Negative(t, s.bell[0])
}
