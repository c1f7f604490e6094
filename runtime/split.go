package runtime

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	goruntime "runtime"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Undefined is the color of a rank that joins no communicator of a Split. Other negative colors
// mean the same.
const Undefined = -1

// Split makes one communicator for each color among the ranks of c. Its members are the ranks that
// give that color, in the order of key; members with equal keys keep their order in c. Every rank
// of c must call Split, between the same operations. A rank that gives [Undefined] takes part and
// gets a nil communicator and no error.
//
// The new communicators share the connections and goroutines of c and have its Config. They do not
// have its Params.Hosts, unless they have the same ranks in the same order. Schedules that c got by
// Use stay with c. Arguments and errors use the new communicator's own ranks. Operations of
// different communicators may run at the same time, in different goroutines, and do not wait for
// each other. Each communicator fails by itself, with one exception: a lost rank fails all
// communicators that it is a member of, with a [LostError] that names it. Close each communicator,
// in any order.
//
// A new communicator multicasts to a group of its own. Its members join the group while they split
// and leave it when they close the communicator, so no other rank receives its multicasts. The
// communicator shares the group of all processes if the transport is shared memory alone, or if one
// member has no room for a further group or hears nothing in it. Processes that are no members then
// drop the multicasts. Sharing is no error: the event "joined" and [State] report it and the
// reason. Broadcasts for which Config names no algorithm multicast in a shared group only if the
// members are at least half of all processes. They do not if all members, but not all processes,
// are on one host.
//
// If ranks share memory, the signals of barriers and the chunks of broadcasts go through windows.
// At each process, up to seven communicators besides the first can have windows at a time; further
// ones use frames, which take longer. A new communicator gets windows if one set of them is free at
// all its members, and keeps them until all members have closed it. The event "joined" says whether
// it has any. So close communicators that you no longer need before you make the next one.
//
// Split takes three exchanges, in which each rank sends some 32, 38 and 1 bytes for each other rank.
// Where Splits of several communicators with common processes run at the same time, the second
// exchange is repeated until it is a Split's turn. At most 255 communicators made by Split and Dup
// may be open at a process. If no number is free at all members of a new communicator, all ranks get
// ErrTooMany, and c still works. If one rank cannot make its communicator, no rank gets one: all get
// a [RankError] that names the lowest such rank and its reason, and c still works. The error wraps
// ErrRefused, as for a full /dev/shm, or ErrInput, as for an algorithm of Config that cannot run
// among the members. If ctx ends before or during the call, c fails, as with any operation.
func (c *Comm) Split(ctx context.Context, color, key int) (*Comm, error) {
	return c.derive(ctx, "split", color, key)
}

// Dup makes a communicator of the same ranks as c. Its operations and messages are independent of
// those of c. Dup costs what [Comm.Split] costs.
func (c *Comm) Dup(ctx context.Context) (*Comm, error) {
	twin, err := c.derive(ctx, "dup", 0, 0)
	if twin != nil {
		twin.electorate = c.electorate
	}
	return twin, err
}

func (c *Comm) derive(ctx context.Context, op string, color, key int) (*Comm, error) {
	if ctx == nil {
		return nil, c.refuse(noContext(op))
	}
	since := c.drv.clock.Now()
	child, err := c.deriveOnce(ctx, op, color, key)
	if child != nil {
		child.logJoin(op, c.drv.clock.Now().Sub(since))
	}
	return child, err
}

