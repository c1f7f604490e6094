//go:build linux

package cast

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/test/netns"
)

// fileName is the name of the file at the sender and at every host.
const fileName = "payload"

// place holds the values from which the command lines of a tool are made.
type place struct {
	cell
	dir      string // directory of the measurement
	source   string // file to send
	schedgen string // path of the command schedcast
}

// hostDir returns the directory of host i, from 1, to which the file is sent.
func (p *place) hostDir(i int) string { return filepath.Join(p.dir, "hosts", fmt.Sprintf("h%d", i)) }

// plan holds the command lines of a tool.
type plan struct {
	prepare   [][]string        // commands to run first
	files     map[string]string // files to write first: name in the measurement's directory, and text
	receivers [][]string        // commands of the hosts 1, 2, …
	ready     socket            // socket that a receiver has when it is ready
	stays     bool              // receivers do not end by themselves
	senders   [][]string        // commands of host 0, which run at the same time
}

// socket is a socket that must be bound or listen. Port 0 means that none is needed.
type socket struct {
	protocol string // as in /proc/net
	port     int
}

// contender is a tool with a way to use it.
type contender struct {
	name     string
	programs []string // programs that must be installed
	plan     func(*place) *plan
}

var contenders = []contender{
	{"schedgen", nil, schedgenBy("auto")},
	{"schedgen-tcp", nil, schedgenBy("tcp")},
	{"schedgen-mcast", nil, schedgenBy("mcast")},
	{"udpcast", udpcastPrograms, udpcast()},
	{"udpcast-fec", udpcastPrograms, udpcast("--fec", "8x8/128")},
	{"uftp", []string{"uftp", "uftpd"}, uftp},
	{"scp", []string{"scp", "sshd", "ssh-keygen"}, scp},
}

var packages = map[string]string{
	"ip": "iproute2", "tc": "iproute2", "nft": "nftables", "udp-sender": "udpcast", "udp-receiver": "udpcast",
	"uftp": "uftp", "uftpd": "uftp", "sshd": "openssh-server", "scp": "openssh-client", "ssh-keygen": "openssh-client",
}

func toolNames() (names []string) {
	for _, c := range contenders {
		names = append(names, c.name)
	}
	return names
}

func contenderOf(name string) *contender {
	i := slices.IndexFunc(contenders, func(c contender) bool { return c.name == name })
	if i < 0 {
		return nil
	}
	return &contenders[i]
}

// missing returns an error that lists the programs to install for the chosen tools.
func (v *Verb) missing() error {
	need := []string{"ip", "tc"}
	if slices.Max(v.Loss) > 0 {
		need = append(need, "nft")
	}
	for _, name := range v.Tool {
		need = append(need, contenderOf(name).programs...)
	}
	var programs, debian []string
	for _, name := range need {
		if _, err := exec.LookPath(name); err != nil {
			programs, debian = append(programs, name), append(debian, packages[name])
		}
	}
	if len(programs) == 0 {
		return nil
	}
	return fmt.Errorf("not installed, or not in PATH: %s; on Debian: apt-get install --no-install-recommends %s",
		strings.Join(unique(programs), " "), strings.Join(unique(debian), " "))
}

func unique(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}

// schedgenBy returns the plan of schedcast with a transport, or with auto.
func schedgenBy(transport string) func(*place) *plan {
	return func(p *place) *plan {
		at := netns.Address(0) + ":7717"
		pl := &plan{senders: [][]string{{p.schedgen, "--serve", p.source, "--expect", fmt.Sprint(p.Hosts), "--listen", at,
			"--transport", transport, "--json"}}}
		for i := 1; i <= p.Hosts; i++ {
			pl.receivers = append(pl.receivers, []string{p.schedgen, "receive", "--from", at, "--to", p.hostDir(i), "--name", fmt.Sprintf("h%d", i)})
		}
		return pl
	}
}

var udpcastPrograms = []string{"udp-sender", "udp-receiver"}

// udpcast returns the plan of udpcast. Its flags say that links are full duplex and how fast they
// are, and make it repeat its hello, which may be lost.
func udpcast(more ...string) func(*place) *plan {
	return func(p *place) *plan {
		// By default they would find each other at Ethernet's broadcast address.
		common := []string{"--nokbd", "--no-progress", "--interface", "eth0", "--mcast-rdv-address", "239.77.0.1"}
		sender := append([]string{"udp-sender", "--file", p.source, "--min-receivers", fmt.Sprint(p.Hosts), "--full-duplex",
			"--rexmit-hello-interval", "100"}, common...)
		if p.Rate > 0 {
			sender = append(sender, "--max-bitrate", fmt.Sprintf("%dk", rateForTool(p.Rate)))
		}
		pl := &plan{ready: socket{"udp", 9000}, senders: [][]string{append(sender, more...)}}
		for i := 1; i <= p.Hosts; i++ {
			pl.receivers = append(pl.receivers, append([]string{"udp-receiver", "--file", filepath.Join(p.hostDir(i), fileName)}, common...))
		}
		return pl
	}
}

// rateForTool returns the rate in kbit/s for tools that need it. It is below the rate of the link,
// which leaves room for repairs and answers.
func rateForTool(rate int64) int64 { return rate * 95 / 100 / 1000 }

// uftp returns the plan of uftp. Its flags give the rate of the links, set the first time for
// answers to a tenth of a second in place of half a second, and make it fill its datagrams.
func uftp(p *place) *plan {
	rate := int64(-1) // as fast as the interface allows
	if p.Rate > 0 {
		rate = rateForTool(p.Rate)
	}
	pl := &plan{
		ready: socket{"udp", 1044}, stays: true,
		senders: [][]string{{"uftp", "-I", "eth0", "-R", fmt.Sprint(rate), "-r", "0.1", "-b", "1400", p.source}},
	}
	for i := 1; i <= p.Hosts; i++ {
		pl.receivers = append(pl.receivers, []string{"uftpd", "-d", "-t", "-I", "eth0", "-D", p.hostDir(i)})
	}
	return pl
}

// scp returns the plan of scp: a copy to each host, all at the same time, with the cipher that is
// fastest on processors with instructions for it.
func scp(p *place) *plan {
	key := func(name string) string { return filepath.Join(p.dir, name) }
	pl := &plan{ready: socket{"tcp", 22}, stays: true, files: map[string]string{}}
	for _, name := range []string{"host.key", "user.key"} {
		pl.prepare = append(pl.prepare, []string{"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key(name)})
	}
	for i := 1; i <= p.Hosts; i++ {
		config := fmt.Sprintf("sshd%d.conf", i)
		pl.files[config] = fmt.Sprintf(`ListenAddress %s
HostKey %s
AuthorizedKeysFile %s
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile none
Subsystem sftp internal-sftp
`, netns.Address(i), key("host.key"), key("user.key.pub"))
		pl.receivers = append(pl.receivers, []string{"sshd", "-D", "-e", "-f", key(config)})
		pl.senders = append(pl.senders, []string{"scp", "-q", "-F", "none", "-i", key("user.key"), "-c", "aes128-gcm@openssh.com",
			"-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
			p.source, fmt.Sprintf("%s:%s/%s", netns.Address(i), p.hostDir(i), fileName)})
	}
	return pl
}
