package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/internal/words"
)

// usageError rewrites an error of the parser in words of the command line and adds where to find
// help.
func usageError(err error) error {
	var parse *kong.ParseError
	if !errors.As(err, &parse) || parse.Context == nil {
		return fmt.Errorf("%w (see schedgen --help)", err)
	}
	node := parse.Context.Selected()
	if node == nil {
		node = parse.Context.Model.Node
	}
	return fmt.Errorf("%s (see %s --help)", respell(err.Error(), node), node.FullPath())
}

// spelling is a text of the parser's errors, which have no types, and the text that replaces it.
type spelling struct {
	pattern *regexp.Regexp
	text    string
}

func spellings() []spelling {
	return []spelling{
		{regexp.MustCompile(`expected \S+ value but got "EOL" \(<EOL>\)`), `a value is missing`},
		{regexp.MustCompile(`missing value, expecting ".*"`), `a value is missing`},
		{regexp.MustCompile(`expected a valid 64 bit int but got ("[^"]*")`), `$1 is not a whole number`},
		{regexp.MustCompile(`expected a valid 64 bit uint but got ("[^"]*")`), `$1 is not a whole number of at least 0`},
		{regexp.MustCompile(`expected a float but got ("[^"]*") \(\w+\)`), `$1 is not a number`},
		{regexp.MustCompile(`expected duration but got ("[^"]*"): .*`), `$1 is not a time: it must be a number and a unit, such as 30s or 5m`},
		{regexp.MustCompile(`^expected "<algorithm\|file>"$`), `the name of an algorithm (see schedgen list) or a file is missing`},
		{regexp.MustCompile(`^expected "<collective>"$`), `a collective is missing; it must be one of ` + strings.Join(explainable(), ", ")},
		{regexp.MustCompile(`^<(\w+)> must be one of (.*) but got ("[^"]*")$`), `$3 is not a known $1; it must be one of $2`},
		{regexp.MustCompile(`^missing flags: (.*)$`), `missing: $1`},
		{regexp.MustCompile(`^expected "<name>"$`), `the name of the group is missing`},
		{regexp.MustCompile(`^expected "<operation>"$`), `an operation is missing; it must be one of ` + strings.Join(heads(operationRows()), ", ")},
	}
}

// respell rewrites an error that the parser returned at a verb.
func respell(text string, at *kong.Node) string {
	unexpected := regexp.MustCompile(`^unexpected argument ([^,]*)(, (did you mean .*))?$`)
	if m := unexpected.FindStringSubmatch(text); m != nil && len(at.Children) > 0 {
		if m[3] != "" {
			return fmt.Sprintf("no verb %q; %s", m[1], m[3])
		}
		return unknownVerb(at, m[1])
	}
	unknownFlag := regexp.MustCompile(`^unknown flag (-[^,]*)`)
	sshOption := regexp.MustCompile(`^-[pilFJo]$`) // which people give to a program that calls ssh
	if m := unknownFlag.FindStringSubmatch(text); m != nil && at.Name == "cast" && sshOption.MatchString(m[1]) {
		return fmt.Sprintf("%s: if it is an option of ssh, write --ssh 'ssh %s …'", m[1], m[1])
	}
	if m := unknownFlag.FindStringSubmatch(text); m != nil && isFlagOfAnother(at, m[1]) {
		switch {
		case at.Parent == nil:
			return m[1] + ": must follow a verb that takes it"
		case len(at.Children) > 0:
			return fmt.Sprintf("%s: must follow a verb that takes it: %s", m[1], strings.Join(verbsOf(at), ", "))
		}
		return m[1] + ": " + at.FullPath() + " does not take it"
	}
	if strings.HasPrefix(text, `expected one of "`) && len(at.Children) > 0 {
		text = "a verb is missing: it must be one of " + strings.Join(verbsOf(at), ", ")
		if at.Name == "run" {
			text += ", or a file with a schedule"
		}
		return text
	}
	text = likeFlag.ReplaceAllStringFunc(text, likeAFlag)
	for _, s := range spellings() {
		text = s.pattern.ReplaceAllString(text, s.text)
	}
	return text
}

// likeFlag is the parser's error about a value that begins with "-".
var likeFlag = regexp.MustCompile(`expected \S+ value but got ("-.*") \(.*\); perhaps try (--[a-z0-9-]+)=".*"\?`)

// likeAFlag rewrites the text that likeFlag matches.
func likeAFlag(text string) string {
	m := likeFlag.FindStringSubmatch(text)
	value, err := strconv.Unquote(m[1])
	if err != nil {
		return text
	}
	return fmt.Sprintf("%s looks like a flag; if it is the value, write %s=%s", m[1], m[2], words.Shell(value))
}

// unknownVerb returns the error text for a word that is not a verb below node.
func unknownVerb(node *kong.Node, word string) string {
	switch all := verbsOf(node); {
	case len(all) == 0:
		return fmt.Sprintf("unexpected %q: %s has no verbs", word, node.FullPath())
	case node.Parent == nil && word == "version":
		return fmt.Sprintf("no verb %q; the version is a flag, --version", word)
	case node.Parent == nil:
		return fmt.Sprintf("no verb %q", word)
	case node.Name == "run":
		return fmt.Sprintf("%q is neither a collective (%s) nor a file with a schedule", word, strings.Join(all, ", "))
	default:
		return fmt.Sprintf("%s has no verb %q; it has %s", node.FullPath(), word, strings.Join(all, ", "))
	}
}

// verbsOf returns the verbs below node that help shows.
func verbsOf(node *kong.Node) (all []string) {
	for _, child := range node.Children {
		if !child.Hidden {
			all = append(all, child.Name)
		}
	}
	return all
}

// isFlagOfAnother reports whether any verb has the flag, which is spelled with its hyphens.
func isFlagOfAnother(node *kong.Node, flag string) bool {
	for node.Parent != nil {
		node = node.Parent
	}
	for _, leaf := range node.Leaves(true) {
		if slices.ContainsFunc(leaf.Flags, func(f *kong.Flag) bool {
			return flag == "--"+f.Name || flag == "-"+string(f.Short)
		}) {
			return true
		}
	}
	return false
}
