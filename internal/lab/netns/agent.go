//go:build linux

package netns

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/schedgen/schedgen/internal/test/netns"
	"github.com/schedgen/schedgen/internal/words"
)

// hostsVar is the variable that holds the processes of all hosts, for the agent.
const hostsVar = "SCHEDGEN_NETNS_HOSTS"

// pids returns the processes of hosts as text.
func pids(hosts []*hostProcess) string {
	var all []string
	for _, h := range hosts {
		all = append(all, strconv.Itoa(h.cmd.Process.Pid))
	}
	return strings.Join(all, ",")
}

// writeAgent writes a program that mpirun can start in place of ssh, and returns its name: a launcher
// of MPICH is one word.
func writeAgent() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp("", "schedlab-agent-")
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "#!/bin/sh\nexec %s %s -- \"$@\"\n", words.Shell(self), agentVerb)
	if err := errors.Join(err, f.Chmod(0o700), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// mpiEnvironment returns the variables that make Open MPI and MPICH start ranks by the agent, a
// program, and reach them on eth0. A variable that the user has set keeps its value.
func mpiEnvironment(agent, hosts string) map[string]string {
	set := map[string]string{
		"OMPI_MCA_plm_rsh_agent":         agent,
		"OMPI_MCA_oob_tcp_if_include":    "eth0",
		"OMPI_MCA_btl_tcp_if_include":    "eth0",
		"OMPI_ALLOW_RUN_AS_ROOT":         "1",
		"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
		"HYDRA_LAUNCHER":                 "ssh",
		"HYDRA_LAUNCHER_EXEC":            agent,
		"HYDRA_IFACE":                    "eth0",
		"UCX_TLS":                        "tcp,self", // its shared memory would reach across hosts
		"UCX_NET_DEVICES":                "eth0",
	}
	for name := range set {
		if value, ok := os.LookupEnv(name); ok {
			set[name] = value
		}
	}
	set[hostsVar] = hosts
	return set
}

// Agent is the hidden verb that takes the place of ssh for mpirun. Its arguments are a host, and a
// shell command to run there.
type Agent struct {
	Arguments []string `arg:"" optional:""`
}

// Run replaces this process by the command.
func (a *Agent) Run() error {
	host, command, err := agentArguments(a.Arguments)
	if err != nil {
		return err
	}
	all := strings.Split(os.Getenv(hostsVar), ",")
	if host >= len(all) {
		return fmt.Errorf("there are %d hosts, and no %s", len(all), netns.Address(host))
	}
	path, err := exec.LookPath("nsenter")
	if err != nil {
		return err
	}
	return syscall.Exec(path, []string{"nsenter", "--target", all[host], "--net", "--uts", "sh", "-c", command}, os.Environ())
}

// agentArguments parses arguments as ssh does.
func agentArguments(args []string) (host int, command string, err error) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") { // flags without a value, such as MPICH's -x
		args = args[1:]
	}
	if len(args) < 2 {
		return 0, "", errors.New("as an agent of mpirun it wants a host and a command")
	}
	addresses := make([]string, netns.MaxHosts)
	for i := range addresses {
		addresses[i] = netns.Address(i)
	}
	if host = slices.Index(addresses, args[0]); host < 0 {
		return 0, "", fmt.Errorf("%s is no host: they are %s, %s and so on", args[0], addresses[0], addresses[1])
	}
	return host, strings.Join(args[1:], " "), nil
}
