//go:build linux

package cast

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/lab/internal/labtest"
	_ "github.com/schedgen/schedgen/internal/test/ballast"
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
	os.Exit(labtest.Main(m, labtest.Program(func() any {
		return new(struct {
			Cast   Verb   `cmd:""`
			Inside Inside `cmd:"" hidden:"" name:"cast-inside"`
			command.About
		})
	})))
}

// parse returns the verb with the given flags.
func parse(t *testing.T, flags string) (*Verb, error) {
	v, err := labtest.Parse[Verb](t, strings.Fields(flags)...)
	if err == nil {
		err = v.check()
	}
	return v, err
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
	v, err := parse(t, "--size 1MiB --hosts 2,3 --rate 10mbit,unlimited --loss 0,2.5% --tool uftp,scp --rounds 2 --fault none,slow")
	require.NoError(t, err)
	require.Equal(t, []cell{
		{mib, 2, 10e6, 0, faultNone}, {mib, 3, 10e6, 0, faultNone}, {mib, 2, 10e6, 25, faultNone}, {mib, 3, 10e6, 25, faultNone},
		{mib, 2, 0, 0, faultNone}, {mib, 3, 0, 0, faultNone}, {mib, 2, 0, 25, faultNone}, {mib, 3, 0, 25, faultNone},
		{mib, 2, 10e6, 0, faultSlow}, {mib, 3, 10e6, 0, faultSlow},
	}, v.cells())
	require.Len(t, v.trials(), 10*2*2)
	require.Equal(t, "1 MiB to 2 hosts, 10mbit, 0 % loss, scp, round 1", v.trials()[1].String())
	v, err = parse(t, "")
	require.NoError(t, err)
	require.Equal(t, filepath.Join("docs/results", "cast.csv"), v.Path("csv"))
	require.Len(t, v.cells(), 2*3*(9+2+3+3))
	require.Equal(t, 3, v.roundsOf(cell{Bytes: 64 * mib}))
	require.Equal(t, 1, v.roundsOf(cell{Bytes: 65 * mib}))

	for args, want := range map[string]string{
		"--hosts 1":                     "--hosts=1: must be in 2..249",
		"--loss 1":                      "is no loss",
		"--rate 5":                      `"5" is no rate`,
		"--size 2GiB":                   "must be 1B … 1GiB",
		"--tool scp,rsh":                "--tool=rsh: must be one of schedgen,",
		"--fault no":                    "--fault=no: must be one of none,",
		"--rounds=-1":                   "--rounds=-1",
		"--limit 1ms":                   "--limit=1ms",
		"--name a/b":                    "--name=a/b",
		"--fault slow --rate unlimited": "nothing to measure",
		"more":                          "unexpected argument more",
	} {
		_, err := parse(t, args)
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
	v, err := parse(t, "--tool scp,udpcast --loss 0,1%")
	require.NoError(t, err)
	require.EqualError(t, v.missing(), "not installed, or not in PATH: ip nft scp ssh-keygen sshd tc udp-receiver udp-sender; "+
		"on Debian: apt-get install --no-install-recommends iproute2 nftables openssh-client openssh-server udpcast")
}

// TestCommandLines compares the command lines of all tools with a reviewed golden.
func TestCommandLines(t *testing.T) {
	var b strings.Builder
	for _, rate := range []int64{100e6, 0} {
		p := &place{cell{64 * mib, 2, rate, 10, faultNone}, "/tmp/trial", "/tmp/payload", "schedcast"}
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
