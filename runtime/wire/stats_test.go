package wire

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The names of counters in JSON are those of the fields, so that a rename changes both.
func TestCountersAreNamedAsFields(t *testing.T) {
	capital := regexp.MustCompile("[A-Z]")
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Stats]()) {
		name := strings.TrimPrefix(capital.ReplaceAllStringFunc(f.Name, func(c string) string { return "_" + strings.ToLower(c) }), "_")
		require.Equal(t, name, f.Tag.Get("json"))
	}
}
