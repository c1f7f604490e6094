//go:build linux

package guests

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/lab/internal/labtest"
)

// parse returns the verb with the given arguments.
func parse(t *testing.T, args ...string) (*Verb, error) {
	v, err := labtest.Parse[Verb](t, args...)
	if err == nil {
		err = v.check()
	}
	return v, err
}

func TestParse(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/cached")
	o, err := parse(t, strings.Fields("--guests 4 --loss 0.01 --kill 2@1.5s --kill 0@1m=a=b --add a --add b/c -- ./prog --loss 1")...)
	require.NoError(t, err)
	require.Equal(t, []string{"./prog", "--loss", "1"}, o.Command)
	require.Equal(t, []kill{{2, 1500 * time.Millisecond, ""}, {0, time.Minute, "a=b"}}, o.Kill)
	require.Equal(t, []string{"./prog", "a", "b/c"}, o.programs())
	require.Equal(t, "/cached/schedgen/guests", o.Cache)
	o, err = parse(t, "--cache", "x", "--add", "a", "sh")
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, o.programs())
	require.Equal(t, "x", o.Cache)
	for args, want := range map[string]string{
		"--guests 0 x":             "--guests=0",
		"--guests 65 x":            "--guests=65",
		"--loss 1.5 x":             `"1.5" is no share`,
		"--loss NaN x":             `"NaN" is no share`,
		"--mtu 100 x":              "--mtu=100",
		"--memory 64 x":            "--memory=64",
		"--accel xen x":            "--accel=xen",
		"--boot 0s x":              "--boot=0s",
		"--timeout=-1s x":          "--timeout=-1s",
		"--kill 1 x":               "must be G@DURATION",
		"--kill a@1s x":            `guest "a"`,
		"--kill 1@1s= x":           "no text behind =",
		"--kill 3@1s=up x":         "--kill=3@1s=up: must be a guest in 0..2",
		"--kill 1@soon x":          "soon",
		"--kill 3@1s x":            "--kill=3@1s: must be a guest in 0..2",
		"--kill 1@-1s x":           "--kill=1@-1s",
		"--kernel=--help x":        `--kernel="--help"`,
		"--guests 2":               `expected "<command> ..."`,
		"--no-such-flag ls":        "unknown flag",
		"--add a --add a/a ./prog": "a/a and a would both be /opt/bin/a",
	} {
		_, err := parse(t, strings.Fields(args)...)
		require.ErrorContains(t, err, want, args)
	}
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	_, err = parse(t, "sh")
	require.ErrorContains(t, err, "--cache names another")
}

func TestWhatAGuestIsToRun(t *testing.T) {
	o := &Verb{Guests: 3, Command: []string{"build/verbs.test", "-rank={guest}", "{guests}", "x{guest}{guest}"}}
	m := o.startMessage(2)
	require.Equal(t, []string{"/opt/bin/verbs.test", "-rank=2", "3", "x22"}, m.Args)
	require.Contains(t, m.Env, "SCHEDGEN_RANK=2")
	require.Contains(t, m.Env, "SCHEDGEN_SIZE=3")
	o.Command = []string{"rdma", "link"}
	require.Equal(t, []string{"rdma", "link"}, o.startMessage(0).Args)
}

func TestMachineIsAsAsked(t *testing.T) {
	m := &machine{accel: "tcg", tscKHz: 2600000, kernel: "/k", options: &Verb{Guests: 3, Memory: 256, MTU: 4200}}
	args := strings.Join(m.args(1), " ")
	for _, want := range []string{
		"-accel tcg -cpu max", "-m 256", "-kernel /k", "tsc_early_khz=2600000 ", " GUEST=1 GUESTS=3 -- guests-inside",
		"panic=-1", "mac=52:54:00:78:00:02,host_mtu=4200",
	} {
		require.Contains(t, args, want)
	}
	m.accel = "kvm"
	args = strings.Join(m.args(0), " ")
	require.Contains(t, args, "-accel kvm -cpu host")
	require.NotContains(t, args, "tsc")
	require.Equal(t, "10.78.0.64", addressOf("63"))
}

const cpuinfo = `processor	: 0
flags		: fpu vme tsc svmx vmx
bogomips	: 5199.99

processor	: 1
flags		: fpu
`

func TestProcessor(t *testing.T) {
	khz, err := tscKHz([]byte(cpuinfo))
	require.NoError(t, err)
	require.Equal(t, 2599995, khz)
	_, err = tscKHz([]byte("processor: 0\n"))
	require.ErrorContains(t, err, "bogomips")
	require.True(t, hasFlag([]byte(cpuinfo), "vmx"))
	require.False(t, hasFlag([]byte(cpuinfo), "svm"))
	require.Equal(t, "kvm", accelerator("kvm", nil))
	require.Equal(t, "tcg", accelerator("auto", []byte("flags : fpu\n")), "whether there is a /dev/kvm or not")
}

func TestNoEmulator(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var out, errs strings.Builder
	err := run(t.Context(), &Verb{Cache: filepath.Join(t.TempDir(), "never")}, &out, &errs)
	require.ErrorContains(t, err, "qemu-system-x86_64")
	require.ErrorContains(t, err, "apt-get install --no-install-recommends qemu-system-x86")
}
