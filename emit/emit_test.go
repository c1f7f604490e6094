package emit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/engine"
	"github.com/schedgen/schedgen/ir"
)

// cases returns the schedules in testdata, by name.
func cases(t testing.TB) map[string]*ir.Schedule {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	out := map[string]*ir.Schedule{}
	for _, file := range files {
		f, err := os.Open(file)
		require.NoError(t, err)
		s, err := ir.ParseText(f)
		require.NoError(t, err, file)
		require.NoError(t, f.Close())
		out[strings.TrimSuffix(filepath.Base(file), ".txt")] = s
	}
	return out
}

// golden compares got with the file, or writes the file if SCHEDGEN_UPDATE=1.
func golden(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if os.Getenv("SCHEDGEN_UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, file)
}

func written(t *testing.T, write func(*bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, write(&b))
	return b.String()
}

// inFormat returns the schedule in one format and the extension of its file, or the reason why the
// format cannot express it.
func inFormat(t *testing.T, f Format, s *ir.Schedule) (text, extension string) {
	t.Helper()
	if f.WriteRanks != nil {
		return dumpTraces(t, tracesOf(t, s, Options{})), f.Extension + ".dump"
	}
	var b bytes.Buffer
	err := Write(&b, f.Name, s, Options{})
	if unfit := new(Unfit); errors.As(err, &unfit) {
		return err.Error() + "\n", f.Extension + ".refused"
	}
	require.NoError(t, err)
	return shortened(b.String()), f.Extension
}

// writeAny prints a schedule in any format. Files of several ranks follow each other.
func writeAny(w io.Writer, f Format, s *ir.Schedule) error {
	if f.WriteRanks == nil {
		return Write(w, f.Name, s, Options{})
	}
	return WriteRanks(func(_ int, write func(io.Writer) error) error { return write(w) }, f.Name, s, Options{})
}

// shortened returns a text without the code that all files of format c share.
func shortened(text string) string {
	for _, common := range []string{engine.Interpreter, engine.MPI} {
		text = strings.ReplaceAll(text, common, "/* ... */\n")
	}
	return text
}

func TestGoldens(t *testing.T) {
	for name, s := range cases(t) {
		t.Run(name, func(t *testing.T) {
			for _, f := range Formats() {
				text, extension := inFormat(t, f, s)
				golden(t, name+"."+extension, text)
			}
			golden(t, name+".rounds", written(t, func(b *bytes.Buffer) error { return Rounds(b, s, RoundsOptions{}) }))
			golden(t, name+".lost", written(t, func(b *bytes.Buffer) error { return Rounds(b, s, RoundsOptions{Lost: true}) }))
			golden(t, name+".explained", written(t, func(b *bytes.Buffer) error {
				for rank := range s.Programs {
					if err := Explain(b, s, rank); err != nil {
						return err
					}
				}
				return nil
			}))
		})
	}
}

func TestSameScheduleSameBytes(t *testing.T) {
	for name, s := range cases(t) {
		for _, f := range Formats() {
			first, _ := inFormat(t, f, s)
			for range 5 {
				again, _ := inFormat(t, f, s)
				require.Equal(t, first, again, "%s as %s", name, f.Name)
			}
		}
	}
}

func TestGraphvizTakesDOT(t *testing.T) {
	dot, err := exec.LookPath("dot")
	if err != nil {
		t.Skip("Graphviz is not installed")
	}
	for name, s := range cases(t) {
		cmd := exec.Command(dot, "-Tsvg")
		var stderr bytes.Buffer
		cmd.Stdin = strings.NewReader(written(t, func(b *bytes.Buffer) error { return Write(b, "dot", s, Options{}) }))
		cmd.Stderr = &stderr
		svg, err := cmd.Output()
		require.NoError(t, err, "%s: %s", name, stderr.String())
		require.Empty(t, stderr.String(), name)
		require.Contains(t, string(svg), "</svg>", name)
	}
}

func TestUnknownFormatNamesTheKnownOnes(t *testing.T) {
	err := Write(&bytes.Buffer{}, "svgz", chain(2), Options{})
	require.ErrorContains(t, err, `"svgz"`)
	require.ErrorContains(t, err, "text, json, dot")
}

var errFull = errors.New("full")

// fullDisk accepts no byte.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrorsAreReported(t *testing.T) {
	s := chain(3)
	for _, f := range Formats() {
		require.ErrorIs(t, writeAny(fullDisk{}, f, s), errFull, f.Name)
	}
	require.ErrorIs(t, Rounds(fullDisk{}, s, RoundsOptions{}), errFull)
	require.ErrorIs(t, Explain(fullDisk{}, s, 0), errFull)
}

