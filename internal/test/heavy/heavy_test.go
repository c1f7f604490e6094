package heavy

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
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

func TestStages(t *testing.T) {
	for value, want := range map[string][]Stage{"": nil, "mpi": {MPI}, "namespaces,mpi": {MPI, Namespaces}, "MPI": nil, "ssh,namespaces": {Namespaces, SSH}} {
		t.Setenv("SCHEDGEN_HEAVY", "")
		t.Setenv("SCHEDGEN_STAGES", value)
		for _, s := range []Stage{MPI, Namespaces, SSH} {
			require.Equal(t, slices.Contains(want, s), s.Runs(), "%q of %q", s, value)
		}
		t.Setenv("SCHEDGEN_HEAVY", "1")
		require.True(t, MPI.Runs() && Namespaces.Runs() && SSH.Runs(), "%q", value)
	}
}

func TestSeed(t *testing.T) {
	for text, want := range map[string]uint64{"": 1, "1": 1, "7": 7, "18446744073709551615": math.MaxUint64} {
		n, err := parseSeed(text)
		require.NoError(t, err)
		require.Equal(t, want, n, "%q", text)
	}
	for _, text := range []string{"0", "-1", "x", "1.5", "18446744073709551616", " 1"} {
		_, err := parseSeed(text)
		require.EqualError(t, err, fmt.Sprintf(`SCHEDGEN_SEED is %q, want "random" or a number above 0`, text))
	}
	t.Setenv(seedVariable, "random")
	n, err := parseSeed("random")
	require.NoError(t, err)
	require.NotZero(t, n)
	require.Equal(t, fmt.Sprint(n), os.Getenv(seedVariable), "programs that this one starts draw the same")
}

func TestSeeds(t *testing.T) {
	require.Equal(t, []uint64{Seed(), Seed() + 1, Seed() + 2}, slices.Collect(Seeds(3)))
	for n := range Seeds(3) {
		require.Equal(t, Seed(), n)
		break
	}
}

// Package rapid draws from the seed, and leaves no file behind when a draw fails.
func TestRapidDrawsFromTheSeed(t *testing.T) {
	require.Equal(t, fmt.Sprint(Seed()), flag.Lookup("rapid.seed").Value.String())
	require.Equal(t, "true", flag.Lookup("rapid.nofailfile").Value.String())
}
