package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/model/loggp"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/schedule/selection"
)

// TestExplainSaysWhatRunDoes checks that explain names the transport, the algorithm and the
// parameters that run takes with the same flags.
func TestExplainSaysWhatRunDoes(t *testing.T) {
	transports := []string{"", "--transport mem", "--transport tcp", "--transport mcast", "--transport auto"}
	if crew.CanShare() {
		transports = append(transports, "--transport shm", "--transport hybrid", "--transport hybrid --interface lo")
	}
	for _, transport := range transports {
		for _, flags := range []string{
			"bcast -p 8 --size 16MiB", "bcast -p 3 --size 20000B", "bcast -p 6 --hosts 2 --size 1MiB", "bcast -p 3 --hosts 3 --size 1MiB",
			"bcast -p 9 --hosts 1 --size 1MiB", "bcast -p 70 --size 1MiB", "bcast -p 8 --size 1MiB --algorithm bcast/chain",
			"bcast -p 8 --hosts 4 --size 1MiB --algorithm bcast/chain", "bcast -p 8 --size 1MiB --algorithm bcast/mcast-acktree",
			"bcast -p 8 --size 1MiB --loss 0.01", "barrier -p 2", "barrier -p 8", "barrier -p 8 --hosts 4", "barrier -p 8 --hosts 8",
			"scatter -p 8 --size 1MiB", "allgather -p 8 --hosts 4 --size 64KiB",
			"alltoall -p 4 --algorithm alltoall/bruck", "barrier -p 8 --algorithm barrier/exchange", "barrier -p 8 --algorithm barrier/hsb-mcast",
		} {
			line := strings.TrimSpace(flags + " " + transport)
			t.Run(line, func(t *testing.T) {
				takes, did, err := prepared(t, line)
				if err != nil {
					return // such as --loss over tcp
				}
				told := explained(t, line)
				p, q := takes.params(), told.runs().Params
				require.Equal(t, linkName(&did.Link), linkName(&told.at.link))
				require.Equal(t, did.Algorithm, told.runs().Algorithm)
				require.Equal(t, paramsOf(&p), paramsOf(&q))
			})
		}
	}
}

// TestExplainKnowsSimulatedHosts checks that explain with --hosts names what run takes among as many
// simulated hosts.
func TestExplainKnowsSimulatedHosts(t *testing.T) {
	for _, transport := range []string{"tcp", "mcast", "hybrid"} {
		for _, hosts := range []int{1, 2, 3, 4, 8} {
			for _, what := range []string{"barrier", "anycast", "bcast --size 1B", "bcast --size 8KiB", "bcast --size 64KiB", "bcast --size 300KiB", "bcast --size 4MiB",
				"allgather --size 64KiB", "alltoall --size 100B", "gather --size 1KiB", "allreduce --size 20KB", "reduce --size 1MiB"} {
				line := fmt.Sprintf("%s -p 8 --transport %s", what, transport)
				t.Run(fmt.Sprintf("%s on %d hosts", line, hosts), func(t *testing.T) {
					takes, did, err := prepared(t, fmt.Sprintf("%s --netns %d", line, hosts))
					require.NoError(t, err)
					told := explained(t, fmt.Sprintf("%s --hosts %d", line, hosts))
					require.Equal(t, did.Algorithm, told.runs().Algorithm)
					p, q := takes.params(), told.runs().Params
					p.Chunks, q.Chunks = 0, 0 // datagrams of simulated hosts are shorter
					require.Equal(t, p, q)
				})
			}
		}
	}
}

// quiet returns streams with no input and no environment. It discards errors.
func quiet(out *bytes.Buffer) terminal.Stdio {
	return terminal.Stdio{In: strings.NewReader(""), Out: out, Err: new(bytes.Buffer), Getenv: func(string) string { return "" }}
}

// parsed returns what a verb of the command line is after parsing.
func parsed(t *testing.T, verb, line string) any {
	args := append([]string{verb}, strings.Fields(line)...)
	parser, err := schedgen.Parser(schedgen.Grammar(args), quiet(new(bytes.Buffer)), func(int) {})
	require.NoError(t, err)
	at, err := parser.Parse(args)
	require.NoError(t, err)
	return at.Selected().Target.Addr().Interface()
}

// prepared returns the schedules and the job of run for some flags.
func prepared(t *testing.T, line string) (r toRun, j *crew.Job, err error) {
	verb := parsed(t, "run", line)
	s := &session{std: quiet(new(bytes.Buffer))}
	r, err = verb.(*collectiveCmd).prepare(t.Context(), s)
	return r, &s.Job, err
}

// explained returns the explanation for some flags.
func explained(t *testing.T, line string) *explanation {
	c := parsed(t, "explain", line).(*explainCmd)
	at, _, err := c.situation(t.Context(), quiet(new(bytes.Buffer)))
	require.NoError(t, err)
	e := &explanation{at: at, machine: loggp.Defaults()}
	require.NoError(t, e.decide(selection.Builtin(), c.Algorithm))
	return e
}

// Without --loggp, explain compares on the network by which the rules choose.
func TestExplainComparesOnTheNetworkOfTheTransport(t *testing.T) {
	for transport, want := range map[string]string{
		"tcp":   "in the LogGP model with L=2500 o=1500 g=1000 G=6\n",
		"verbs": "in the LogGP model with L=4000 o=182 g=182 G=1\n",
	} {
		var out bytes.Buffer
		c := parsed(t, "explain", "barrier -p 16 --hosts 16 --transport "+transport).(*explainCmd)
		require.NoError(t, c.Run(t.Context(), quiet(&out)))
		require.Contains(t, out.String(), want)
		require.Contains(t, out.String(), "  rule        built-in, by the model: ")
	}
	e := explained(t, "barrier -p 16 --hosts 16 --transport verbs")
	require.Equal(t, 24, e.chosen.Params.Degree, "one step, as in paper 003")
}
