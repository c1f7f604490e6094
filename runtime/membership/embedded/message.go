package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/membership"
)

// version is the version of the protocol between members.
const version = 1

// maxMessage is the greatest size of a message in bytes: two views of MaxMembers fit.
const maxMessage = 16 << 20

// The kinds of requests.
const (
	kindPing    = "ping"    // which member is the manager?
	kindJoin    = "join"    // to the manager, like the next two
	kindLeave   = "leave"   //
	kindReport  = "report"  //
	kindAttach  = "attach"  // to the manager: views from now on, and signs of life in both directions
	kindPrepare = "prepare" // to every member of Base
	kindAccept  = "accept"  //
)

// request is the first message on a connection.
type request struct {
	Version int                `json:"version"`
	Group   string             `json:"group"`
	Kind    string             `json:"kind"`
	From    membership.ID      `json:"from"`
	To      membership.ID      `json:"to,omitzero"`      // the member that is asked; zero: any process that answers there
	Member  *membership.Member `json:"member,omitempty"` // join
	Epoch   uint32             `json:"epoch,omitempty"`  // report
	Lost    []membership.ID    `json:"lost,omitempty"`   // report
	Base    *membership.View   `json:"base,omitempty"`   // a decided view, for prepare and accept; for attach and ping if the other member may not know it
	Next    *membership.View   `json:"next,omitempty"`   // accept
	Ballot  ballot             `json:"ballot,omitempty"` // prepare, accept
}

// response is the answer; with kindAttach there are several. It always has the newest view that the
// answering member knows.
type response struct {
	answer
	Err       string `json:"error,omitempty"`
	Elsewhere bool   `json:"elsewhere,omitempty"` // ask the first member of View
	Alive     bool   `json:"alive,omitempty"`     // only a sign of life, without View
	Other     bool   `json:"other,omitempty"`     // this process is not the member that was asked; that member is dead
}

// check returns an error if a decoded request lacks a field that its kind needs.
func (r *request) check(group string) error {
	if r.Version != version {
		return fmt.Errorf("a member speaks version %d of the membership, this one version %d", r.Version, version)
	}
	if r.Group != group {
		return fmt.Errorf("a member is of group %.64q, this one of group %q", r.Group, group)
	}
	switch r.Kind {
	case kindJoin:
		if r.Member == nil {
			return errors.New("join without a member")
		}
		return r.Member.Check()
	case kindPrepare, kindAccept:
		return r.checkBallot()
	case kindPing, kindAttach:
		if r.Base != nil {
			return r.Base.Check()
		}
		return nil
	case kindLeave, kindReport:
		return nil
	}
	return fmt.Errorf("unknown request %.20q", r.Kind)
}

func (r *request) checkBallot() error {
	if r.Base == nil || r.Kind == kindAccept && r.Next == nil {
		return fmt.Errorf("%s without a view", r.Kind)
	}
	if err := r.Base.Check(); err != nil || r.Kind == kindPrepare {
		return err
	}
	if r.Next.Epoch != r.Base.Epoch+1 {
		return fmt.Errorf("view %d is to follow view %d", r.Next.Epoch, r.Base.Epoch)
	}
	return r.Next.Check()
}

// line is a connection for messages.
type line struct {
	conn  net.Conn
	bound io.LimitedReader
	dec   *json.Decoder
	enc   *json.Encoder
}

func newLine(conn net.Conn) *line {
	l := &line{conn: conn, enc: json.NewEncoder(conn)}
	l.bound.R = conn
	l.dec = json.NewDecoder(&l.bound)
	return l
}

// read reads the next message into v.
func (l *line) read(v any) error {
	l.bound.N = maxMessage
	return l.dec.Decode(v)
}

func (l *line) write(v any) error { return l.enc.Encode(v) }

// errOther: a request for a member has reached another process at its address.
var errOther = errors.New("another process answers there")

// readResponse reads an answer and checks the views in it.
func (l *line) readResponse() (*response, error) {
	r := new(response)
	if err := l.read(r); err != nil {
		return nil, err
	}
	if r.Other {
		return nil, errOther
	}
	if r.View.Epoch > 0 {
		if err := r.View.Check(); err != nil {
			return nil, err
		}
	}
	if r.Accepted != nil {
		if err := r.Accepted.View.Check(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// open connects to addr and sends r. The connection is closed when ctx ends, unless stop is called.
func (d dialer) open(ctx context.Context, addr string, r *request) (l *line, stop func() bool, err error) {
	conn, err := d(ctx, "tcp", addr)
	if err != nil {
		return nil, nil, err
	}
	if conn.LocalAddr().String() == conn.RemoteAddr().String() { // a connection of this process to itself, as in meet
		conn.Close()
		return nil, nil, fmt.Errorf("nobody listens at %s: %w", addr, unix.ECONNREFUSED)
	}
	l = newLine(conn)
	stop = context.AfterFunc(ctx, func() { conn.Close() })
	if err := l.write(r); err != nil {
		stop()
		conn.Close()
		return nil, nil, err
	}
	return l, stop, nil
}

// ask sends r to addr and returns the answer. A refusal is an answer too.
func (d dialer) ask(ctx context.Context, addr string, r *request) (*response, error) {
	l, stop, err := d.open(ctx, addr, r)
	if err != nil {
		return nil, fmt.Errorf("ask the member at %s: %w", addr, err)
	}
	defer stop()
	defer l.conn.Close()
	answer, err := l.readResponse()
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("ask the member at %s: %w", addr, err)
	}
	return answer, nil
}

// refused reports whether err says that the asked process is dead: its host lives, and no process
// listens there, or another process does.
func refused(err error) bool {
	return errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, errOther)
}
