//go:build linux

package guests

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/mpi"
	"github.com/schedgen/schedgen/schedule/selection"
)

// roleVar turns the test program into a program for guests that start MPI programs on each other.
// Its values are "run", for the arguments of mpirun in guest 0 and for a door in the others, and
// "agent", which takes the place of ssh for mpirun.
const roleVar = "SCHEDGEN_GUESTS_MPI"

const (
	doorPort  = "7801"
	agentPath = "/tmp/agent"
	leave     = "" // in place of a command: the door closes
)

func play(role string, args []string) error {
	if role == "agent" {
		return agent(args)
	}
	script := fmt.Sprintf("#!/bin/sh\n%s=agent exec %s/guests.test \"$@\"\n", roleVar, programsDir)
	if err := os.WriteFile(agentPath, []byte(script), 0o700); err != nil {
		return err
	}
	if os.Getenv("GUEST") != "0" {
		return door()
	}
	mpirun := exec.Command(args[0], args[1:]...)
	mpirun.Stdout, mpirun.Stderr = os.Stdout, os.Stderr
	mpirun.Env = withoutRole()
	return errors.Join(mpirun.Run(), send(addressOf("1"), leave))
}

// withoutRole returns the environment without the role.
func withoutRole() (env []string) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, roleVar+"=") {
			env = append(env, v)
		}
	}
	return env
}

// door runs commands that other guests send, until one says that no more come.
func door() error {
	l, err := net.Listen("tcp", ":"+doorPort)
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		var command string
		if err := gob.NewDecoder(c).Decode(&command); err != nil {
			return err
		}
		if command == leave {
			return c.Close()
		}
		go func() {
			defer c.Close() // the sender sees the end of the command
			run := exec.Command("/bin/sh", "-c", command)
			run.Stdout, run.Stderr = c, c
			run.Env = withoutRole()
			if err := run.Run(); err != nil {
				fmt.Fprintf(c, "%s: %v\n", command, err)
			}
		}()
	}
}

// send sends a command to a guest's door and copies its output.
func send(address, command string) error {
	c, err := net.Dial("tcp", net.JoinHostPort(address, doorPort))
	for err != nil { // until the guest listens; the host bounds the time
		c, err = net.Dial("tcp", net.JoinHostPort(address, doorPort))
	}
	defer c.Close() // its end of the command is over
	if err := gob.NewEncoder(c).Encode(command); err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, c)
	return err
}

// agent takes arguments as ssh does: flags, a host and a command.
func agent(args []string) error {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		args = args[1:]
	}
	if len(args) < 2 {
		return fmt.Errorf("an agent of mpirun wants a host and a command, not %q", args)
	}
	return send(args[0], strings.Join(args[1:], " "))
}

// An MPI program runs on two guests with two ranks each, and engine go uses verbs between the
// guests and memory within each. The program compares every result with the MPI's own. Without the
// device, an error names it, and engine c serves the ranks.
func TestMPIOverVerbs(t *testing.T) {
	program := program(t)
	ranks, dir := 4, t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	library, err := mpi.Build(t.Context(), dir, "", "")
	require.NoError(t, err)
	notes, err := mpi.WriteTables(library.TablesOf(ranks), ranks, selection.Builtin())
	require.NoError(t, err)
	require.Empty(t, notes)
	engine, err := mpi.BuildGo(t.Context(), dir, self, true)
	require.NoError(t, err)
	const plugins = "/usr/lib/x86_64-linux-gnu/"
	for _, m := range []struct {
		name, mpirun, pass string
		add                []string
	}{
		{"openmpi", "mpirun.openmpi --allow-run-as-root --oversubscribe --mca plm_rsh_agent " + agentPath + " --mca btl_tcp_if_include eth0" +
			" --mca oob_tcp_if_include eth0 --mca btl tcp,vader,self --mca pml ob1 --mca mpi_yield_when_idle 1 -n 4 --host 10.78.0.1:2,10.78.0.2:2", "-x",
			[]string{"orted", plugins + "openmpi/lib", plugins + "pmix2/lib", "/usr/share/openmpi", "/etc/openmpi"}},
		{"mpich", "mpirun.mpich -launcher ssh -launcher-exec " + agentPath + " -iface eth0 -n 4 -hosts 10.78.0.1:2,10.78.0.2:2" +
			" -genv UCX_TLS tcp,self,posix -genv UCX_NET_DEVICES eth0 -genv MPIR_CVAR_REDUCE_DEVICE_COLLECTIVE 0", "-genv", []string{"hydra_pmi_proxy"}},
	} {
		t.Run(m.name, func(t *testing.T) {
			words := strings.Fields(m.mpirun)
			mpirun, err := exec.LookPath(words[0])
			if err != nil {
				t.Skip(err)
			}
			check := filepath.Join(t.TempDir(), "check")
			text, err := exec.Command("mpicc."+m.name, "-o", check, "../../mpi/testdata/check.c").CombinedOutput()
			require.NoError(t, err, "%s", text)
			yield := filepath.Join(t.TempDir(), "libyield.so")
			text, err = exec.Command("cc", "-O2", "-shared", "-fPIC", "-o", yield, "../mpi/yield.c", "-ldl").CombinedOutput()
			require.NoError(t, err, "%s", text)
			preload := programsDir + "/libschedgen.so"
			args := []string{"--guests", "2", "--memory", "1024", "--timeout", "100s"}
			for _, file := range append([]string{self, mpirun, check, yield, library.Path, library.TablesOf(ranks), engine}, m.add...) {
				if found, err := exec.LookPath(file); err == nil {
					file = found
				}
				args = append(args, "--add", file)
			}
			if m.name == "mpich" { // its waiting ranks keep their cores without this
				preload += ":" + programsDir + "/libyield.so"
			}
			args = append(args, "--", "env", roleVar+"=run", "guests.test")
			args = append(args, words...)
			for _, v := range []string{
				"LD_PRELOAD=" + preload, "SCHEDGEN_MPI=go", "SCHEDGEN_MPI_GO=" + programsDir + "/libschedgen-go.so", "SCHEDGEN_MPI_TABLES=" + programsDir,
				"SCHEDGEN_MPI_REPORT=1", "SCHEDGEN_MPI_JOIN=0", "SCHEDGEN_TRANSPORT=verbs",
			} {
				if name, value, _ := strings.Cut(v, "="); m.pass == "-genv" {
					args = append(args, m.pass, name, value)
				} else {
					args = append(args, m.pass, v)
				}
			}
			got := boot(t, program, append(args, programsDir+"/check", "brief")...)
			require.NoError(t, got.err)
			all := got.out + got.errs
			require.Regexp(t, `schedgen: allreduce: \d+ by engine go, `, all)
			require.Regexp(t, `schedgen: engine go: rank 0 has sent [1-9]\d+ bytes by verbs, (\d+ bytes by multicast, )?[1-9]\d+ bytes through memory\n`, all)
		})
	}
}
