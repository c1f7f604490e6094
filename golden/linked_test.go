package golden

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/buildtest"
)

// A program that only joins, broadcasts and meets at a barrier carries no proofs and no simulator.
func TestHelloLinksNoProofs(t *testing.T) {
	hello := buildtest.Program(t, module+"/examples/hello")
	out, err := exec.Command("go", "tool", "nm", filepath.Clean(hello)).Output()
	require.NoError(t, err)
	require.Contains(t, string(out), module+"/runtime.(*Comm).Barrier")
	for line := range strings.Lines(string(out)) {
		for _, pkg := range []string{"verify", "sim", "synth", "internal/model/papers"} {
			if _, name, found := strings.Cut(line, " T "+module+"/"+pkg+"."); found {
				require.Contains(t, "init\n", name, "%s: programs without Use and networks should not link it", line)
			}
		}
	}
}
