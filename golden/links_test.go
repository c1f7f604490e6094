package golden

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

var (
	markdownLink  = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	markdownBlock = regexp.MustCompile("(?ms)^```.*?^```$")
	heading       = regexp.MustCompile(`(?m)^#+ (.*)$`)
	namedFile     = regexp.MustCompile("`([a-z][a-z0-9_/]*\\.go)`|`((?:cast|cmd|emit|examples|golden|internal|ir|runtime|schedule|sim|verify)/[a-z0-9_/]+)`")
)

// documents returns the files of the documents.
func documents(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../docs/notes/*.md", "../docs/results/*.md"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	return files
}

// TestLinksOfDocuments follows every link of the documents to a file of the repository, and to a
// heading in it. Links to other sites are left out.
func TestLinksOfDocuments(t *testing.T) {
	t.Parallel()
	links := 0
	for _, file := range documents(t) {
		for _, m := range markdownLink.FindAllStringSubmatch(prose(t, file), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			name, anchor, hasAnchor := strings.Cut(m[1], "#")
			target := file
			if name != "" {
				target = filepath.Join(filepath.Dir(file), name)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: (%s): no such file", file, m[1])
			} else if hasAnchor && !anchors(t, target)[anchor] {
				t.Errorf("%s: (%s): no such heading", file, m[1])
			}
		}
	}
	require.Greater(t, links, 100)
}

// TestFilesInDocuments looks for every Go file and every package that the documents name, by its
// path or by the end of it.
func TestFilesInDocuments(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	require.NoError(t, filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		name = strings.TrimPrefix(filepath.ToSlash(name), "../")
		for there[name] = true; strings.Contains(name, "/"); there[name] = true {
			_, name, _ = strings.Cut(name, "/")
		}
		return nil
	}))
	named := 0
	for _, file := range documents(t) {
		for _, m := range namedFile.FindAllStringSubmatch(prose(t, file), -1) {
			named++
			if name := strings.TrimSuffix(m[1]+m[2], "/"); !there[name] {
				t.Errorf("%s: `%s`: no such file or package", file, name)
			}
		}
	}
	require.Greater(t, named, 50)
}

// prose returns a document without its blocks of code, which may contain what looks like a link or
// a heading.
func prose(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return markdownBlock.ReplaceAllLiteralString(string(text), "")
}

// anchors returns the names that GitHub gives the headings of a document: lower case, without
// punctuation, hyphens for blanks, and a number behind a name that has been there before.
func anchors(t *testing.T, file string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(prose(t, file), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])
		for n := 0; ; n++ {
			unique := name
			if n > 0 {
				unique += "-" + strconv.Itoa(n)
			}
			if !names[unique] {
				names[unique] = true
				break
			}
		}
	}
	return names
}
