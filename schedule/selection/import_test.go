package selection_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/schedule/selection"
)

// TestImport checks that tables of Open MPI become tables of schedgen, with notes on what has no
// counterpart.
func TestImport(t *testing.T) {
	inputs(t, "ompi/*.*[nf]", func(t *testing.T, name string, data []byte) {
		rules, notes, err := selection.Import(data)
		require.NoError(t, err)
		var b strings.Builder
		for _, n := range notes {
			b.WriteString(n.String() + "\n")
		}
		golden(t, name, filepath.Ext(name)+".want", append([]byte(b.String()), rules.Text()...))
		again, err := selection.Parse(rules.Text())
		require.NoError(t, err)
		require.Equal(t, rules.Text(), again.Text())
	})
}

func TestBadImports(t *testing.T) {
	inputs(t, "ompi_bad/*.*[nf]", func(t *testing.T, name string, data []byte) {
		_, _, err := selection.Import(data)
		var at *selection.FileError
		require.ErrorAs(t, err, &at)
		require.Positive(t, at.Line)
		golden(t, name, filepath.Ext(name)+".want", []byte(err.Error()+"\n"))
	})
}

// TestImportTakesOurs checks that Import reads a table of schedgen as Parse does, with the same
// errors.
func TestImportTakesOurs(t *testing.T) {
	data, err := os.ReadFile("testdata/good/all.json")
	require.NoError(t, err)
	rules, notes, err := selection.Import(data)
	require.NoError(t, err)
	require.Empty(t, notes)
	want, err := selection.Parse(data)
	require.NoError(t, err)
	require.Equal(t, want.Text(), rules.Text())
	_, _, err = selection.Import([]byte(`{}`))
	require.ErrorContains(t, err, "schedgen-rules/1")
}

// TestImportedRules checks the decisions of imported rules in some cases.
func TestImportedRules(t *testing.T) {
	for _, c := range []struct {
		file  string
		of    selection.Case
		want  string
		chunk int
		own   bool
	}{
		{"v3.json", selection.Case{Collective: "bcast", Ranks: 15, Bytes: 2047, Place: selection.OneEach}, "bcast/binomial-doubling", 0, true},
		{"v3.json", selection.Case{Collective: "bcast", Ranks: 15, Bytes: 1 << 30, Place: selection.OneEach}, "bcast/chain", 16384, true},
		{"v3.json", selection.Case{Collective: "bcast", Ranks: 15, Bytes: 2048, Place: selection.OneEach}, "bcast/binomial", 0, false},
		{"v3.json", selection.Case{Collective: "bcast", Ranks: 15, Bytes: 1023}, "bcast/linear", 0, true},
		{"v3.json", selection.Case{Collective: "bcast", Ranks: 15, Bytes: 1024}, "bcast/binomial", 0, false},
		{"v3.json", selection.Case{Collective: "bcast", Ranks: 15, Bytes: 8191}, "bcast/binomial", 0, false},
		{"v3.json", selection.Case{Collective: "bcast", Ranks: 200, Bytes: 8192}, "bcast/chain", 8192, true},
		{"v3.json", selection.Case{Collective: "barrier", Ranks: 8, Place: selection.OneHost}, "barrier/hsb", 0, true},
		{"v3.json", selection.Case{Collective: "barrier", Ranks: 8}, "barrier/exchange", 0, true},
		{"v3.json", selection.Case{Collective: "barrier", Ranks: 64}, "barrier/dissemination", 0, true},
		{"classic.conf", selection.Case{Collective: "bcast", Ranks: 2, Bytes: 4095}, "bcast/binomial-doubling", 0, true},
		{"classic.conf", selection.Case{Collective: "bcast", Ranks: 15, Bytes: 4096}, "bcast/chain", 8192, true},
		{"classic.conf", selection.Case{Collective: "bcast", Ranks: 16, Bytes: 4096}, "bcast/binomial", 0, false},
		{"classic.conf", selection.Case{Collective: "bcast", Ranks: 1 << 20, Bytes: 1 << 40}, "bcast/chain", 16384, true},
		{"classic.conf", selection.Case{Collective: "barrier", Ranks: 2}, "barrier/dissemination", 0, true},
		{"classic.conf", selection.Case{Collective: "barrier", Ranks: 99}, "barrier/exchange", 0, true},
		{"classic.conf", selection.Case{Collective: "barrier", Ranks: 100}, "barrier/hsb", 0, false},
	} {
		data, err := os.ReadFile(filepath.Join("testdata/ompi", c.file))
		require.NoError(t, err)
		rules, _, err := selection.Import(data)
		require.NoError(t, err)
		d, ok := rules.Of(c.of)
		require.True(t, ok)
		require.Equal(t, c.want, d.Rule.Algorithm, "%s %+v", c.file, c.of)
		require.Equal(t, c.own, d.Own, "%s %+v", c.file, c.of)
		require.Equal(t, c.chunk, d.Rule.Params.Chunk, "%s %+v", c.file, c.of)
	}
}