// deriveOnce splits c. No other goroutine may be inside a collective call.
func (c *Comm) deriveOnce(ctx context.Context, op string, color, key int) (*Comm, error) {
	if !c.occupy() {
		return nil, ErrBusy
	}
	defer c.vacate()
	if err := c.core.Err(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, c.belated(ctx, op)
	}
	c.enter()
	defer c.leave()
	child, err := c.split(ctx, op, color, key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	return child, nil
}

func (c *Comm) split(ctx context.Context, op string, color, key int) (*Comm, error) {
	var own joining
	if color >= 0 {
		own = c.drv.draw()
	}
	colors, names, err := c.colors(ctx, op, color, key, own.name)
	if err != nil {
		return nil, err
	}
	own.join(ctx, c, colors[color], names)
	child, unfit, err := c.enrol(ctx, op, colors, color, &own)
	if child == nil {
		own.leave()
	}
	if err == nil {
		err = c.stand(ctx, op, unfit)
	}
	if err == nil {
		return child, nil
	}
	if child != nil {
		child.giveUp(err)
	}
	return nil, err
}

// colors exchanges the colors, keys and group names of all ranks. It returns the ranks of every
// color, in their new order, and the group name that each rank has drawn. When it returns, every
// rank has called Split, or every rank Dup: op says which.
func (c *Comm) colors(ctx context.Context, op string, color, key int, name wire.GroupName) (map[int][]int, []wire.GroupName, error) {
	b := binary.BigEndian.AppendUint64(nil, uint64(max(color, Undefined)))
	b = binary.BigEndian.AppendUint64(b, uint64(key))
	wishes, err := c.exchange(ctx, op, append(b, name[:]...))
	if err != nil {
		return nil, nil, err
	}
	keyOf := func(rank int) int { return int(int64(binary.BigEndian.Uint64(wishes[rank][8:]))) }
	colors := make(map[int][]int)
	names := make([]wire.GroupName, len(wishes))
	for rank, wish := range wishes {
		names[rank] = wire.GroupName(wish[16:])
		if color := int(int64(binary.BigEndian.Uint64(wish))); color >= 0 {
			colors[color] = append(colors[color], rank)
		}
	}
	for _, ranks := range colors {
		slices.SortStableFunc(ranks, func(a, b int) int { return cmp.Compare(keyOf(a), keyOf(b)) })
	}
	return colors, names, nil
}

// enrol finds a number for each color, and registers the communicator of color if this rank is a
// member of one; unfit is why this rank cannot. own is the group that this rank has joined for it.
// All ranks see the same offers and so act alike.
func (c *Comm) enrol(ctx context.Context, op string, colors map[int][]int, color int, own *joining) (child *Comm, unfit, err error) {
	ns := &c.drv.numbers
	_, member := colors[color]
	if member {
		ns.request(c.number)
		defer ns.withdraw(c.number)
	}
	for len(colors) > 0 {
		offers, err := c.offers(ctx, op, member, own.joined())
		if err != nil {
			return child, nil, err
		}
		found, err := agreeAll(offers, colors)
		if err != nil {
			return child, nil, err
		}
		if out, ok := found[color]; ok {
			child, unfit = c.register(colors[color], out, own.agreed(out))
			member = false
		}
		maps.DeleteFunc(colors, func(of int, _ []int) bool { _, ok := found[of]; return ok })
	}
	return child, unfit, nil
}

// offers exchanges the free numbers of all ranks. A rank that needs no number, or whose numbers
// another Split uses, offers none; then all ranks repeat. Each rank also says whether it has joined
// the group of its new communicator. When offers returns, all members that say so have joined.
func (c *Comm) offers(ctx context.Context, op string, need, joined bool) ([]offer, error) {
	d := c.drv
	d.mu.Unlock() // another Split needs the lock between repetitions
	goruntime.Gosched()
	d.mu.Lock()
	o := offer{generation: d.numbers.generation, joined: joined}
	if need && d.numbers.acquire(c.number) {
		o.open, o.free, o.sets = true, d.free(), d.windows.free()
	}
	blocks, err := c.exchange(ctx, op, o.encode())
	d.numbers.release(c.number) // numbers are registered before the lock is given up
	if err != nil {
		return nil, err
	}
	offers := make([]offer, len(blocks))
	for rank, b := range blocks {
		offers[rank] = decodeOffer(b)
	}
	return offers, nil
}

// kinds are the errors for which a rank cannot make its communicator. A rank says 1 + the index of
// its own, or 0 if it has made the communicator or makes none.
var kinds = [...]error{ErrInput, ErrRefused}

// maxUnfit is the greatest length in bytes of the text for which a rank cannot make its
// communicator.
const maxUnfit = 256

// stand returns nil when all ranks have made their communicators. Before that, no rank may send
// frames. unfit is why this rank has not made its own, or nil. All ranks return the reason of the
// lowest rank that has one, and c stays intact.
func (c *Comm) stand(ctx context.Context, op string, unfit error) error {
	kind, text := byte(0), make([]byte, maxUnfit)
	if unfit != nil {
		i := max(slices.IndexFunc(kinds[:], func(kind error) bool { return errors.Is(unfit, kind) }), 0)
		kind = byte(1 + i)
		copy(text, strings.TrimPrefix(unfit.Error(), fmt.Sprint(kinds[i], ": ")))
	}
	said, err := c.exchange(ctx, op, []byte{kind})
	if err != nil {
		return err
	}
	rank := slices.IndexFunc(said, func(b []byte) bool { return b[0] != 0 })
	if rank < 0 {
		return nil
	}
	texts, err := c.exchange(ctx, op, text)
	if err != nil {
		return err
	}
	i := min(int(said[rank][0]), len(kinds)) - 1
	return &RankError{Rank: rank, Err: fmt.Errorf("%w: %s", kinds[i], bytes.TrimRight(texts[rank], "\x00"))}
}

// register makes the communicator of the given ranks of c, which multicasts to own, and adds it to
// the driver. It drops the parts of c's Config that are for c alone.
func (c *Comm) register(ranks []int, out outcome, own casting) (*Comm, error) {
	d := c.drv
	endpoints := make([]int, len(ranks))
	for i, r := range ranks {
		endpoints[i] = c.endpointOf(r)
	}
	m := newMembers(d.tr, out.number, endpoints)
	all := d.tr.Caps()
	child := &Comm{
		drv: d, number: out.number, members: m, cfg: c.cfg, rank: slices.Index(ranks, c.rank), size: len(ranks),
		caps: capsAmong(all, d.tr.Size(), m.self, endpoints), casting: own,
	}
	child.cfg.Epoch = out.epoch
	if !slices.IsSorted(ranks) || len(ranks) < c.size {
		child.cfg.Algorithms, child.cfg.Prepare = c.cfg.Algorithms.withoutHosts(), nil
		if c.cfg.Network != nil {
			child.cfg.Network, child.cfg.Rules = nil, c.cfg.elsewhere
		}
	}
	if out.set > 0 && shareHosts(child.caps, child.size) {
		w, err := d.windows.further(out.set, m, child)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRefused, err)
		}
		child.window = w
	}
	if err := child.setUp(spreads(all, child.caps, d.tr.Size(), len(ranks), own.apart)); err != nil {
		d.windows.close(child.window)
		return nil, err
	}
	d.numbers.generation = max(d.numbers.generation, out.epoch)
	if own.group != nil {
		own.group.Use(out.number)
	}
	d.add(child)
	return child, nil
}
