package rdma

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet"
	"github.com/schedgen/schedgen/internal/transport/fragment"
	"github.com/schedgen/schedgen/internal/transport/reactor"
	"github.com/schedgen/schedgen/internal/transport/stream"
)

// Config says how a rank finds the others, and which port it uses.
type Config struct {
	// TCP is the transport by which ranks meet and connect. Its Blob must leave room for this
	// transport's card. Its Prepare runs after this transport's.
	TCP stream.Config
	// Open opens a port, calls layout with the port's address, and creates what layout returns.
	Open func(layout func(Address) Layout) (Adapter, error)
	// Loss is the probability with which this rank drops a received datagram. The random numbers
	// depend on Seed and the rank.
	Loss float64
	Seed uint64
}

// ErrKey: the ranks have a key, but an adapter moves memory without encryption.
var ErrKey = errors.New("adapters cannot seal traffic: use Key and Encrypt with another transport")

func (c *Config) check() error {
	switch {
	case len(c.TCP.Key) > 0 || c.TCP.Encrypt:
		return ErrKey
	case c.TCP.Size > MaxSize:
		return fmt.Errorf("%d ranks, at most %d are allowed", c.TCP.Size, MaxSize)
	case c.TCP.Size < 1 || c.TCP.Rank < 0 || c.TCP.Rank >= c.TCP.Size:
		return fmt.Errorf("rank %d is not in 0 … %d", c.TCP.Rank, c.TCP.Size-1)
	case len(c.TCP.Blob) > meet.MaxBlob-cardLen:
		return fmt.Errorf("TCP.Blob has %d bytes, at most %d are allowed", len(c.TCP.Blob), meet.MaxBlob-cardLen)
	case !(c.Loss >= 0 && c.Loss <= 1):
		return fmt.Errorf("loss %v is not a probability", c.Loss)
	}
	return nil
}

// Join makes the ranks meet. They connect later, as schedules require.
func Join(ctx context.Context, cfg Config) (*Transport, error) {
	if cfg.TCP.Listener != nil && !cfg.TCP.Share {
		defer cfg.TCP.Listener.Close()
	}
	t, err := join(ctx, &cfg)
	if err != nil {
		return nil, fmt.Errorf("verbs: %w", err)
	}
	return t, nil
}

func join(ctx context.Context, cfg *Config) (*Transport, error) {
	if cfg.TCP.Rand == nil {
		cfg.TCP.Rand = rand.Reader
	}
	t, own, err := begin(cfg)
	if err != nil {
		cfg.TCP.Transport = cmp.Or(cfg.TCP.Transport, "verbs")
		stream.Tell(ctx, cfg.TCP, fmt.Errorf("verbs: %w", err))
		return nil, fmt.Errorf("join as rank %d of %d: %w", cfg.TCP.Rank, cfg.TCP.Size, err)
	}
	t.way.puts, err = stream.Join(ctx, cfg.TCP.Below("verbs", own.encode(), t.prepare, func() {}))
	if err != nil {
		return nil, errors.Join(err, t.adapter.Close())
	}
	return t, nil
}

// begin does what can be done before the other ranks are known.
func begin(cfg *Config) (*Transport, *card, error) {
	if err := cfg.check(); err != nil {
		return nil, nil, err
	}
	t := newTransport(cfg)
	err := t.openPort(cfg)
	if err != nil {
		return nil, nil, err
	}
	own, err := t.card(cfg.TCP.Rand)
	if err != nil {
		return nil, nil, errors.Join(err, t.adapter.Close())
	}
	return t, own, nil
}

func newTransport(cfg *Config) *Transport {
	t := &Transport{
		rank: cfg.TCP.Rank, size: cfg.TCP.Size, clock: clock.OrSystem(cfg.TCP.Clock), peers: make([]pair, cfg.TCP.Size), found: make([]Completion, mostCompletions),
	}
	for rank := range t.peers {
		t.peers[rank].rank = rank
	}
	t.way.t = t
	t.grams.loss, t.grams.random = cfg.Loss, mathrand.New(mathrand.NewPCG(cfg.Seed, uint64(cfg.TCP.Rank)))
	return t
}

// openPort opens the port.
func (t *Transport) openPort(cfg *Config) (err error) {
	t.adapter, err = cfg.Open(func(a Address) Layout {
		t.plan = planFor(t.size, a.MTU)
		return t.plan.layout(t.rank, t.size)
	})
	if err != nil {
		return err
	}
	t.grams.sends, t.grams.inline = t.plan.gramSends, t.adapter.Inline()
	if t.own, err = t.adapter.Allocate(t.plan.own()); err != nil {
		return errors.Join(err, t.adapter.Close())
	}
	return nil
}

// card returns the card of this rank.
func (t *Transport) card(random io.Reader) (*card, error) {
	c := &card{address: t.adapter.Address(), order: ownOrder, key: t.own.Remote, base: t.own.Base, gram: t.adapter.Gram()}
	var err error
	if t.rank == 0 {
		c.group, c.qkey, err = drawGroup(random, c.address.Ethernet)
	}
	return c, err
}

// prepare is called when all ranks have arrived.
func (t *Transport) prepare(_ context.Context, puts *stream.Transport, m *meet.Meeting) error {
	cards, err := decodeCards(m.Blobs)
	if err != nil {
		return err
	}
	t.way.cards, t.grams.mark = cards, fragment.MarkOf(m.ID)
	if t.grams.casts = multicasts(cards); t.grams.casts {
		t.grams.group = cards[0].group
	}
	if err := t.adapter.Attach(t.grams.group, cards[0].qkey); err != nil {
		return err
	}
	t.grams.payload, t.grams.room = agree(cards)
	t.grams.stashes.Room = t.grams.room
	for rank := range cards {
		t.grams.sources = append(t.grams.sources, source{cards[rank].address.GID, cards[rank].gram})
	}
	for i := range t.plan.gramReceives {
		t.postGramReceive(i)
	}
	if err := t.ready(); err != nil {
		return err
	}
	return t.watch(puts.Reactor())
}

// ready posts the first buffers.
func (t *Transport) ready() error {
	n, _, failed, err := t.adapter.Exchange(t.works, nil)
	if err := errors.Join(failed, err); err != nil {
		return fmt.Errorf("post %d buffers: %w", len(t.works)-n, err)
	}
	t.works = t.works[:0]
	return nil
}

// watch adds the adapter to the reactor of TCP.
func (t *Transport) watch(r *reactor.Reactor) error {
	t.park.watch = r.Descriptor(t.adapter.FD(), t)
	t.park.pulsed = t.clock.Now()
	return t.park.watch.Modify(true, false)
}
