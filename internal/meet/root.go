package meet

import (
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	"net"

	"github.com/schedgen/schedgen/internal/meet/internal/contact"
	"github.com/schedgen/schedgen/internal/transport/seal"
)

// directory is rank 0's list of doors, if only its own door is known to all: a rank that asks is
// told where its parent waits, when the parent has come.
type directory struct {
	doors   map[int]string // by rank
	waiting map[int]*link  // by rank: links of ranks that have asked
	told    map[int]bool   // ranks that were told and have not arrived yet
}

func newDirectory() directory {
	return directory{doors: map[int]string{}, waiting: map[int]*link{}, told: map[int]bool{}}
}

// sendToParent handles a rank that is no child of rank 0 and asks where its parent waits.
func (n *node) sendToParent(l *link, h *hello) error {
	if before := n.directory.waiting[h.rank]; before != nil {
		before.finish(appendAnotherProcess(h.rank, l), contact.FarewellTime)
	}
	n.directory.waiting[h.rank] = l
	return n.directory.learn(h, l.conn.RemoteAddr())
}

// learn records where a rank waits, and tells the ranks that have asked for that.
func (d *directory) learn(h *hello, from net.Addr) error {
	delete(d.told, h.rank)
	if h.door != "" {
		door, err := fillHost(h.door, from)
		if err != nil {
			return fmt.Errorf("rank %d waits at an invalid address: %w", h.rank, err)
		}
		d.doors[h.rank] = door
		first, end := childrenOf(h.rank, h.size)
		for rank := first; rank < end; rank++ {
			d.answer(rank)
		}
	}
	d.answer(h.rank)
	return nil
}

// answer tells a rank that has asked where its parent waits, if that is known.
func (d *directory) answer(rank int) {
	l, door := d.waiting[rank], d.doors[parentOf(rank)]
	if l != nil && door != "" {
		l.finish(contact.AppendBytes(contact.AppendStatus(nil, ""), door), contact.FarewellTime)
		delete(d.waiting, rank)
		d.told[rank] = true
	}
}

// forget handles a rank that has gone. The ranks below it wait until it has come again.
func (d *directory) forget(rank int) {
	delete(d.doors, rank)
	maps.DeleteFunc(d.told, func(other int, _ bool) bool { return inSubtree(other, rank) })
}

// makeTable makes rank 0's table.
func (n *node) makeTable() error {
	tab := &Meeting{ID: n.id}
	for _, e := range n.roster.all() {
		tab.Addrs, tab.Blobs = append(tab.Addrs, e.addr), append(tab.Blobs, e.blob)
	}
	if err := oneSide(tab.Addrs, n.door.Addr()); err != nil {
		return err
	}
	drawSeed(tab)
	if err := deriveSession(n.cfg, tab); err != nil {
		return err
	}
	n.table = tab
	return nil
}

// fillOwnHost fills in rank 0's address in its own table, if rank 0 accepts connections at all its
// addresses. It uses the address at which rank 1 has reached it, which is also in rank 1's table:
// all ranks of one host must see that they are on one host.
func (n *node) fillOwnHost() (err error) {
	if n.cfg.Rank == 0 && hostIn(n.table.Addrs[0]) == "" {
		n.table.Addrs[0], err = fillHost(n.table.Addrs[0], n.children[1].link.conn.LocalAddr())
	}
	return err
}

// drawID draws the communicator's identity.
func drawID(cfg *Config, id *[16]byte) error {
	if _, err := io.ReadFull(cfg.Rand, id[:]); err != nil {
		return fmt.Errorf("draw the communicator's identity: %w", err)
	}
	return nil
}

// drawSeed draws the seed of the session's keys. It does so for every table, when all its ranks
// have arrived. A process that comes later in place of one of them does not get this seed, and so
// never seals anything with keys that were used before.
func drawSeed(m *Meeting) { rand.Read(m.seed[:]) }

// deriveSession derives the session of the ranks from the seed, at every rank.
func deriveSession(cfg *Config, m *Meeting) (err error) {
	m.Session, err = seal.NewSession(cfg.credentials.Mode, cfg.Key, &m.seed, m.ID, cfg.Job)
	return err
}
