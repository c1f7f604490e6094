package status_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// dashboard holds the parts of a dashboard of Grafana that name metrics.
type dashboard struct {
	Panels []struct {
		ID      int
		Title   string
		Targets []struct{ Expr, LegendFormat string }
	}
	Templating struct {
		List []struct{ Name, Definition string }
	}
}

var (
	selector = regexp.MustCompile(`\b(schedgen_[a-z0-9_]+)(?:\{([^}]*)\})?`)
	matched  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
	grouped  = regexp.MustCompile(`\bby \(([^)]*)\)`)
	shown    = regexp.MustCompile(`\{\{([a-z_]+)\}\}`)
	variable = regexp.MustCompile(`\$([a-z]+)\b`)
	valuesOf = regexp.MustCompile(`^label_values\((.*), ([a-z]+)\)$`)
)

// Every metric, label and variable that the dashboard names exists. The label job is of the scraper.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../../contrib/grafana/schedgen.json")
	require.NoError(t, err)
	var d dashboard
	require.NoError(t, json.Unmarshal(text, &d))
	labelled := map[string][]string{} // the labels of samples, by name
	for key := range scrape(t, true, measured(t)).values {
		name, of, _ := strings.Cut(strings.TrimSuffix(key, "}"), "{")
		labelled[name] = append(labels(t, of), "job")
	}
	var variables []string
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
	}
	check := func(expr, legend string) {
		found := selector.FindAllStringSubmatch(expr, -1)
		require.NotEmpty(t, found, expr)
		for _, m := range found {
			require.Contains(t, labelled, m[1], "no such metric: %s", expr)
			for _, label := range matched.FindAllStringSubmatch(m[2], -1) {
				require.Contains(t, labelled[m[1]], label[1], expr)
			}
			for _, by := range grouped.FindAllStringSubmatch(expr, -1) {
				for label := range strings.SplitSeq(by[1], ", ") {
					require.Contains(t, labelled[m[1]], label, expr)
				}
			}
			for _, label := range shown.FindAllStringSubmatch(legend, -1) {
				require.Contains(t, labelled[m[1]], label[1], legend)
			}
		}
		for _, v := range variable.FindAllStringSubmatch(expr, -1) {
			require.Contains(t, variables, v[1], expr)
		}
	}
	require.NotEmpty(t, d.Panels)
	var ids []int
	for _, p := range d.Panels {
		require.NotContains(t, ids, p.ID, p.Title)
		ids = append(ids, p.ID)
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			check(target.Expr, target.LegendFormat)
		}
	}
	for _, v := range d.Templating.List {
		if v.Definition == "" {
			continue // the source of data
		}
		m := valuesOf.FindStringSubmatch(v.Definition)
		require.NotNil(t, m, v.Definition)
		check(m[1], "{{"+m[2]+"}}")
	}
	require.True(t, slices.Contains(variables, "datasource"))
}
