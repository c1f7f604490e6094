package papers

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFigures checks the tables of all figures, with few runs and points. Seeds make them exact.
// SCHEDGEN_UPDATE=1 records them.
func TestFigures(t *testing.T) {
	for _, e := range List() {
		t.Run(e.ID, func(t *testing.T) {
			f, err := e.Make(t.Context(), Options{Seed: 1, Quick: true})
			require.NoError(t, err)
			var got bytes.Buffer
			require.NoError(t, f.WriteTable(&got))
			name := filepath.Join("testdata", strings.ReplaceAll(e.ID, "/", "-")+".txt")
			if os.Getenv("SCHEDGEN_UPDATE") != "" {
				require.NoError(t, os.WriteFile(name, got.Bytes(), 0o666))
			}
			want, err := os.ReadFile(name)
			require.NoError(t, err)
			require.Equal(t, string(want), got.String())
		})
	}
}

// TestCSV checks that there is one line for each point and each value of a claim, under one header.
func TestCSV(t *testing.T) {
	f := &Figure{
		ID: "000/0", X: Axis{Label: "ranks"}, Y: Axis{Label: "time", Unit: "µs"},
		Series: []Series{{"a, b", Model, []Point{{1, 2}, {2, None}}}},
		Claims: []Claim{{"§1", "twice", "%", 50, None, 51.23456}},
	}
	var got bytes.Buffer
	require.NoError(t, f.WriteCSV(&got))
	require.Equal(t, `figure,kind,series,x,y,x_axis,y_axis
000/0,model,"a, b",1,2,ranks,time [µs]
000/0,paper,twice,§1,50,statement,%
000/0,simulation,twice,§1,51.23,statement,%
`, got.String())
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1e-12: "0", 0.12344: "0.1234", 12344.6: "12345", 1234.56: "1235", -3: "-3", 2e6: "2000000"} {
		require.Equal(t, want, number(v))
	}
}

func TestFind(t *testing.T) {
	all, err := Find("")
	require.NoError(t, err)
	require.Len(t, all, len(List()))
	sum := 0
	for _, paper := range []string{"000", "001", "002", "003", "004"} {
		of, err := Find(paper)
		require.NoError(t, err)
		require.NotEmpty(t, of)
		sum += len(of)
	}
	require.Len(t, all, sum)
	one, err := Find("002/1")
	require.NoError(t, err)
	require.Len(t, one, 1)
	_, err = Find("002/9")
	require.EqualError(t, err, `no figure "002/9"`)
}
