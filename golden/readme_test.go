package golden

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/buildtest"
	"github.com/schedgen/schedgen/internal/test/heavy"
)

const readme = "../README.md"

var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

func TestMain(m *testing.M) { os.Exit(buildtest.Main(m)) }

// shown matches the beginning of a block with a command and its output, and typed a command that
// people type.
var (
	shown = regexp.MustCompile(`^\$ (schedgen|schedlab) (.*)`)
	typed = regexp.MustCompile(`^go run \./cmd/(schedgen|schedlab) (.*)$`)
)

// TestReadmeShowsWhatHappens compares every block of the README and of docs that begins with "$
// schedgen" or "$ schedlab" with the output of the command. It also compares the Go program of the
// README with examples/hello. With SCHEDGEN_UPDATE=1 it writes the blocks anew.
func TestReadmeShowsWhatHappens(t *testing.T) {
	t.Parallel()
	hello, err := os.ReadFile("../examples/hello/main.go")
	require.NoError(t, err)
	files, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	blocks := 0
	for _, file := range append(files, readme) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		got := fence.ReplaceAllStringFunc(string(text), func(block string) string {
			m := fence.FindStringSubmatch(block)
			first, _, _ := strings.Cut(m[2], "\n")
			command := shown.FindStringSubmatch(first)
			switch {
			case file == readme && m[1] == "go" && strings.Contains(m[2], "package main"):
				blocks++
				return "```go\n" + string(hello) + "```"
			case command != nil:
				blocks++
				return "```\n" + first + "\n" + output(t, buildtest.Program(t, "../cmd/"+command[1]), strings.Fields(command[2])) + "```"
			}
			return block
		})
		if os.Getenv("SCHEDGEN_UPDATE") == "1" {
			require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			continue
		}
		if diff := firstDifference(string(text), got); diff != "" {
			require.Fail(t, file+diff+"\nSCHEDGEN_UPDATE=1 writes the block anew")
		}
	}
	require.GreaterOrEqual(t, blocks, 5)
}

// output returns both output streams of a command, as a person sees them.
func output(t *testing.T, bin string, args []string) string {
	cmd := exec.Command(bin, args...)
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil {
		require.ErrorAs(t, err, &exit)
		require.Equal(t, 1, exit.ExitCode(), "%s", out)
	}
	return string(out)
}

// TestReadmeCommandsWork runs every command that the README tells people to type, except the
// command that runs this test.
func TestReadmeCommandsWork(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	ran := 0
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		if m[1] != "sh" {
			continue
		}
		for line := range strings.Lines(m[2]) {
			line = strings.TrimSpace(line)
			if line == "go test ./..." {
				continue
			}
			command := typed.FindStringSubmatch(line)
			require.NotNil(t, command, "do not know how to try %q", line)
			bin, args := buildtest.Program(t, "../cmd/"+command[1]), command[2]
			t.Run(args, func(t *testing.T) {
				if !heavy.Tests() { // ranks compare every byte
					args = strings.ReplaceAll(args, " --size 16MiB", " --size 64KiB")
					args = strings.ReplaceAll(args, " --runs 1000", " --runs 100")
				}
				args = strings.ReplaceAll(args, "/tmp/schedgen-ranks", t.TempDir())
				args = strings.ReplaceAll(args, "/tmp/schedgen-trace.json", filepath.Join(t.TempDir(), "trace.json"))
				args, file := elsewhere(t, args)
				cmd := exec.Command(bin, strings.Fields(args)...)
				cmd.Dir = ".."
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s", out)
				if file != "" {
					out, err = os.ReadFile(file)
					require.NoError(t, err)
				}
				require.NotEmpty(t, out)
			})
			ran++
		}
	}
	require.GreaterOrEqual(t, ran, 8)
}

// elsewhere moves the file of a command's -o to a directory of the test. It returns the file's
// path, or "" if the command has no -o.
func elsewhere(t *testing.T, args string) (changed, file string) {
	before, name, has := strings.Cut(args, " -o ")
	if !has {
		return args, ""
	}
	name, rest, _ := strings.Cut(name, " ")
	file = filepath.Join(t.TempDir(), filepath.Base(name))
	return strings.TrimSpace(before + " -o " + file + " " + rest), file
}
