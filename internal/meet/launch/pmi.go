package launch

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/notice"
)

// meetPMI exchanges rank 0's address through the process manager: rank 0 puts it under a key, all
// ranks enter a barrier, and the others get it. This is the first version of the interface between
// MPI processes and their manager (Balaji and others, PMI: A Scalable Parallel Process-Management
// Interface for Extreme-Scale Systems, EuroMPI 2010): lines of words key=value, which MPICH's Hydra
// speaks.
//
// meetPMI then ends the conversation; otherwise the manager would take the end of the process for a
// crash. So a job can meet only once, and a later user of the manager, such as MPI_Init, fails.
func meetPMI(ctx context.Context, p *Position) (m MeetingPoint, err error) {
	var trouble notice.Trouble
	trouble.Set("the process manager has not answered")
	defer notice.Wait(p.Clock, p.Log, func() string {
		return fmt.Sprintf("rank %d of %d waits: %v", p.Rank, p.Size, &trouble)
	})()
	c, err := dialPMI(ctx, p)
	if err != nil {
		return m, err
	}
	defer func() {
		if err = errors.Join(err, c.close()); err != nil && m.Listener != nil {
			err = errors.Join(err, m.Listener.Close())
		}
	}()
	name, err := c.open()
	if err == nil && p.Rank == 0 {
		m, err = c.publish(ctx, p, name)
	}
	if err == nil {
		trouble.Set("the process manager says that other ranks have not come")
		_, err = c.ask("barrier_in", "barrier_out", "")
	}
	if err == nil && p.Rank > 0 {
		m, err = c.lookUp(p, name)
	}
	if err == nil {
		_, err = c.ask("finalize", "finalize_ack", "")
	}
	return m, err
}

// keyOfAddress is the key of rank 0's address.
const keyOfAddress = "schedgen-rank-0"

// pmi is a conversation with the process manager.
type pmi struct {
	ctx  context.Context
	conn net.Conn
	in   *bufio.Reader
	fd   int // the manager's socket; -1: only conn has one
	stop func() bool
}

// dialPMI begins a conversation with the process manager, over the descriptor that this process has
// inherited or at the manager's port.
func dialPMI(ctx context.Context, p *Position) (*pmi, error) {
	name, value := firstSet(p.getenv, "PMI_FD", "PMI_PORT")
	if name == "" {
		return nil, fmt.Errorf("neither PMI_FD nor PMI_PORT is set: without them nobody tells where rank 0 is; %s", advice)
	}
	if name == "PMI_PORT" {
		c, err := callPMI(ctx, value, cmp.Or(p.getenv("PMI_ID"), strconv.Itoa(p.Rank)))
		if err != nil {
			return nil, fmt.Errorf("PMI_PORT is %q: %w", value, err)
		}
		return c, nil
	}
	fd, err := number(name, value)
	if err != nil {
		return nil, err
	}
	c, err := openPMI(ctx, fd)
	if err != nil {
		return nil, fmt.Errorf("PMI_FD is %d: %w", fd, err)
	}
	return c, nil
}

// callPMI connects to the port of the process manager and says which process this is. The manager
// answers with the values of PMI_SIZE and PMI_RANK: one line each for size, rank and debug.
func callPMI(ctx context.Context, addr, id string) (*pmi, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := newPMI(ctx, conn)
	c.fd = -1
	_, err = c.ask("initack pmiid="+id, "initack", "")
	for range 3 {
		if err == nil {
			_, err = readLine(c.in)
		}
	}
	if err != nil {
		return nil, errors.Join(causeOr(ctx, err), c.close())
	}
	return c, nil
}

func newPMI(ctx context.Context, conn net.Conn) *pmi {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(longAgo) })
	return &pmi{ctx: ctx, conn: conn, in: bufio.NewReader(conn), stop: stop}
}

// openPMI begins a conversation over a copy of fd, and leaves fd open.
func openPMI(ctx context.Context, fd int) (*pmi, error) {
	unix.CloseOnExec(fd)
	dup, err := unix.Dup(fd)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(dup), "PMI_FD")
	conn, err := net.FileConn(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	c := newPMI(ctx, conn)
	c.fd = fd
	return c, nil
}

// close ends the conversation. The inherited socket blocks again, as before.
func (c *pmi) close() error {
	c.stop()
	if c.fd < 0 {
		return c.conn.Close()
	}
	return errors.Join(c.conn.Close(), unix.SetNonblock(c.fd, false))
}

// open begins the conversation and returns the name of the job's keys.
func (c *pmi) open() (name string, err error) {
	if _, err := c.ask("init pmi_version=1 pmi_subversion=1", "response_to_init", ""); err != nil {
		return "", err
	}
	return c.ask("get_my_kvsname", "my_kvsname", "kvsname")
}

// publish is rank 0's part.
func (c *pmi) publish(ctx context.Context, p *Position, name string) (m MeetingPoint, err error) {
	host := p.getenv("MPIR_CVAR_CH3_INTERFACE_HOSTNAME") // the manager's name of this host
	if host == "" {
		if host, err = os.Hostname(); err != nil {
			return m, err
		}
	}
	if p.together() {
		m.Listener, err = listenLoopback(ctx)
	} else {
		m, err = meetOn(ctx, p, host, 0)
	}
	if err != nil {
		return m, err
	}
	m.Coordinator = m.Listener.Addr().String()
	if !p.together() {
		_, port, _ := net.SplitHostPort(m.Coordinator) // a listener's address has a port
		m.Coordinator = net.JoinHostPort(host, port)
	}
	_, err = c.ask(fmt.Sprintf("put kvsname=%s key=%s value=%s", name, keyOfAddress, m.Coordinator), "put_result", "")
	return m, err
}

// lookUp is the part of the other ranks.
func (c *pmi) lookUp(p *Position, name string) (m MeetingPoint, err error) {
	m.Coordinator, err = c.ask(fmt.Sprintf("get kvsname=%s key=%s", name, keyOfAddress), "get_result", "value")
	m.Apart = p.apart
	return m, err
}

const maxAnswer = 4096

// ask sends a command and returns the value of key in the answer, which must be of the expected
// kind.
func (c *pmi) ask(command, answer, key string) (value string, err error) {
	if _, err = fmt.Fprintf(c.conn, "cmd=%s\n", command); err != nil {
		return "", fmt.Errorf("ask the process manager to %s: %w", command, causeOr(c.ctx, err))
	}
	line, err := readLine(c.in)
	if err != nil {
		return "", fmt.Errorf("the process manager does not answer to %s: %w", command, causeOr(c.ctx, err))
	}
	got := map[string]string{}
	for word := range strings.FieldsSeq(line) {
		k, v, _ := strings.Cut(word, "=")
		got[k] = v
	}
	if rc := got["rc"]; got["cmd"] != answer || rc != "" && rc != "0" || key != "" && got[key] == "" {
		return "", fmt.Errorf("the process manager answers %q to %s", line, command)
	}
	return got[key], nil
}

func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for len(line) < maxAnswer {
		b, err := r.ReadByte()
		if errors.Is(err, io.EOF) {
			return "", io.ErrUnexpectedEOF
		}
		if err != nil {
			return "", err
		}
		if b == '\n' {
			return string(line), nil
		}
		line = append(line, b)
	}
	return "", fmt.Errorf("an answer of more than %d bytes", maxAnswer)
}

// causeOr returns why ctx has ended, if it has, and else err.
func causeOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
