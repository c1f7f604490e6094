package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/schedgen/schedgen/cast/remote"
)

// castHosts are the flags of hosts on which receivers are started by ssh.
type castHosts struct {
	Hosts string `placeholder:"FILE" complete:"file" help:"File with hosts, one a line; # begins a comment."`
	To    string `placeholder:"DIR" help:"Directory at the hosts that files are written to; a relative one is below the home there. With --exec, where the command runs."`
	Exec  string `placeholder:"COMMAND" help:"Shell command that gets the stream at each host from standard input."`
	SSH   string `name:"ssh" default:"ssh" placeholder:"COMMAND" help:"ssh client with its options, such as 'ssh -p 2222'; default ssh."`
}

// names returns the hosts that are named as arguments and in the file.
func (h *castHosts) names(args []string) ([]string, error) {
	var inFile []string
	if h.Hosts != "" {
		f, err := os.Open(h.Hosts)
		if err != nil {
			return nil, fmt.Errorf("--hosts: %w", err)
		}
		defer f.Close()
		if inFile, err = remote.ReadHosts(f); err != nil {
			return nil, fmt.Errorf("--hosts=%s: %w", h.Hosts, err)
		}
		if len(inFile) == 0 {
			return nil, fmt.Errorf("--hosts=%s: no host is in it", h.Hosts)
		}
	}
	seen := map[string]bool{}
	all := append(append([]string{}, args...), inFile...)
	for _, host := range all {
		if err := remote.CheckHost(host); err != nil {
			return nil, err
		}
		if seen[host] {
			return nil, fmt.Errorf("host %q is there twice", host)
		}
		seen[host] = true
	}
	return all, nil
}

// idle names a flag that needs hosts, "" if there is none.
func (h *castHosts) idle() string {
	switch {
	case h.To != "":
		return "--to"
	case h.Exec != "":
		return "--exec"
	}
	return ""
}

// check checks what is done with what comes.
func (h *castHosts) check(stream bool) error {
	switch {
	case h.SSH == "":
		return errors.New("--ssh: empty")
	case h.To == "" && h.Exec == "":
		return errors.New("--to or --exec: needed")
	case stream && h.Exec == "":
		return errors.New("--exec: needed: a stream goes to a command")
	case !stream && h.Exec != "":
		return errors.New("--exec: only a stream goes to a command, cast - sends one")
	}
	return nil
}
