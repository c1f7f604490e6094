package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/schedgen/schedgen/internal/cast/remote"
	"github.com/schedgen/schedgen/internal/command/syntax"
)

// hostFlags are the flags about hosts on which receivers run.
type hostFlags struct {
	Nodes, Without []string
	Hosts, Groups  string
	To, Exec, Then string
	startFlags
}

func (h *hostFlags) add(v *verb) {
	v.add(texts(&h.Nodes), syntax.Value{Name: "nodes", Short: 'w', Placeholder: "HOSTS", Many: true, Help: "Hosts, such as node[01-40],@gpu: ranges in brackets, and groups. A!B are those of A that are not in B, A&B those in both, A^B those in one."})
	v.add(texts(&h.Without), syntax.Value{Name: "without", Short: 'x', Placeholder: "HOSTS", Many: true, Help: "Hosts to leave out, in the form of -w."})
	v.add(text(&h.Hosts), syntax.Value{Name: "hosts", Placeholder: "FILE", Help: "File with hosts, one a line, or - for standard input; # begins a comment.", Complete: "file"})
	v.add(text(&h.Groups), syntax.Value{Name: "groups", Placeholder: "FILE", Help: "File with groups, such as \"gpu: node[38-40]\"; default ClusterShell's.", Complete: "file", Expert: true})
	v.add(text(&h.To), syntax.Value{Name: "to", Placeholder: "DIR", Help: "Directory for the files at the hosts; a relative path starts at the home directory. With --exec, working directory of the command."})
	v.add(text(&h.Exec), syntax.Value{Name: "exec", Placeholder: "COMMAND", Help: "Shell command that reads the stream at each host from its standard input."})
	v.add(text(&h.Then), syntax.Value{Name: "then", Placeholder: "COMMAND", Help: "Shell command that each host runs in the directory of --to when it has all files."})
	h.startFlags.add(v)
}

// startFlags are the flags that say how receivers are started.
type startFlags struct {
	SSH            string
	ConnectTimeout time.Duration
	Install, Call  bool
}

func (s *startFlags) add(v *verb) {
	s.SSH, s.ConnectTimeout = "ssh", 15*time.Second
	v.add(text(&s.SSH), syntax.Value{Name: "ssh", Placeholder: "COMMAND", Help: "ssh client with its options, such as 'ssh -p 2222', or only the options of ssh; default ssh."})
	v.add(yes(&s.Install), syntax.Value{Name: "install", Bool: true, Help: "Install the copied program in ~/.local/bin of the host."})
	v.add(duration(&s.ConnectTimeout), syntax.Value{Name: "connect-timeout", Placeholder: "TIME", Help: "Time limit for the connection to a host; default 15s.", Expert: true})
	v.add(yes(&s.Call), syntax.Value{Name: "call", Bool: true, Help: "Call receivers that already run on the hosts (schedcast receive --listen), without ssh. For a port other than 7718, name the host as HOST:PORT.", Expert: true})
}

// groupFiles are the paths of ClusterShell's groups files.
var groupFiles = []string{"/etc/clustershell/groups.d/local.cfg", "/etc/clustershell/groups"}

// groups reads the file of groups. It returns nil if there is none.
func (h *hostFlags) groups() (*remote.Groups, error) {
	files := groupFiles
	if h.Groups != "" {
		files = []string{h.Groups}
	}
	for _, name := range files {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) && h.Groups == "" {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("--groups: %w", err)
		}
		defer f.Close()
		g, err := remote.ReadGroups(f)
		if err != nil {
			return nil, fmt.Errorf("--groups=%s: %w", name, err)
		}
		return g, nil
	}
	return nil, nil
}

