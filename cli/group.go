package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/group"
	"github.com/schedgen/schedgen/runtime/membership"
	"github.com/schedgen/schedgen/runtime/status"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

// groupCmd is the verb group, with a verb for each collective. It runs one member of a group whose
// members come and go.
type groupCmd struct {
	Anycast groupAnycastCmd `cmd:"" help:"Publish messages as a member, and check those of the others."`
	Bcast   groupBcastCmd   `cmd:"" help:"Take part in broadcasts as a member, and check them."`
}

// groupFlags are the flags of all members.
type groupFlags struct {
	Name    string     `arg:"" help:"Name of the group, of letters, digits, dots, hyphens and underscores."`
	Manager managerURL `required:"" placeholder:"URL" complete:"manager" help:"Manager of the membership, see above."`

	Label   string         `placeholder:"NAME" help:"Name of this member; default its host and process number."`
	Listen  string         `placeholder:"HOST[:PORT]" help:"Address where others reach this member; default the address of this host that reaches the manager, or with file:// the loopback address."`
	Silence *time.Duration `placeholder:"TIME" help:"A member that gives no sign of life for this time is lost. All members need the same value. Default 3s, with etcd:// 5s, with file:// 10s."`

	Quorum    bool          `help:"End when not more than half of the members are left after some were lost. All members need the same value."`
	Members   int           `default:"1" placeholder:"N" help:"Begin when the group has N members; default 1."`
	Every     time.Duration `default:"1s" placeholder:"TIME" help:"Time from one message or broadcast to the next; default 1s; 0: no pause."`
	Transport string        `default:"hybrid" enum:"hybrid,tcp" placeholder:"NAME" help:"tcp, or hybrid: shared memory within a host and TCP between hosts; default hybrid."`
	Interface string        `placeholder:"NAME" complete:"interface" help:"Network interface of multicasts between hosts; default none: do not multicast. Give it to all members or to none."`
	rulesFlag
	keyFlags
	pageFlags
	JSON    bool `name:"json" help:"Print one object a line."`
	Verbose bool `short:"v" help:"Also print a line for each message or broadcast."`
}

// groupHelp returns the part of the help texts that all verbs below group share.
func groupHelp() string {
	return `It prints a line for each view of the membership: the members, and the members that came, left
or were lost. All members need the same --manager. An interrupt (Ctrl-C) makes the member leave in
good order. The page of --status shows this member alone.

Managers:

` + terminal.Table(managerHelp) + `
With embedded:// each member listens at the first of the addresses that belongs to its host and is
free. The member at the first address of the list founds the group, unless a member at another
address already knows the group. It waits while the host of another address does not answer, so all
hosts of the list must be up when a group begins. Give several addresses: with only one, a member
that starts there after the founder has died founds a second group.

`
}

// maxLabel is the longest label of a member, in bytes.
const maxLabel = 64

// check checks the flags.
func (f *groupFlags) check() error {
	for _, r := range f.Name {
		if !isPlain(r) {
			return fmt.Errorf("name %q of the group: only letters, digits, dots, hyphens and underscores are allowed, not %q", f.Name, r)
		}
	}
	switch {
	case f.Name == "" || len(f.Name) > maxGroup:
		return fmt.Errorf("the name of the group has %d bytes: must have 1 to %d", len(f.Name), maxGroup)
	case len(f.Label) > maxLabel:
		return fmt.Errorf("--label: has %d bytes; at most %d are allowed", len(f.Label), maxLabel)
	case f.Members < 1 || f.Members > membership.MaxMembers:
		return fmt.Errorf("--members=%d: must be in 1..%d", f.Members, membership.MaxMembers)
	case f.Every < 0:
		return fmt.Errorf("--every=%v: must not be negative", f.Every)
	case f.Interface != "" && f.Transport == overTCP:
		return errors.New("--interface: transport tcp does not multicast")
	case f.Silence != nil && *f.Silence < time.Second:
		return fmt.Errorf("--silence=%v: must be at least 1s", *f.Silence)
	}
	return nil
}

// maxGroup is the longest name of a group, in bytes. The verb is appended to it.
const maxGroup = group.MaxName - len(".anycast")

// isPlain reports whether r may stand in the name of a group. The name becomes part of the name of
// a directory and of keys of etcd.
func isPlain(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '-' || r == '_'
}

// label returns the name of this member.
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

// join makes this process a member. Groups of different verbs are different groups, because all
// members of a group make the same calls.
func (f *groupFlags) join(ctx context.Context, verb string, std terminal.Stdio) (*member, error) {
	l := crew.Link{Transport: f.Transport}
	err := f.check()
	if err == nil && f.Interface != "" {
		l.Interface, err = interfaceName(f.Interface)
	}
	if err != nil {
		return nil, err
	}
	key, err := f.secret(std.Getenv)
	if err != nil {
		return nil, err
	}
	l.Key, l.Encrypt = key.Key, key.Encrypt
	cfg := group.Config{Name: f.Name + "." + verb}
	if cfg.Comm.Rules, err = f.rules(std.Getenv); err != nil {
		return nil, err
	}
	if cfg.Label, err = f.label(); err != nil {
		return nil, err
	}
	if err := f.pageFlags.check(); err != nil {
		return nil, err
	}
	cfg.Comm.Observe.Latency = f.Status != nil
	log := waitLog(std)
	if f.Quorum {
		cfg.Comm.Quorum = runtime.Majority
	}
	cfg.Connect = func(ctx context.Context, v group.Meeting) (wire.Transport, error) {
		return l.Open(ctx, tcp.Config{Rank: v.Rank, Size: v.Size, Job: v.Job, Coordinator: v.Coordinator, Listener: v.Listener, Log: log})
	}
	if cfg.Manager, cfg.Address, err = f.Manager.open(cfg.Name, f.Listen, f.Silence, log); err != nil {
		return nil, err
	}
	m := newMember(f, std)
	cfg.Changed = m.changed
	if f.Status != nil { // before the member joins, so that a probe finds it healthy while it waits
		if m.page, err = f.serve(ctx, status.Handler(m.report)); err != nil {
			return nil, errors.Join(err, m.close(), cfg.Manager.Close())
		}
		tellPage(std, m.page.Addr().String())
	}
	ctx, cancel := context.WithTimeoutCause(ctx, crew.MeetingTime, &lateError{fmt.Sprintf("not a member after %v", crew.MeetingTime)})
	defer cancel()
	if m.group, err = group.Join(ctx, cfg); err != nil {
		m.close()
		return nil, f.joinError(ctx, err)
	}
	close(m.joined)
	return m, nil
}

// joinError returns the error of the flag --listen if err says that the address cannot be used, or
// else a failed run.
func (f *groupFlags) joinError(ctx context.Context, err error) error {
	if isListen(err) {
		return fmt.Errorf("--listen=%s: %w", f.Listen, err)
	}
	return terminal.Failed(crew.CauseOf(ctx, err))
}

// lateError says that a time limit has passed.
type lateError struct{ text string }

func (e *lateError) Error() string { return e.text }