// TestExplainTellsRecovery checks what the stories say beside the rules: repairs that can be due
// together, and recovery.
func TestExplainTellsRecovery(t *testing.T) {
	const together = "Repairs %s can be due together. It then makes one at a time, and each of the others waits at least twice as long as the one before it."
	s, err := ir.ParseText(strings.NewReader(`schedule bcast/rec ranks=4 root=0 chunks=2 recovery
rank 0
  enter -> mcast c0, mcast c1
  enter unless s0 after 1 -> put c0 c1 @1
  enter unless s1 after 2 -> put c0 c1 @2
  enter unless s2 after 1 -> put c0 c1 @3
  done s0 s1 s2
  report from 1 2
rank 1
  c0 c1 -> put s0 @0
  done c0 c1
  ask 0
  report 0
  twice s0 @0
rank 2
  c0 c1 s0 -> put s1 @0
  done c0 c1 s0
  ask 1 0
  report 0 from 3
rank 3
  c0 c1 -> put s2 @0, put s0 @2
  done c0 c1
  ask 2 1 0
  report 2
  twice s2 @0, s0 @2
`))
	require.NoError(t, err)
	lone, err := ir.ParseText(strings.NewReader("schedule bcast/lone ranks=2 root=0 chunks=1 recovery\nrank 0\n  enter -> put c0 @1\n  done enter\nrank 1\n  done c0\n  ask 0\n"))
	require.NoError(t, err)
	for _, c := range []struct {
		s     *ir.Schedule
		rank  int
		tells []string
	}{
		{s, 0, []string{fmt.Sprintf(together, "2 and 4"), "Report: ranks 1 and 2 tell it how much of a long multicast has arrived."}},
		{s, 1, []string{
			"Ask: it asks rank 0 for chunks that a multicast has not brought, again and again.",
			"Report: it tells rank 0 how much of a long multicast has arrived.",
			"Twice: while it sees losses, it also sets signal 0 of rank 0 by datagram.",
		}},
		{s, 2, []string{
			"Ask: it asks rank 1 for chunks that a multicast has not brought, then rank 0, the last one again and again.",
			"Report: it tells rank 0 how much of a long multicast has arrived at itself and, by their reports, at rank 3.",
		}},
		{s, 3, []string{"then rank 1, then rank 0, the last one", "it also sets signal 2 of rank 0 and signal 0 of rank 2 by datagram."}},
		{lone, 1, []string{"It has no rules. Ask: it asks rank 0"}},
	} {
		story := strings.Join(strings.Fields(written(t, func(b *bytes.Buffer) error { return Explain(b, c.s, c.rank) })), " ")
		for _, sentence := range c.tells {
			require.Contains(t, story, sentence)
		}
	}
}

func TestExplainRefusesRanksThatAreNot(t *testing.T) {
	for _, rank := range []int{-1, 3} {
		require.ErrorContains(t, Explain(&bytes.Buffer{}, chain(3), rank), "0 … 2")
	}
}

func TestBrokenScheduleIsAnError(t *testing.T) {
	s := chain(3)
	s.Programs[1].Rules[0].Do = []ir.Action{ir.PutTo(ir.Chunk(0), 17)}
	for _, f := range Formats() {
		require.Error(t, writeAny(&bytes.Buffer{}, f, s), f.Name)
	}
	require.Error(t, Rounds(&bytes.Buffer{}, s, RoundsOptions{}))
}