// TestImportedBlocks checks that Open MPI's sizes count all blocks together, and that a rule's
// range is right for the smallest number of ranks of the rule.
func TestImportedBlocks(t *testing.T) {
	data, err := os.ReadFile("testdata/ompi/blocks.conf")
	require.NoError(t, err)
	rules, _, err := selection.Import(data)
	require.NoError(t, err)
	for _, c := range []struct {
		collective   string
		ranks, total int // bytes of all blocks together
		want         string
	}{
		{"allgather", 2, 1 << 20, "allgather/bruck"},
		{"allgather", 4, 2047 &^ 3, "allgather/bruck"},
		{"allgather", 4, 2048, selection.BuiltIn},
		{"allgather", 4, 1<<20 - 4, "allgather/ring"},
		{"allgather", 4, 1 << 20, selection.BuiltIn},
		{"alltoall", 8, 8192 - 8, "alltoall/linear"},
		{"alltoall", 8, 8192, selection.BuiltIn},
		{"alltoall", 8, 65536, "alltoall/pairwise"},
		{"alltoall", 1024, 19 << 10, "alltoall/bruck"},
		{"alltoall", 1024, 20 << 10, "alltoall/linear"},
		{"gather", 1 << 20, 0, "gather/binomial"},
		{"gather", 8, 16, selection.BuiltIn},
		{"gather", 1 << 20, 1 << 20, "gather/linear"},
		{"scatter", 2, 4094, "scatter/binomial"},
		{"scatter", 16, 4096, "scatter/linear"},
	} {
		d, ok := rules.Of(selection.Case{Collective: c.collective, Ranks: c.ranks, Bytes: c.total / c.ranks})
		require.True(t, ok)
		got := d.Rule.Algorithm
		if !d.Own {
			got = selection.BuiltIn
		}
		require.Equal(t, c.want, got, "%s of %d bytes among %d ranks", c.collective, c.total, c.ranks)
	}
}

// TestOtherForms checks that both readers name the form of a file that is something else.
func TestOtherForms(t *testing.T) {
	inputs(t, "other/*.*[nfv]", func(t *testing.T, name string, data []byte) {
		_, _, err := selection.Import(data)
		var other *selection.FormError
		require.ErrorAs(t, err, &other)
		golden(t, name, filepath.Ext(name)+".want", []byte(err.Error()+"\n"))
		_, err = selection.Parse(data)
		require.EqualError(t, err, other.Error())
	})
}

// TestParseNamesOpenMPI checks that for a table of Open MPI, Parse names the command that converts
// it.
func TestParseNamesOpenMPI(t *testing.T) {
	inputs(t, "ompi/*.*[nf]", func(t *testing.T, name string, data []byte) {
		_, err := selection.Parse(data)
		require.ErrorContains(t, err, "this is a table of rules of Open MPI's component tuned; schedgen rules converts")
	})
}

func FuzzImport(f *testing.F) {
	for _, pattern := range []string{"ompi/*.*[nf]", "ompi_bad/*.*[nf]", "other/*.*[nfv]", "good/*.json"} {
		names, err := filepath.Glob(filepath.Join("testdata", pattern))
		require.NoError(f, err)
		for _, name := range names {
			data, err := os.ReadFile(name)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := strings.Count(string(data), "\n") + 1
		rules, notes, err := selection.Import(data)
		if err != nil {
			var other *selection.FormError
			if errors.As(err, &other) {
				return
			}
			var at *selection.FileError
			if !errors.As(err, &at) || at.Line < 1 || at.Line > lines {
				t.Fatalf("an error without its line: %v", err)
			}
			return
		}
		for _, n := range notes {
			if n.Line < 1 || n.Line > lines {
				t.Fatalf("a note without its line: %v", n)
			}
		}
		again, err := selection.Parse(rules.Text())
		if err != nil || string(again.Text()) != string(rules.Text()) {
			t.Fatalf("%v\n%s", err, rules.Text())
		}
	})
}
