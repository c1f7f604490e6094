package simnet

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
)

// Seeds as "schedlab soak" draws them.
func TestSeeds(t *testing.T) {
	for seed := range heavy.Seeds(heavy.Or(100, 1000)) {
		r, err := Check(Draw(seed, 16))
		require.NoError(t, err)
		require.NoError(t, r.Violation, "seed %d", seed)
	}
}

// Scenarios that have failed, most of them shrunk from a seed.
func TestScenariosThatFailedOnce(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			f, err := os.Open(file)
			require.NoError(t, err)
			defer f.Close()
			sc, err := ReadScenario(f)
			require.NoError(t, err)
			r, err := Check(sc)
			require.NoError(t, err)
			require.NoError(t, r.Violation)
		})
	}
}

// A trace is written as it is hashed, and is the same each time.
func TestTraceRepeats(t *testing.T) {
	var first, second bytes.Buffer
	a, err := Run(Draw(3, 16), &first)
	require.NoError(t, err)
	b, err := Run(Draw(3, 16), &second)
	require.NoError(t, err)
	require.Equal(t, first.String(), second.String())
	require.Equal(t, a.Digest, b.Digest)
	require.NotZero(t, first.Len())
	other, err := Run(Draw(4, 16), nil)
	require.NoError(t, err)
	require.NotEqual(t, a.Digest, other.Digest)
}

// Draw makes every kind of fault and step, and uses every algorithm.
func TestDrawReachesEverything(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(2000) {
		sc := Draw(seed, 16)
		for _, o := range sc.Script {
			seen[string(o.Kind)]++
			seen[o.Algorithm]++
		}
		for _, f := range sc.Faults {
			seen[string(f.Kind)]++
		}
		seen[sc.Comm.Anycast]++
		seen[sc.Comm.Anyreduce]++
	}
	want := []string{"bcast", "barrier", "publish", "take", "ask", "learn", "compute", "wait"}
	for _, c := range []string{"bcast", "barrier", "anycast", "anyreduce"} {
		want = append(want, algorithms(c)...)
	}
	for _, k := range []FaultKind{
		FaultLoss, FaultBurst, FaultReorder, FaultDuplicate, FaultCorrupt, FaultSlow, FaultPartition, FaultPause, FaultLate, FaultCrash, FaultSilent, FaultMismatch,
	} {
		want = append(want, string(k))
	}
	for _, w := range want {
		require.Greater(t, seen[w], 10, w)
	}
}

// A run is one goroutine, and nothing in it depends on the order of a map.
func TestRunsAreDeterministicByConstruction(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	fset := token.NewFileSet()
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(fset, file, nil, 0)
		require.NoError(t, err)
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.ChanType:
				t.Errorf("%s: goroutines have no order", fset.Position(n.Pos()))
			}
			return true
		})
	}
}
