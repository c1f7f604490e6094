package cli

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/systemdtest"
)

// accepts requires that the command accepts a command line, in which something else replaces the
// variables.
func accepts(t *testing.T, words []string, variables ...string) {
	t.Helper()
	parser, err := schedgen.Parser(schedgen.Grammar(words), terminal.Stdio{Out: io.Discard, Err: io.Discard}, func(int) {})
	require.NoError(t, err)
	filled := strings.NewReplacer(variables...).Replace(strings.Join(words, " "))
	require.NotContains(t, filled, "$")
	_, err = parser.Parse(strings.Fields(filled))
	require.NoError(t, err)
}

// The delivered units of a member and a rank have flags that the command accepts.
func TestSystemdUnits(t *testing.T) {
	commands := systemdtest.Check(t, "schedgen", "../contrib/systemd/schedgen-member@.service", "../contrib/systemd/schedgen-rank@.service")
	require.Len(t, commands, 2)
	for _, words := range commands {
		accepts(t, words, "${MANAGER}", "embedded://10.0.0.1:7100", "%i", "prices", "${STATUS}", ":9000", "${CREDENTIALS_DIRECTORY}", "/run/credentials")
	}
}

// The members of examples/kubernetes have flags that the command accepts.
func TestKubernetesGroup(t *testing.T) {
	f, err := os.Open("../examples/kubernetes/group.yaml")
	require.NoError(t, err)
	defer f.Close()
	var set struct {
		Spec struct {
			Template struct {
				Spec struct{ Containers []struct{ Command []string } }
			}
		}
	}
	dec := yaml.NewDecoder(f)
	require.NoError(t, dec.Decode(&set)) // the service
	require.NoError(t, dec.Decode(&set))
	words := set.Spec.Template.Spec.Containers[0].Command
	require.Equal(t, "/schedgen", words[0])
	accepts(t, words[1:], "$(POD)", "prices-0")
}
