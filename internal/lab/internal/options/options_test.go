package options

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFiles(t *testing.T) {
	var f Files
	require.NoError(t, f.Named("default"))
	require.Equal(t, filepath.Join(Results, "default.csv"), f.Path("csv"))
	require.NoError(t, (&Files{Name: "mine"}).Named("default"))
	require.ErrorContains(t, (&Files{Name: "a/b"}).Named("default"), "--name=a/b")

	text := func(text string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	}
	dir := filepath.Join(t.TempDir(), "new")
	f.Out = &dir
	require.NoError(t, f.Write(map[string]func(io.Writer) error{"csv": text("1"), "md": text("2")}))
	for extension, want := range map[string]string{"csv": "1", "md": "2"} {
		got, err := os.ReadFile(f.Path(extension))
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	require.NoError(t, f.Kept())
	none := ""
	f.Out = &none
	require.ErrorContains(t, f.Kept(), "--out: a directory is needed")
	require.NoError(t, f.Write(map[string]func(io.Writer) error{"csv": func(io.Writer) error { return io.ErrUnexpectedEOF }}))
}

func TestChecks(t *testing.T) {
	good := Measuring{Quiet: 0.5}
	require.NoError(t, good.Check(true))
	require.ErrorContains(t, good.Check(false), "--limit=0s")
	good.Limit = time.Second
	require.NoError(t, good.Check(false))
	for want, bad := range map[string]Measuring{
		"--limit=1ms":    {LimitFlag: LimitFlag{time.Millisecond}},
		"--patience=-1s": {Patience: -time.Second},
		"--quiet=2":      {Quiet: 2},
	} {
		require.ErrorContains(t, bad.Check(true), want)
	}
	require.NoError(t, (&RoundsFlag{0}).CheckRounds(0))
	require.ErrorContains(t, (&RoundsFlag{0}).CheckRounds(1), "--rounds=0: must be in 1..")
	require.NoError(t, Within("hosts", []int{2, 5}, 2, 5))
	require.EqualError(t, Within("hosts", []int{2, 6}, 2, 5), "--hosts=6: must be in 2..5")
	require.NoError(t, Among("wire", []string{"shm"}, []string{"tcp", "shm"}))
	require.EqualError(t, Among("wire", []string{"ib"}, []string{"tcp", "shm"}), "--wire=ib: must be one of tcp, shm")
	require.Equal(t, []int{1}, Or([]int{1}, 2))
	require.Equal(t, []int{2, 3}, Or(nil, 2, 3))
}

func TestPrefix(t *testing.T) {
	require.Equal(t, []string{"ls"}, (&Measuring{}).Prefixed("ls"))
	require.Equal(t, []string{"nice", "-n", "-10", "ls", "-l"}, (&Measuring{Prefix: "nice -n -10"}).Prefixed("ls", "-l"))
}
