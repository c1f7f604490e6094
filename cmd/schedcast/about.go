package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/schedgen/schedgen/internal/command/complete"
	"github.com/schedgen/schedgen/internal/command/manpage"
	"github.com/schedgen/schedgen/internal/command/syntax"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/version"
)

// helpVerb returns the verb help, which prints what the flag --help prints.
func helpVerb(root *verb) *verb {
	v := newVerb(syntax.Verb{
		Name: "help", Arguments: " [<verb>] [flags]", Help: "Show the help of a verb.",
		Detail: "Prints the same as the verb's flag --help.\n\nExample:\n\n  " + program + " help receive",
		Args:   []*syntax.Value{{Name: "verb", Help: "Verb whose help is shown; default: the command.", Complete: "verb"}},
	})
	all := false
	v.group("Flags")
	v.add(yes(&all), syntax.Value{Name: "all", Bool: true, Help: "Show all flags."})
	v.do = func(_ context.Context, std terminal.Stdio, args []string) error {
		of := root
		if len(args) > 0 {
			if of = root.named(args[0]); of == nil {
				return fmt.Errorf("no verb %q", args[0])
			}
		}
		return of.printHelp(std, all)
	}
	return v
}

// completionVerb returns the verb completion.
func completionVerb() *verb {
	v := newVerb(syntax.Verb{
		Name: "completion", Arguments: " <shell> [flags]", Help: "Print a script that makes a shell complete command lines.", Detail: complete.Help(program),
		Args: []*syntax.Value{{Name: "shell", Help: "One of " + strings.Join(complete.Shells(), ", ") + ".", Enum: complete.Shells()}},
	})
	v.do = func(_ context.Context, std terminal.Stdio, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("a shell is missing; it must be one of %s", strings.Join(complete.Shells(), ", "))
		}
		return complete.WriteScript(std.Out, args[0], program)
	}
	return v
}

// completeName is the verb that the scripts of completion call.
const completeName = "complete"

// completeVerb returns the hidden verb for the scripts. Its arguments are the words after the
// program up to the cursor.
func completeVerb(root *verb) *verb {
	v := newVerb(syntax.Verb{Name: completeName, Hidden: true})
	v.do = func(_ context.Context, std terminal.Stdio, words []string) error {
		if len(words) > 0 && words[0] == "--" {
			words = words[1:]
		}
		return complete.Print(std.Out, complete.Next(&root.Verb, words, completions))
	}
	return v
}

// completions are the possible values of flags and arguments, by their kind.
var completions = map[string]complete.Source{
	"interface": complete.Interfaces,
	"transport": func(complete.Place) []complete.Word { return complete.Rows(transports) },
	"verb":      complete.Below,
}

// manVerb returns the verb man.
func manVerb(root *verb) *verb {
	v := newVerb(syntax.Verb{Name: "man", Arguments: " [flags]", Help: "Print the manual page.", Detail: manpage.Help(program)})
	v.do = func(_ context.Context, std terminal.Stdio, _ []string) error {
		return manpage.Write(std.Out, &root.Verb, manPage(root, version.Build()))
	}
	return v
}

// manPage returns the parts of the manual page that are not the help of a verb.
func manPage(root *verb, info *debug.BuildInfo) manpage.Page {
	return manpage.Page{Summary: "send files or a stream to many hosts at once", Description: root.Help + "\n\n" + root.Detail, Build: info, Sections: sections}
}

// sections follow the verbs on the manual page.
var sections = []manpage.Section{
	{Title: "EXIT STATUS", Rows: []manpage.Row{
		{Term: "0", Text: "All hosts have everything."},
		{Term: "1", Text: "Some hosts do not have everything, a command failed, or an entry was skipped."},
		{Term: "2", Text: "Bad input: flags, names or files."},
		{Term: "130", Text: "Interrupted."},
	}},
	{Title: "ENVIRONMENT", Rows: []manpage.Row{
		{Term: "COLUMNS", Text: "Width of help texts."},
		{Term: "SCHEDGEN_KEY_FILE", Text: "File with the key of the cast, if --key-file is not given."},
	}},
}
