package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/systemdtest"
)

// The delivered unit of a member has flags that the command accepts.
func TestSystemdUnits(t *testing.T) {
	commands := systemdtest.Check(t, "schedgen", "../contrib/systemd/schedgen-member@.service")
	require.Len(t, commands, 1)
	parser, err := schedgen.Parser(schedgen.Grammar(commands[0]), terminal.Stdio{Out: io.Discard, Err: io.Discard}, func(int) {})
	require.NoError(t, err)
	words := strings.NewReplacer("${MANAGER}", "embedded://10.0.0.1:7100", "%i", "prices").Replace(strings.Join(commands[0], " "))
	_, err = parser.Parse(strings.Fields(words))
	require.NoError(t, err)
}
