package machine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
)

// TestStories plays the stories in testdata. A story is a schedule in text
// form, then lines of two kinds:
//
//	> RANK SLOT     the slot becomes set at the rank
//	  …             what the rank does then: actions, "repair: …" once a
//	                repair is armed, "done", "retired"
//
// SCHEDGEN_UPDATE=1 writes the answers anew.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.story")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".story"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			got := tell(t, string(want))
			if os.Getenv("SCHEDGEN_UPDATE") == "1" {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			require.Equal(t, string(want), got)
		})
	}
}

func tell(t *testing.T, story string) string {
	text, events, ok := strings.Cut(story, "\n---\n")
	require.True(t, ok, "a line --- ends the schedule")
	s, err := ir.ParseText(strings.NewReader(text + "\n"))
	require.NoError(t, err)
	machines := start(t, s)
	var b strings.Builder
	b.WriteString(text + "\n---\n")
	for line := range strings.Lines(events) {
		switch {
		case strings.HasPrefix(line, "> "):
			b.WriteString(line)
			rank, slot := event(t, line)
			answer(&b, &machines[rank], slot)
		case strings.HasPrefix(line, "#") || line == "\n":
			b.WriteString(line)
		}
	}
	return b.String()
}

func start(t testing.TB, s *ir.Schedule) []machine.Machine {
	machines := make([]machine.Machine, s.Ranks)
	for r := range machines {
		plan, err := machine.Compile(&s.Header, &s.Programs[r])
		require.NoError(t, err)
		machines[r].Reset(plan)
	}
	return machines
}

func event(t *testing.T, line string) (rank int, slot ir.Slot) {
	f := strings.Fields(line)
	require.Len(t, f, 3, line)
	rank, err := strconv.Atoi(f[1])
	require.NoError(t, err)
	if f[2] == "enter" {
		return rank, ir.Enter
	}
	k, err := strconv.Atoi(f[2][1:])
	require.NoError(t, err)
	if f[2][0] == 'c' {
		return rank, ir.Chunk(k)
	}
	return rank, ir.Signal(k)
}

func answer(b *strings.Builder, m *machine.Machine, slot ir.Slot) {
	done, retired := m.Done(), m.Retired()
	do, arm := m.Set(slot)
	list(b, "", do)
	for _, rule := range arm {
		if m.Pending(rule) {
			after, _ := m.Plan().Repair(rule)
			list(b, fmt.Sprintf("repair, after %d: ", after), m.Plan().Actions(rule))
		}
	}
	if m.Done() && !done {
		b.WriteString("  done\n")
	}
	if m.Retired() && !retired {
		b.WriteString("  retired\n")
	}
}

func list(b *strings.Builder, head string, actions []ir.Action) {
	for _, a := range actions {
		fmt.Fprintf(b, "  %s%v %v", head, a.Op, a.Slot)
		if a.Op == ir.Put {
			fmt.Fprintf(b, " @%d", a.To)
		}
		b.WriteString("\n")
	}
}
