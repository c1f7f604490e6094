package terminal

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

func TestTextOfProgress(t *testing.T) {
	for _, c := range []struct {
		want string
		line *line
	}{
		{"proving  25% [#######                       ] 2/8", &line{total: 8, done: 2, doing: "proving"}},
		{"proving  25% [#####               ] 2/8", &line{total: 8, done: 2, doing: "proving", width: 40}},
		{"proving  25% 2/", &line{total: 8, done: 2, doing: "proving", width: 16}},
		{"file  50% [###############               ] 1.0 MiB/2.0 MiB, 512 KiB/s", &line{total: 2 << 20, done: 1 << 20, bytes: true, doing: "file"}},
		{"stream  1.0 MiB, 512 KiB/s", &line{done: 1 << 20, bytes: true, doing: "stream"}},
		{"computing  /", &line{turns: 5, doing: "computing"}},
	} {
		if c.line.width == 0 {
			c.line.width = 80
		}
		require.Equal(t, c.want, c.line.text(2*time.Second))
	}
}

// A line of progress is never as wide as the terminal, where it would break.
func TestProgressFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Range(0, 1<<40).Draw(t, "total")
		l := line{
			width: rapid.IntRange(1, 200).Draw(t, "width"), total: total, done: rapid.Int64Range(0, max(total, 1)).Draw(t, "done"),
			bytes: rapid.Bool().Draw(t, "bytes"), doing: rapid.StringMatching(`[a-zé]{0,90}`).Draw(t, "doing"), turns: rapid.IntRange(0, 9).Draw(t, "turns"),
		}
		require.Less(t, utf8.RuneCountInString(l.text(time.Second)), l.width)
	})
}

// A number is drawn from time to time, and a text at once. The end clears the line.
func TestProgressIsDrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := Progress{&line{out: &out, width: 80, total: 4, doing: "first"}}
		p.Advance()
		require.Equal(t, 1, strings.Count(out.String(), Wipe+"first  25%"))
		p.Advance()
		require.NotContains(t, out.String(), "50%")
		p.Describe("second")
		require.Contains(t, out.String(), "second  50%")
		time.Sleep(throttle)
		p.Advance()
		require.Contains(t, out.String(), "second  75%")
		p.Advance()
		require.True(t, strings.HasSuffix(out.String(), "3/4"+Wipe), out.String())
		length := out.Len()
		p.Clear()
		require.Equal(t, length, out.Len())
	})
	Progress{}.Advance()
	Progress{}.Set(3)
	Progress{}.Begin("")
	Progress{}.Clear()
}
