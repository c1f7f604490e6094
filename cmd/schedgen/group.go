package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/schedgen/schedgen/runtime/group"
	"github.com/schedgen/schedgen/runtime/membership"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

// groupCmd is the verb group, with a verb for each collective: one member of a group
// that others join and leave meanwhile.
type groupCmd struct {
	Anycast groupAnycastCmd `cmd:"" help:"Publish messages as a member, and check those of the others."`
	Bcast   groupBcastCmd   `cmd:"" help:"Take part in broadcasts as a member, and check them."`
}

// groupFlags are the flags of all members.
type groupFlags struct {
	Name    string     `arg:"" help:"Name of the group, of letters, digits, dots, hyphens and underscores."`
	Manager managerURL `required:"" placeholder:"URL" complete:"manager" help:"What says who is a member, see above."`

	Label   string         `placeholder:"NAME" help:"What others call this member, default its host and process."`
	Listen  string         `placeholder:"HOST[:PORT]" help:"Address where others reach this member; default the one of this host by which the manager is reached, with file:// the loopback address."`
	Silence *time.Duration `placeholder:"TIME" help:"A member that gives no sign of life for so long is lost; the same at all; default 3s, with etcd:// 5s, with file:// 10s."`

	Members   int           `default:"1" placeholder:"N" help:"Begin when the group has N members, default 1."`
	Every     time.Duration `default:"1s" placeholder:"TIME" help:"Time from one message or broadcast to the next, default 1s; 0: as fast as it goes."`
	Transport string        `default:"hybrid" enum:"hybrid,tcp" placeholder:"NAME" help:"hybrid, shared memory within a host and TCP between hosts, is the default; or tcp."`
	rulesFlag
	keyFlags
	JSON    bool `name:"json" help:"Print an object a line."`
	Verbose bool `short:"v" help:"Print a line for each message or broadcast, too."`
}

// groupHelp is what the help texts of all verbs below group say.
func groupHelp() string {
	return `A line tells of each view of the membership: who is in it, who came, who took leave, who was lost.
All members give the same --manager. An interrupt, Ctrl-C, takes leave in good order.

Managers:

` + table(managerHelp) + `
With embedded:// a member answers at the first of the addresses that is its host's and free. Who
answers at the first of all founds the group, unless somebody at another one knows of it. So give
several: with one, who starts there after the founder has died founds another group.

`
}

// maxLabel is the longest label of a member, in bytes.
const maxLabel = 64

// check checks the flags.
func (f *groupFlags) check() error {
	for _, r := range f.Name {
		if !isPlain(r) {
			return fmt.Errorf("the group's name %q: only letters, digits, dots, hyphens and underscores are allowed, not %q", f.Name, r)
		}
	}
	switch {
	case f.Name == "" || len(f.Name) > maxGroup:
		return fmt.Errorf("the group's name has %d bytes: must have 1 to %d", len(f.Name), maxGroup)
	case len(f.Label) > maxLabel:
		return fmt.Errorf("--label: %d bytes, at most %d are allowed", len(f.Label), maxLabel)
	case f.Members < 1 || f.Members > membership.MaxMembers:
		return fmt.Errorf("--members=%d: must be in 1..%d", f.Members, membership.MaxMembers)
	case f.Every < 0:
		return fmt.Errorf("--every=%v: must not be negative", f.Every)
	case f.Silence != nil && *f.Silence < time.Second:
		return fmt.Errorf("--silence=%v: must be at least 1s", *f.Silence)
	}
	return nil
}

// maxGroup is the longest name of a group, in bytes: behind it stands the verb.
const maxGroup = group.MaxName - len(".anycast")

// isPlain reports whether r may stand in the name of a group, which is part of that of a
// directory and of keys of etcd.
func isPlain(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '-' || r == '_'
}

// label returns what others call this member.
func (f *groupFlags) label() (string, error) {
	if f.Label != "" {
		return f.Label, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("--label: needed: %w", err)
	}
	end := fmt.Sprintf("-%d", os.Getpid())
	return host[:min(len(host), maxLabel-len(end))] + end, nil
}

// join makes this process a member. Groups of different verbs are different groups: all
// members of one make the same calls.
func (f *groupFlags) join(ctx context.Context, verb string, l link, std stdio) (*member, error) {
	err := f.check()
	if err != nil {
		return nil, err
	}
	if l.secret, err = f.secret(std.Getenv); err != nil {
		return nil, err
	}
	l.Transport = f.Transport
	cfg := group.Config{Name: f.Name + "." + verb}
	if cfg.Comm.Rules, err = f.rules(std.Getenv); err != nil {
		return nil, err
	}
	if cfg.Label, err = f.label(); err != nil {
		return nil, err
	}
	log := waitLog(std)
	cfg.Connect = func(ctx context.Context, v group.Meeting) (wire.Transport, error) {
		return l.open(ctx, tcp.Config{Rank: v.Rank, Size: v.Size, Job: v.Job, Coordinator: v.Coordinator, Listener: v.Listener, Log: log})
	}
	if cfg.Manager, cfg.Address, err = f.Manager.open(cfg.Name, f.Listen, f.Silence, log); err != nil {
		return nil, err
	}
	m := newMember(f, std)
	cfg.Changed = m.changed
	ctx, cancel := context.WithTimeoutCause(ctx, meeting, &lateError{fmt.Sprintf("no member after %v", meeting)})
	defer cancel()
	if m.group, err = group.Join(ctx, cfg); err != nil {
		m.close()
		return nil, f.joinError(ctx, err)
	}
	return m, nil
}

// joinError tells an address that cannot be from what has failed.
func (f *groupFlags) joinError(ctx context.Context, err error) error {
	if isListen(err) {
		return fmt.Errorf("--listen=%s: %w", f.Listen, err)
	}
	return failed(causeOf(ctx, err))
}
