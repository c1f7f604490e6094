// Package slurm holds a batch script, and tests it.
package slurm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
)

// TestBatchScript runs the batch script on a cluster of two hosts, which are network namespaces. It
// needs Slurm, which Debian has in slurmctld, slurmd and slurm-client.
func TestBatchScript(t *testing.T) {
	heavy.Needs(t, heavy.Namespaces)
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	for _, tool := range []string{"slurmctld", "slurmd", "sbatch", "srun", "ip", "tc", "unshare", "mount"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%v", err)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root")
	}
	dir := t.TempDir()
	for path, pkg := range map[string]string{"hello": "../hello", "schedlab": "../../cmd/schedlab"} {
		out, err := exec.Command("go", "build", "-o", filepath.Join(dir, path), pkg).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	for _, name := range []string{"hello.sbatch", "testdata/slurm.conf", "testdata/host.sh"} {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		text := strings.ReplaceAll(string(b), "DIR/", dir+"/")
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(text), 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hosts"), []byte("127.0.0.1 localhost\n10.77.0.1 node0\n10.77.0.2 node1\n"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "state"), 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "end"), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	said, err := exec.CommandContext(ctx, filepath.Join(dir, "schedlab"), "netns", "--hosts", "2", "--rate", "", "--",
		"unshare", "-mu", "sh", filepath.Join(dir, "host.sh"), dir).CombinedOutput()
	require.NoError(t, err, "%s", said)
	got, err := os.ReadFile(filepath.Join(dir, "out"))
	require.NoError(t, err)
	var want []string
	for rank := range 8 {
		want = append(want, fmt.Sprintf("rank %d of 8 has %q", rank, "hello world"))
	}
	lines := strings.Split(strings.TrimSpace(string(got)), "\n")
	slices.Sort(lines)
	require.Equal(t, want, lines)
}
