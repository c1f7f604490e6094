package schedgen_test

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProgramOfTheDocumentation checks that the program in the package's documentation is a
// program.
func TestProgramOfTheDocumentation(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	require.NoError(t, err)
	text := file.Doc.Text()
	from, to := strings.Index(text, "\tpackage main\n"), strings.Index(text, "\nA launcher starts the ranks")
	require.True(t, 0 <= from && from < to)
	var program strings.Builder
	for line := range strings.Lines(text[from:to]) {
		program.WriteString(strings.TrimPrefix(line, "\t"))
	}
	name := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(name, []byte(program.String()), 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "run", name).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "0 of 1 has [0]\n", string(out))
}
