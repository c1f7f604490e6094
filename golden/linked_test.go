package golden

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/buildtest"
	"github.com/schedgen/schedgen/internal/test/heavy"
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

// A program with a status page carries a server, and no more methods than it calls: nothing in it
// calls methods by a name that only the run knows.
func TestStatusLinksNoTemplates(t *testing.T) {
	page := buildtest.Program(t, module+"/golden/testdata/page", "-ldflags=")
	out, err := exec.Command("go", "tool", "nm", filepath.Clean(page)).Output()
	require.NoError(t, err)
	require.Contains(t, string(out), " T net/http.(*Server).Serve\n")
	for _, name := range []string{"reflect.Value.MethodByName", "reflect.Value.Method", "text/template.", "html/template.", "expvar.", "net/http/pprof."} {
		require.NotContains(t, string(out), " T "+name, "what that costs: see CONTRIBUTING.md, A flag of schedcast")
	}
	info, err := os.Stat(page)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(15_000_000), "bytes; most are net/http with its TLS and HTTP/2")
}

// The image of contrib/docker has no system below its program, which must need none, and is small.
func TestImage(t *testing.T) {
	text, err := os.ReadFile("../contrib/docker/Dockerfile")
	require.NoError(t, err)
	require.Contains(t, string(text), "\nARG PROGRAM=./cmd/schedgen\nRUN CGO_ENABLED=0 go build -ldflags=\"-s -w\" -o /out/ \"$PROGRAM\"\n\nFROM scratch\n")
	require.Contains(t, string(text), "\nCMD [\"/schedgen\"]\n")
	if !heavy.Tests() {
		return // without cgo nearly every package is compiled anew
	}
	t.Setenv("CGO_ENABLED", "0")
	t.Setenv("GOOS", "linux")
	program := buildtest.Program(t, module+"/cmd/schedgen", "-ldflags=-s -w")
	f, err := elf.Open(program)
	require.NoError(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		require.NotContains(t, []elf.ProgType{elf.PT_INTERP, elf.PT_DYNAMIC}, p.Type, "the program needs a loader")
	}
	info, err := os.Stat(program)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(30_000_000), "bytes")
}
