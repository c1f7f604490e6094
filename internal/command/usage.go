package command

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
func (p *Program) usageError(err error) error {
	var parse *kong.ParseError
	if !errors.As(err, &parse) || parse.Context == nil {
		return fmt.Errorf("%w (see %s --help)", err, p.Name)
	}
	node := parse.Context.Selected()
	if node == nil {
		node = parse.Context.Model.Node
	}
	return fmt.Errorf("%s (see %s --help)", p.respell(err.Error(), node), node.FullPath())
}

// Spelling is a pattern of the parser's errors, which have no types, and the text that replaces it.
type Spelling struct {
	Pattern *regexp.Regexp
	Text    string
}

func spellings() []Spelling {
	return []Spelling{
		{regexp.MustCompile(`expected \S+ value but got "EOL" \(<EOL>\)`), `a value is missing`},
		{regexp.MustCompile(`missing value, expecting ".*"`), `a value is missing`},
		{regexp.MustCompile(`expected a valid 64 bit int but got ("[^"]*")`), `$1 is not a whole number`},
		{regexp.MustCompile(`expected a valid 64 bit uint but got ("[^"]*")`), `$1 is not a whole number of at least 0`},
		{regexp.MustCompile(`expected a float but got ("[^"]*") \(\w+\)`), `$1 is not a number`},
		{regexp.MustCompile(`expected duration but got ("[^"]*"): .*`), `$1 is not a time: it must be a number and a unit, such as 30s or 5m`},
		{regexp.MustCompile(`^<(\w+)> must be one of (.*) but got ("[^"]*")$`), `$3 is not a known $1; it must be one of $2`},
		{regexp.MustCompile(`^missing flags: (.*)$`), `missing: $1`},
	}
}

// respell rewrites an error that the parser returned at a verb.
func (p *Program) respell(text string, at *kong.Node) string {
	unexpected := regexp.MustCompile(`^unexpected argument ([^,]*)(, (did you mean .*))?$`)
	if m := unexpected.FindStringSubmatch(text); m != nil && len(at.Children) > 0 {
		if now := p.Moved[m[1]]; now != "" && at.Parent == nil {
			return fmt.Sprintf("%q is a command of its own now: %s", m[1], now)
		}
		if m[3] != "" {
			return fmt.Sprintf("no verb %q; %s", m[1], m[3])
		}
		return unknownVerb(at, m[1])
	}
	unknownFlag := regexp.MustCompile(`^unknown flag (-[^,]*)`)
	if m := unknownFlag.FindStringSubmatch(text); m != nil && at.Target.CanAddr() {
		// A verb may know what the user meant.
		if verb, ok := at.Target.Addr().Interface().(interface{ UnknownFlag(flag string) string }); ok {
			if advice := verb.UnknownFlag(m[1]); advice != "" {
				return m[1] + ": " + advice
			}
		}
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
		if other := orElse(at); other != "" {
			text += ", or " + other
		}
		return text
	}
	text = likeFlag.ReplaceAllStringFunc(text, likeAFlag)
	all := spellings()
	if p.Spellings != nil {
		all = append(all, p.Spellings()...)
	}
	for _, s := range all {
		text = s.Pattern.ReplaceAllString(text, s.Text)
	}
	return text
}

// orElse returns what may stand in place of a verb below node, such as "a file with a schedule", or
// "". A verb that takes more than the names of verbs has the method OrElse.
func orElse(node *kong.Node) string {
	if node.Target.CanAddr() {
		if verb, ok := node.Target.Addr().Interface().(interface{ OrElse() string }); ok {
			return verb.OrElse()
		}
	}
	return ""
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
	case orElse(node) != "":
		return fmt.Sprintf("%q is neither a verb of %s (%s) nor %s", word, node.FullPath(), strings.Join(all, ", "), orElse(node))
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
