package rdma

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/internal/reactor"
	"github.com/schedgen/schedgen/runtime/internal/rendezvous"
	"github.com/schedgen/schedgen/runtime/internal/stream"
)

// Config says how a rank finds the others, and what it sends by.
type Config struct {
	stream.Options
	// Open opens a port that has what layout asks for, which is called with its address.
	Open func(layout func(Address) Layout) (Adapter, error)
	// Loss is the probability with which this rank drops a datagram that it has
	// received, drawn from a generator seeded by Seed and the rank.
	Loss float64
	Seed uint64
}

// ErrKey is when ranks have a key: an adapter moves memory as it is.
var ErrKey = errors.New("what adapters move is not sealed: a Key, and Encrypt, are for other transports")

func (c *Config) check() error {
	switch {
	case len(c.Key) > 0 || c.Encrypt:
		return ErrKey
	case c.Size > MaxSize:
		return fmt.Errorf("%d ranks, at most %d can be connected", c.Size, MaxSize)
	case c.Size < 1 || c.Rank < 0 || c.Rank >= c.Size:
		return fmt.Errorf("rank %d is not in 0 … %d", c.Rank, c.Size-1)
	case !(c.Loss >= 0 && c.Loss <= 1):
		return fmt.Errorf("loss %v is not a probability", c.Loss)
	}
	return nil
}

// Join has the ranks meet and connects every one with every other.
//
// All connections are opened here, and not those alone that a schedule uses (paper 002,
// section 6): a transport does not know the schedules, and whoever is lost, repaired or
// agreed with may need any of them. One costs four calls of the system and the memory of
// its buffers, 384 KiB among few ranks and 64 KiB among many (planFor).
func Join(ctx context.Context, cfg Config) (*Transport, error) {
	if cfg.Listener != nil {
		defer cfg.Listener.Close()
	}
	t, err := join(ctx, &cfg)
	if err != nil {
		return nil, fmt.Errorf("verbs: rank %d of %d joins: %w", cfg.Rank, cfg.Size, err)
	}
	return t, nil
}

func join(ctx context.Context, cfg *Config) (*Transport, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	t := newTransport(cfg)
	if err := t.open(cfg); err != nil {
		return nil, err
	}
	if err := t.meet(ctx, cfg); err != nil {
		return nil, errors.Join(err, t.adapter.Close())
	}
	return t, nil
}

func newTransport(cfg *Config) *Transport {
	t := &Transport{
		rank: cfg.Rank, size: cfg.Size, clock: clock.OrSystem(cfg.Clock), peers: make([]pair, cfg.Size), found: make([]Completion, mostCompletions),
	}
	t.grams.loss, t.grams.random = cfg.Loss, mathrand.New(mathrand.NewPCG(cfg.Seed, uint64(cfg.Rank)))
	t.park.next = (cfg.Rank + 1) % cfg.Size
	return t
}

// open opens the port.
func (t *Transport) open(cfg *Config) (err error) {
	t.adapter, err = cfg.Open(func(a Address) Layout {
		t.plan = planFor(t.rank, t.size, a.MTU)
		return t.plan.layout()
	})
	if err != nil {
		return err
	}
	t.memory = t.adapter.Memory()
	t.grams.sends, t.grams.inline = t.plan.gramSends, t.adapter.Inline()
	for rank := range t.peers {
		p := &t.peers[rank]
		p.rank = rank
		n := uint32(t.plan.receives)
		p.credit = credit{limit: n, posted: n, told: n}
	}
	return nil
}

// meet meets the others and connects with them.
func (t *Transport) meet(ctx context.Context, cfg *Config) error {
	own, err := t.card(cfg.Rand)
	if err != nil {
		return err
	}
	m, l, err := rendezvous.Meet(ctx, rendezvous.Config{
		Rank: cfg.Rank, Size: cfg.Size, Job: cfg.Job, Bind: cfg.Bind,
		Coordinator: cfg.Coordinator, Doors: cfg.Doors, Listener: cfg.Listener, Apart: cfg.Apart,
		Blob: own.encode(), Prepare: t.prepare, Rand: cfg.Rand, Clock: cfg.Clock,
	})
	if err != nil {
		return err
	}
	if l != nil {
		l.Close() // nobody connects there
	}
	t.id, t.stats.Rejected = m.ID, m.Refused
	return t.watch()
}

// card returns what this rank tells of itself.
func (t *Transport) card(random io.Reader) (*card, error) {
	c := &card{
		address: t.adapter.Address(), order: ownOrder, key: t.adapter.Key(), base: t.adapter.Base(), gram: t.adapter.Gram(), numbers: make([]uint32, t.size),
	}
	for rank := range c.numbers {
		if rank != t.rank {
			c.numbers[rank] = t.adapter.Number(rank)
		}
	}
	var err error
	if t.rank == 0 {
		c.group, c.qkey, err = drawGroup(random, c.address.Ethernet)
	}
	return c, err
}

// prepare is called when all ranks have arrived.
func (t *Transport) prepare(m *rendezvous.Meeting) error {
	cards, err := decodeCards(m.Blobs)
	if err != nil {
		return err
	}
	t.grams.group = cards[0].group
	if t.grams.casts, err = t.adapter.Attach(cards[0].group, cards[0].qkey); err != nil {
		return err
	}
	t.grams.payload, t.grams.room = agree(cards)
	t.grams.stashes.Room = t.grams.room
	for rank := range cards {
		if err := t.connect(rank, &cards[rank]); err != nil {
			return err
		}
		if sameHost(m.Addrs[rank], m.Addrs[t.rank]) {
			t.local++
		}
	}
	for i := range t.plan.gramReceives {
		t.postGramReceive(i)
	}
	return t.ready()
}

// connect connects with one rank.
func (t *Transport) connect(rank int, c *card) error {
	t.grams.sources = append(t.grams.sources, source{c.address.GID, c.gram})
	if rank == t.rank {
		return nil
	}
	p := &t.peers[rank]
	p.words = words{key: c.key, base: c.base}
	err := t.adapter.Connect(rank, c.address, c.numbers[t.rank])
	if err == nil {
		err = t.adapter.Reach(rank, c.address, c.gram)
	}
	if err != nil {
		return fmt.Errorf("connect with rank %d: %w", rank, err)
	}
	for i := range t.plan.receives {
		t.postReceive(rank, i)
	}
	return nil
}

// ready posts the first buffers.
func (t *Transport) ready() error {
	n, err := t.adapter.Post(t.works)
	if err != nil {
		return fmt.Errorf("post %d buffers: %w", len(t.works)-n, err)
	}
	t.works = t.works[:0]
	return nil
}

// watch has the reactor watch the adapter.
func (t *Transport) watch() (err error) {
	if t.park.reactor, err = reactor.New(); err != nil {
		return err
	}
	t.park.watch = t.park.reactor.Descriptor(t.adapter.FD(), t)
	if err = t.park.watch.Modify(true, false); err != nil {
		t.park.reactor.Close()
	}
	t.park.pulsed = t.clock.Now()
	return err
}

// sameHost reports whether two addresses are of one host.
func sameHost(a, b string) bool {
	one, _, _ := net.SplitHostPort(a)
	other, _, _ := net.SplitHostPort(b)
	return one == other
}
