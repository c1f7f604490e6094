package cast

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/cast/pack"
	"github.com/schedgen/schedgen/internal/cast/unpack"
	"github.com/schedgen/schedgen/runtime/mem"
)

// contents returns the contents of the files, directories and links below a directory, by path.
func contents(t require.TestingT, dir string) map[string]string {
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		text := []byte("a directory")
		switch d.Type() {
		case 0:
			text, err = os.ReadFile(path)
		case fs.ModeSymlink:
			var target string
			target, err = os.Readlink(path)
			text = []byte("a link to " + target)
		}
		all[path[len(dir):]] = string(text)
		return err
	}))
	return all
}

// plant makes files, directories and links in a directory.
func plant(t *rapid.T, dir string, depth int) {
	for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-e]`), 0, 4, rapid.ID).Draw(t, "names") {
		path := filepath.Join(dir, name)
		switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
		case kind == 0 && depth < 3:
			require.NoError(t, os.Mkdir(path, 0o755))
			plant(t, path, depth+1)
		case kind == 1:
			require.NoError(t, os.Symlink("somewhere", path))
		default:
			n := rapid.SampledFrom([]int{0, 10, firstLen, 3 * size}).Draw(t, "bytes")
			require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte(name), n), 0o644))
		}
	}
}

// All ranks get a tree.
func TestTreeArrives(t *testing.T) {
	top := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(1, 5).Draw(t, "ranks")
		here, err := os.MkdirTemp(top, "cast")
		require.NoError(t, err)
		defer os.RemoveAll(here)
		from := filepath.Join(here, "from")
		require.NoError(t, os.Mkdir(from, 0o755))
		plant(t, from, 0)
		w := newWorld(join(t, ranks, mem.Options{}, "bcast/chain"))
		dirs := make([]string, ranks)
		sinks := make([]Sink, ranks)
		for rank := 1; rank < ranks; rank++ {
			dirs[rank] = filepath.Join(here, "to", string(rune('0'+rank)))
			require.NoError(t, os.MkdirAll(dirs[rank], 0o755))
			dir, err := unpack.OpenDir(dirs[rank])
			require.NoError(t, err)
			defer dir.Close()
			sinks[rank] = Into(unpack.Target{Dir: dir}, nil)
		}
		w.sink = func(rank int) Sink { return sinks[rank] }
		w.run(Tree(pack.At(from+"/"), nil))
		require.NoError(t, w.err)
		for rank := 1; rank < ranks; rank++ {
			require.NoError(t, w.errs[rank])
			require.Equal(t, contents(t, from), contents(t, dirs[rank]))
		}
	})
}
