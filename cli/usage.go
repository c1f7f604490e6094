package cli

import (
	"regexp"
	"strings"

	"github.com/schedgen/schedgen/internal/command"
)

// spellings returns what replaces texts of the parser's errors.
func spellings() []command.Spelling {
	return []command.Spelling{
		{Pattern: regexp.MustCompile(`^expected "<algorithm\|file>"$`), Text: `the name of an algorithm (see schedgen list) or a file is missing`},
		{Pattern: regexp.MustCompile(`^expected "<collective>"$`), Text: `a collective is missing; it must be one of ` + strings.Join(explainable(), ", ")},
		{Pattern: regexp.MustCompile(`^expected "<name>"$`), Text: `the name of the group is missing`},
		{Pattern: regexp.MustCompile(`^expected "<operation>"$`), Text: `an operation is missing; it must be one of ` + strings.Join(command.Heads(operationRows()), ", ")},
	}
}

// OrElse says what stands in place of a collective.
func (*runCmd) OrElse() string { return "a file with a schedule" }
