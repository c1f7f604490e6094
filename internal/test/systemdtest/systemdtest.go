// Package systemdtest checks units of systemd in tests.
package systemdtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Check requires that units in files start a program of /usr/local/bin, as an unprivileged user in a
// sandbox of which systemd thinks well, if it is here. It returns the arguments of the program, for
// each service.
func Check(t *testing.T, program string, units ...string) (commands [][]string) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	var services, all []string
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		require.NoError(t, err)
		path := filepath.Join(dir, strings.Replace(filepath.Base(unit), "@.", "@name.", 1))
		require.NoError(t, os.WriteFile(path, bytes.ReplaceAll(text, []byte("/usr/local/bin/"+program), []byte(exe)), 0o600))
		all = append(all, path)
		if !strings.HasSuffix(unit, ".service") {
			continue
		}
		services = append(services, path)
		start := line(string(text), "ExecStart=/usr/local/bin/"+program+" ")
		require.NotEmpty(t, start, unit)
		commands = append(commands, strings.Fields(start))
		require.NotContains(t, []string{"", "root"}, line(string(text), "User="), unit)
		for _, want := range []string{"NoNewPrivileges=yes", "CapabilityBoundingSet=", "ProtectSystem=strict", "PrivateDevices=yes", "SystemCallFilter=@system-service", "RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX"} {
			require.Contains(t, string(text), "\n"+want+"\n", unit)
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not here: the units are not analyzed")
		return commands
	}
	out, err := exec.Command(analyze, append([]string{"verify", "--man=no"}, all...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, string(out), dir, "a warning")
	for _, service := range services { // its exit code is 1 if the exposure is more than 3.0
		out, err := exec.Command(analyze, "security", "--offline=true", "--threshold=30", "--no-pager", service).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "Overall exposure level")
	}
	return commands
}

// line returns the rest of the line of a unit that begins with key, or "" if there is none.
func line(text, key string) string {
	_, rest, _ := strings.Cut(text, "\n"+key)
	rest, _, _ = strings.Cut(rest, "\n")
	return rest
}