// names returns the hosts of the arguments, of -w and of the file. A host that is named twice is an
// error, except in -w, where sets may overlap.
func (h *hostFlags) names(args []string, in io.Reader) ([]string, error) {
	g, err := h.groups()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, arg := range args {
		some, err := g.Expand(arg)
		if err == nil {
			err = h.isFile(arg, some)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	some, err := h.inFile(in, g)
	if err != nil {
		return nil, err
	}
	all = append(all, some...)
	seen := map[string]bool{}
	for _, host := range all {
		if seen[host] {
			return nil, fmt.Errorf("host %q is named twice", host)
		}
		seen[host] = true
	}
	some, err = union(g, "-w", h.Nodes)
	if err != nil {
		return nil, err
	}
	for _, host := range some {
		if !seen[host] {
			all = append(all, host)
		}
	}
	without, err := union(g, "-x", h.Without)
	if err != nil {
		return nil, err
	}
	named := len(all)
	all = slices.DeleteFunc(all, func(host string) bool { return slices.Contains(without, host) })
	switch {
	case named == 0 && len(args)+len(h.Nodes) > 0:
		return nil, fmt.Errorf("no host is in %s", strings.Join(slices.Concat(args, h.Nodes), ","))
	case named > 0 && len(all) == 0:
		return nil, errors.New("-x: leaves out all hosts")
	}
	return all, nil
}

// union returns the hosts of all sets of a flag, each once.
func union(g *remote.Groups, flag string, sets []string) (all []string, err error) {
	seen := map[string]bool{}
	for _, set := range sets {
		some, err := g.Expand(set)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		for _, host := range some {
			if !seen[host] {
				seen[host], all = true, append(all, host)
			}
		}
	}
	return all, nil
}

// isFile returns an error if an argument in the place of a host is an existing file. Otherwise a
// user who wants to send two files would send one to a host with the other's name.
func (h *hostFlags) isFile(arg string, hosts []string) error {
	if _, err := os.Lstat(arg); err != nil || len(hosts) != 1 || hosts[0] != arg {
		return nil
	}
	return fmt.Errorf("%q is in the place of a host, but is a file here: name a host of this name with -w", arg)
}

// inFile returns the hosts in the file, or in the standard input.
func (h *hostFlags) inFile(in io.Reader, g *remote.Groups) ([]string, error) {
	switch h.Hosts {
	case "":
		return nil, nil
	case "-":
	default:
		f, err := os.Open(h.Hosts)
		if err != nil {
			return nil, fmt.Errorf("--hosts: %w", err)
		}
		defer f.Close()
		in = f
	}
	hosts, err := remote.ReadHosts(in, g)
	if err != nil {
		return nil, fmt.Errorf("--hosts=%s: %w", h.Hosts, err)
	}
	if len(hosts) == 0 {
		return nil, fmt.Errorf("--hosts=%s: has no hosts", h.Hosts)
	}
	return hosts, nil
}

// idle returns the name of a flag that needs hosts, or "" if none is set.
func (h *hostFlags) idle() string {
	switch {
	case h.To != "":
		return "--to"
	case h.Exec != "":
		return "--exec"
	case h.Then != "":
		return "--then"
	case h.Install:
		return "--install"
	case h.Call:
		return "--call"
	}
	return ""
}

// check checks the flags that say what receivers do with the data.
func (h *hostFlags) check(stream bool) error {
	switch {
	case strings.TrimSpace(h.SSH) == "":
		return errors.New("--ssh: empty")
	case h.ConnectTimeout < time.Second:
		return fmt.Errorf("--connect-timeout=%v: must be at least 1s", h.ConnectTimeout)
	case h.Call && (h.To != "" || h.Exec != "" || h.Then != "" || h.Install):
		return errors.New("--call: receivers that stand have their own --to, --exec and --then")
	case h.Call:
		return nil
	case h.To == "" && h.Exec == "":
		return errors.New("--to or --exec: needed")
	case stream && h.Exec == "":
		return errors.New("--exec: needed, because a stream goes to a command")
	case !stream && h.Exec != "":
		return errors.New("--exec: is for a stream, which \"schedcast -\" sends")
	case stream && h.Then != "":
		return errors.New("--then: is for files; with a stream, --exec sees the end")
	}
	return nil
}
