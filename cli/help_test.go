package cli

import (
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/command/commandtest"
)

// parserForTests returns the parser of the command line. It discards the output.
func parserForTests(t *testing.T) *kong.Kong { return commandtest.Parser(t, &schedgen) }

func TestHelp(t *testing.T) { commandtest.Help(t, &schedgen) }

// TestHelpVerb checks that "help VERB" prints what "VERB --help" prints, for verbs at each depth.
func TestHelpVerb(t *testing.T) {
	for _, verb := range [][]string{nil, {"verify"}, {"run"}, {"run", "bcast"}, {"rank", "tune"}} {
		_, want, _ := invoke(t.Context(), nil, append(verb, "--help")...)
		code, got, stderr := invoke(t.Context(), nil, append([]string{"help"}, verb...)...)
		require.Zero(t, code, stderr)
		require.Equal(t, want, got, verb)
	}
}
