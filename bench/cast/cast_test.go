//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/schedgen/schedgen/internal/ballast"
)

// These contenders misbehave, for the tests.
func init() {
	receivers := func(script string) func(*place) *plan {
		return func(p *place) *plan {
			pl := &plan{senders: [][]string{{"sh", "-c", "sleep 0.1"}}}
			for range p.Hosts {
				pl.receivers = append(pl.receivers, []string{"sh", "-c", script, "sh", p.source})
			}
			return pl
		}
	}
	contenders = append(contenders,
		contender{"copies", nil, receivers("cp $1 part && mv part payload")},
		contender{"corrupts", nil, receivers("echo x >payload")},
		contender{"fails", nil, receivers("echo no room >&2; exit 7")},
		contender{"hangs", nil, receivers("setsid sleep 1000 & sleep 1000")},
	)
}

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == insideVerb {
		main()
		return
	}
	os.Exit(m.Run())
}

// golden compares a text with a file, or writes the file with SCHEDGEN_UPDATE=1.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("SCHEDGEN_UPDATE") == "1" {
		require.NoError(t, os.MkdirAll("testdata", 0o777))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o666))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestOptions(t *testing.T) {
	o, err := parseOptions(strings.Fields("--sizes 1MiB --hosts 2,3 --rates 10mbit,unlimited --loss 0,2.5% --tools uftp,scp --rounds 2 --faults none,slow"), io.Discard)
	require.NoError(t, err)
	require.Equal(t, []cell{
		{mib, 2, 10e6, 0, faultNone}, {mib, 3, 10e6, 0, faultNone}, {mib, 2, 10e6, 25, faultNone}, {mib, 3, 10e6, 25, faultNone},
		{mib, 2, 0, 0, faultNone}, {mib, 3, 0, 0, faultNone}, {mib, 2, 0, 25, faultNone}, {mib, 3, 0, 25, faultNone},
		{mib, 2, 10e6, 0, faultSlow}, {mib, 3, 10e6, 0, faultSlow},
	}, o.cells())
	require.Len(t, o.trials(), 10*2*2)
	require.Equal(t, "1 MiB to 2 hosts, 10mbit, 0 % loss, scp, round 1", o.trials()[1].String())
	o, err = parseOptions(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, filepath.Join("bench/results", "cast.csv"), o.file(".csv"))
	require.Len(t, o.cells(), 2*3*(9+2+3+3))
	require.Equal(t, 3, o.roundsOf(cell{Bytes: 64 * mib}))
	require.Equal(t, 1, o.roundsOf(cell{Bytes: 65 * mib}))

	for args, want := range map[string]string{
		"--hosts 1":                       `"1" is not in 2..249`,
		"--loss 1":                        "is no loss",
		"--rates 5":                       `"5" is no rate`,
		"--sizes 2GiB":                    "must be 1B … 1GiB",
		"--tools scp,rsh":                 `"rsh" is none of schedgen,`,
		"--faults no":                     `"no" is none of none,`,
		"--rounds -1":                     "--rounds=-1",
		"--budget 1ms":                    "--budget=1ms",
		"--nice 20":                       "--nice=20",
		"--name a/b":                      "--name=a/b",
		"--faults slow --rates unlimited": "nothing to measure",
		"more":                            "only flags",
	} {
		_, err := parseOptions(strings.Fields(args), io.Discard)
		require.ErrorContains(t, err, want, args)
	}
}

func TestBudget(t *testing.T) {
	c := cell{Bytes: 64 * mib, Hosts: 5, Rate: 100e6, Fault: faultNone}
	require.Equal(t, 63*time.Second, c.budget())
	c.Fault = faultSlow
	require.Equal(t, 118*time.Second, c.budget())
	require.Equal(t, 245*time.Second, cell{Bytes: 1 << 30, Hosts: 40}.budget().Round(time.Second))
}

// TestMissing checks that missing programs are named with the packages to install.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	o, err := parseOptions(strings.Fields("--tools scp,udpcast --loss 0,1%"), io.Discard)
	require.NoError(t, err)
	require.EqualError(t, missing(o), "not installed, or not in PATH: ip nft scp ssh-keygen sshd tc udp-receiver udp-sender; "+
		"on Debian: apt-get install --no-install-recommends iproute2 nftables openssh-client openssh-server udpcast")
}

// TestCommandLines compares the command lines of all tools with a reviewed golden.
func TestCommandLines(t *testing.T) {
	var b strings.Builder
	for _, rate := range []int64{100e6, 0} {
		p := &place{cell{64 * mib, 2, rate, 10, faultNone}, "/tmp/trial", "/tmp/payload", "schedgen"}
		for _, c := range contenders[:7] {
			pl := c.plan(p)
			fmt.Fprintf(&b, "# %s, %d bit/s: %v\n", c.name, rate, pl.ready)
			fmt.Fprint(&b, pl.files["sshd1.conf"])
			for _, words := range slices.Concat(pl.prepare, pl.receivers, pl.senders) {
				fmt.Fprintf(&b, "%q\n", words)
			}
		}
	}
	golden(t, "plans.txt", b.String())
}
