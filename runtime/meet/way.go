package meet

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"net"
)

// once goes to the rank above and waits for the outcome there.
func (c *climber) once() error {
	cfg := c.n.cfg
	up := above(cfg.Rank)
	if cfg.Doors != nil {
		return c.visit(up, cfg.Doors(up))
	}
	conn, err := c.reach(0, cfg.Coordinator)
	if err != nil {
		return err
	}
	if hasBelow(cfg.Rank, cfg.Size) && c.n.door == nil {
		if err := c.openDoor(conn); err != nil {
			conn.Close()
			return err
		}
	}
	if up == 0 {
		return c.attend(conn)
	}
	door, err := c.ask(conn)
	if err != nil {
		return err
	}
	return c.visit(up, door)
}

func (c *climber) visit(rank int, addr string) error {
	conn, err := c.reach(rank, addr)
	if err != nil {
		return err
	}
	return c.attend(conn)
}

// reach returns a connection to a rank.
func (c *climber) reach(rank int, addr string) (net.Conn, error) {
	c.to = rank
	if c.last == nil {
		c.n.trouble.Set(fmt.Sprintf("%s has not answered yet at %s", RankList([]int{rank}), addr))
	}
	conn, err := c.net.Dial(c.ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("reach %s at %s: %w", c.who(), addr, err)
	}
	watchOver(conn)
	talk, err := c.introduce(conn)
	if err != nil {
		conn.Close()
		return talk, err
	}
	c.n.trouble.Set(fmt.Sprintf("it is connected with %s at %s, which has not said yet that all ranks have come", RankList([]int{rank}), addr))
	return talk, nil
}

// introduce proves the key over conn, if there is one, until ctx ends.
func (c *climber) introduce(conn net.Conn) (net.Conn, error) {
	stop := context.AfterFunc(c.ctx, func() { conn.SetDeadline(longAgo) })
	talk, err := introduced(c.n.cfg, conn, c.who())
	if !stop() {
		return nil, fmt.Errorf("%s has not answered: %w", c.who(), context.Cause(c.ctx))
	}
	return talk, err
}

// who names the rank to reach, now or last.
func (c *climber) who() string {
	if c.to == 0 {
		return "the coordinator"
	}
	return fmt.Sprintf("rank %d", c.to)
}

// openDoor lets ranks below come in at the local address of conn.
func (c *climber) openDoor(conn net.Conn) error {
	ln, _, err := openData(c.ctx, c.n.cfg, cmp.Or(c.n.cfg.Bind, hostOf(conn.LocalAddr())))
	if err != nil {
		return &brokenError{err}
	}
	opened := make(chan struct{})
	if !c.n.post(func() error { c.n.open(ln); close(opened); return nil }) {
		if c.n.cfg.Share == nil {
			ln.Close()
		}
		return context.Canceled
	}
	<-opened
	return nil
}

// ask asks rank 0 where the rank above waits, which it may not know yet.
func (c *climber) ask(conn net.Conn) (door string, err error) {
	l := newLink(conn)
	c.n.wg.Go(l.write)
	defer l.hangUp()
	defer c.watch(l)()
	l.send(c.hello("", nil))
	r := bufio.NewReader(conn)
	if err := c.first(r); err != nil {
		return "", err
	}
	b, err := readBytes(r, maxText)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errUnheard, err)
	}
	return string(b), nil
}
