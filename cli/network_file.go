package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/foreign/astra"
	"github.com/schedgen/schedgen/internal/foreign/dot"
	"github.com/schedgen/schedgen/internal/foreign/nccl"
	"github.com/schedgen/schedgen/internal/foreign/slurm"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/network"
)

// fileOptions are what files of other programs leave open.
type fileOptions struct {
	copies *int             // number of servers that are like the one of NCCL's dump; nil: one
	links  *network.Options // links of Slurm's topology.conf; nil: such a file is an error
}

// readNetwork reads the network of a file, or of the standard input if the name is "-".
func readNetwork(ctx context.Context, std terminal.Stdio, name string) (*network.Network, error) {
	return readNetworkWith(ctx, std, name, fileOptions{})
}

func readNetworkWith(ctx context.Context, std terminal.Stdio, name string, o fileOptions) (*network.Network, error) {
	return terminal.Await(ctx, func() (*network.Network, error) {
		if name == "-" {
			return parseNetwork(std.In, name, o)
		}
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			return nil, fmt.Errorf("%s is a directory, not a file with a network", name)
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close() // read only: nothing to lose
		return parseNetwork(f, name, o)
	})
}

// maxHead is the number of bytes at the beginning of a file that show its form. Comments may come
// first.
const maxHead = 1 << 16

func parseNetwork(in io.Reader, name string, o fileOptions) (*network.Network, error) {
	b := bufio.NewReaderSize(in, maxHead)
	head, _ := b.Peek(maxHead) // an error comes again when b is read
	if o.copies != nil && !nccl.Is(head) {
		return nil, fmt.Errorf("--copies: %s is no topology of NCCL", source.PlaceOf(name))
	}
	var n *network.Network
	var err error
	switch {
	case nccl.Is(head):
		copies := 1
		if o.copies != nil {
			copies = *o.copies
		}
		n, err = nccl.Parse(b, copies)
	case slurm.Is(head) && o.links == nil:
		return nil, fmt.Errorf("%s: Slurm's topology has no rates: make a network of it first, as in: schedgen network %[2]s --rate 10Gbit > cluster.net", source.PlaceOf(name), name)
	case slurm.Is(head):
		n, err = slurm.Parse(b, *o.links)
	case astra.Is(head):
		n, err = astra.Parse(b)
	case dot.Is(head):
		n, err = dot.Parse(b)
	default:
		n, err = network.Parse(b)
	}
	var at *network.ParseError
	if errors.As(err, &at) && at.Line > 0 {
		return nil, fmt.Errorf("%s:%d: %w", source.PlaceOf(name), at.Line, at.Err)
	}
	if err != nil {
		return nil, source.Placed(name, err)
	}
	return n, nil
}

// networkFlag names a network.
type networkFlag struct {
	Network string `placeholder:"FILE" complete:"file" help:"File with the network that messages cross, or - for standard input; its ranks are the ranks of the schedule."`

	net *network.Network // nil: none was given
}

// load reads the network, if one was given. sources are the schedules of the command line.
func (f *networkFlag) load(ctx context.Context, std terminal.Stdio, sources ...string) error {
	if f.Network == "" {
		return nil
	}
	for _, s := range sources {
		if s == "-" && f.Network == "-" {
			return errors.New("--network=-: the schedule already comes from standard input")
		}
	}
	var err error
	f.net, err = readNetwork(ctx, std, f.Network)
	return err
}

// ranks returns a number of ranks that was given, or else that of the network. Another number than
// that of the network is an error.
func (f *networkFlag) ranks(given *source.Ranks) (*source.Ranks, error) {
	if f.net == nil {
		return given, nil
	}
	n := len(f.net.Ranks)
	if given == nil {
		return &source.Ranks{Lo: n, Hi: n}, nil
	}
	if given.Lo != n || given.Hi != n {
		return nil, fmt.Errorf("--ranks: %s has %s", f.Network, command.Count(n, "rank"))
	}
	return given, nil
}

// fits returns an error if a schedule of a file has another number of ranks than the network.
func (f *networkFlag) fits(name string, ranks int) error {
	if f.net == nil || ranks == len(f.net.Ranks) {
		return nil
	}
	return fmt.Errorf("--network: %s has %s, and %s has %d", f.Network, command.Count(len(f.net.Ranks), "rank"), name, ranks)
}

// rateWords spells a rate, such as "1.5 Gbit/s".
func rateWords(rate int64) string {
	text := network.FormatRate(rate)
	at := strings.IndexAny(text, "GMkb")
	return text[:at] + " " + text[at:] + "/s"
}

// arcWords spells an arc, such as "a->b".
func arcWords(n *network.Network, arc int) string {
	a := n.Arcs[arc]
	return n.NameOf(a.From) + "->" + n.NameOf(a.To)
}
