package unpack

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
)

// Home replaces ~ at the beginning of a path by the user's home, and ~NAME by the home of another
// user, as a shell does. It returns an error if there is no such user.
func Home(path string) (string, error) {
	if !strings.HasPrefix(path, "~") {
		return path, nil
	}
	name, rest, _ := strings.Cut(path[1:], "/")
	if name == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		return filepath.Join(home, rest), nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w (a directory of this name is ./%s)", path, err, path)
	}
	return filepath.Join(u.HomeDir, rest), nil
}
