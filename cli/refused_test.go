package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// TestNoFlagIsRefusedAlways gives each flag in the help of the verbs of run and rank a value that
// makes sense. A flag that no value and no other flag makes valid does not belong in the help.
func TestNoFlagIsRefusedAlways(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, []byte(strings.Repeat("k", 32)), 0o600))
	rules := filepath.Join(t.TempDir(), "rules")
	require.NoError(t, os.WriteFile(rules, selection.Builtin().Text(), 0o600))
	net := filepath.Join(t.TempDir(), "net")
	require.NoError(t, os.WriteFile(net, []byte("rank a b c d\nswitch s\nlink a s 1Gbit\nlink b s 1Gbit\nlink c s 1Gbit\nlink d s 1Gbit\n"), 0o600))
	// The values, and the other flags that they need. {first} stands for an algorithm,
	// {param} for an algorithm that takes the flag, {casts} for one that multicasts.
	values := map[string]string{
		"ranks": "4", "rank": "0", "algorithm": "{first}", "seed": "3", "silence": "5s", "timeout": "1m", "job": "j", "rules": rules,
		"coordinator": "127.0.0.1:7 --transport tcp", "transport": "tcp", "interface": "lo --transport mcast", "ipv6": " --transport tcp",
		"loss": "0.1 --transport mcast --algorithm {casts}", "netns": "2", "key-file": key + " --transport tcp", "encrypt": " --transport tcp --key-file " + key,
		"network": net, "learn": "FILE",
		"json": "", "verbose": "", "status": ":0", "status-host": "ranks.example --status :0", "trace": "FILE",
		"size": "160", "counts": "8,16,0,8", "messages": "3", "iterations": "2", "input": key, "output": t.TempDir(), "root": "1", "origin": "1",
		"op": "max", "type": "int32", "chunks": "2 --algorithm {param}", "hosts": "2 --algorithm {param}", "degree": "2 --algorithm {param}",
		"fan-in": "2 --algorithm {param}", "fan-out": "2 --algorithm {param}", "delay": "fixed --transport mcast", "root-delay": "1us --delay fixed --transport mcast",
	}
	daily := []string{"run anyreduce", "run reduce-scatter", "rank barrier"}
	for _, leaf := range parserForTests(t).Model.Leaves(true) {
		words := strings.Fields(leaf.FullPath())
		if len(words) != 3 || words[1] != "run" && words[1] != "rank" || words[2] == "tune" {
			continue
		}
		if !heavy.Tests() && !slices.Contains(daily, strings.Join(words[1:], " ")) {
			continue
		}
		for _, f := range leaf.Flags {
			value, ok := values[f.Name]
			if f.Name == "loss" && firstThat(words[2], (*schedule.Algorithm).Multicasts) == "" {
				continue // a file may multicast
			}
			if f.Hidden || !ok && (strings.HasPrefix(f.Name, "help") || f.Name == "version" || f.Name == "device") { // verbs need a device
				continue
			}
			require.True(t, ok, "%s --%s: the test has no value", leaf.FullPath(), f.Name)
			args := append(words[1:3:3], "--"+f.Name)
			value = strings.NewReplacer("{param}", firstThat(words[2], func(a *schedule.Algorithm) bool { return source.Takes(a, f.Name) }), "{casts}", firstThat(words[2], (*schedule.Algorithm).Multicasts), "{first}", schedule.AlgorithmsOf(words[2])[0].Name).Replace(value)
			args = append(args, strings.Fields(value)...)
			for _, other := range []string{"-p 4", "--transport tcp", "--rank 0", "--coordinator 127.0.0.1:7"} {
				name := strings.TrimLeft(strings.Fields(other)[0], "-")
				asked := f.Name == name || f.Name == "ranks" && name == "p" || strings.Contains(value, "--"+name) || name == "transport" && f.Name == "netns"
				if !asked && (words[1] == "rank" || name == "p" || name == "transport") {
					args = append(args, strings.Fields(other)...)
				}
			}
			t.Run(strings.Join(args, " "), func(t *testing.T) { require.NoError(t, prepareOnly(t.Context(), args)) })
		}
	}
}

// firstThat returns the first algorithm of a collective that ok accepts, or "".
func firstThat(collective string, ok func(*schedule.Algorithm) bool) string {
	for _, a := range schedule.AlgorithmsOf(collective) {
		if ok(&a) {
			return a.Name
		}
	}
	return ""
}

// prepareOnly parses the command line of a verb of run or rank, and checks its flags as the verb
// does before it starts or joins anything.
func prepareOnly(ctx context.Context, args []string) error {
	std := terminal.Stdio{Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }}
	parser, err := schedgen.Parser(newCLI(args[1]), std, func(int) {})
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return err
	}
	c, rank := commandOf(parsed)
	if rank != nil {
		c.apart = true
		if _, err := rank.position(&c.runFlags, std.Getenv); err != nil {
			return err
		}
	}
	s := &session{flags: &c.runFlags, seen: c.seenFlags, std: std}
	_, err = c.prepare(ctx, s)
	if s.Input != nil {
		_ = s.Input.Close() // read only
	}
	return err
}

// commandOf returns the selected verb of run or rank, and its flags for one rank if it is of rank.
func commandOf(parsed *kong.Context) (*collectiveCmd, *rankCollectiveCmd) {
	switch cmd := parsed.Selected().Target.Addr().Interface().(type) {
	case *rankCollectiveCmd:
		return &cmd.collectiveCmd, cmd
	case *collectiveCmd:
		return cmd, nil
	}
	return nil, nil
}
