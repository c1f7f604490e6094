package cli

import (
	"slices"

	"github.com/schedgen/schedgen/internal/terminal"
)

// transportHelp are the values of --transport, and the text of each in --help.
var transportHelp = [][2]string{
	{overMem, "goroutines of one process"},
	{overTCP, "TCP"},
	{overMcast, "UDP multicast, and TCP"},
	{overShm, "shared memory of one host"},
	{overHybrid, "shared memory within a host and TCP between hosts, with multicast if --interface is given"},
	{overVerbs, "InfiniBand or RoCE, in programs that are built with -tags verbs"},
	{overAuto, ""}, // the text depends on the verb
}

// runAuto is the text of auto for the verbs run and rank.
const runAuto = "hybrid, with multicast if that works here"

// transportTable lays out the help of the named transports. auto is the text of the transport auto.
func transportTable(auto string, names ...string) string {
	var rows [][2]string
	for _, t := range transportHelp {
		if t[0] == overAuto {
			t[1] = auto
		}
		if slices.Contains(names, t[0]) {
			rows = append(rows, t)
		}
	}
	return terminal.Table(rows)
}
