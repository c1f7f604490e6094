package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/status"
)

// book holds the addresses of the status pages of ranks that were started by hand. A rank with a
// page publishes the address of the page as a rootless message when it has joined. No rank waits
// for these messages: a rank takes them when somebody opens its page.
type book struct {
	own    *crew.Position
	comm   atomic.Pointer[runtime.Comm] // on which the ranks publish the addresses; nil before this one has
	server *status.Server
	at     string // the address of this rank's page, as others reach it

	mu    sync.Mutex
	pages map[int]string // by rank: host:port
}

// notice is the message by which a rank publishes the address of its page.
type notice struct {
	Status string `json:"status"` // host:port of the sender's page
}

// maxReport is the largest answer of a rank's page, in bytes.
const maxReport = 8 << 20

// ownPath is the path at which a rank's page shows that rank alone.
const ownPath = "/own"

// showRank serves the status page of this rank until the book is closed. It returns nil if the
// flags ask for no page.
func (f *seenFlags) showRank(ctx context.Context, own *crew.Position, coordinator string, std terminal.Stdio) (*book, error) {
	if err := f.check(); err != nil || f.Status == nil {
		return nil, err
	}
	b := &book{own: own, pages: make(map[int]string)}
	mux := http.NewServeMux()
	mux.Handle("/", status.Handler(b.reports))
	mux.Handle("/healthz", status.Handler(b.ownReport)) // of this process, whatever has become of others
	mux.Handle(ownPath+"/", http.StripPrefix(ownPath, status.Handler(b.ownReport)))
	var err error
	if b.server, err = f.serve(ctx, mux); err != nil {
		return nil, err
	}
	if b.at, err = reachable(b.server.Addr(), coordinator); err != nil {
		return nil, errors.Join(fmt.Errorf("--status=%s: %w", *f.Status, err), b.close())
	}
	tellPage(std, b.at)
	return b, nil
}

func (b *book) close() error {
	if b == nil {
		return nil
	}
	return b.server.Close()
}

// reachable returns the address at which others reach the listener at addr. If addr is the
// unspecified address, that is the address of this host that reaches the coordinator.
func reachable(addr net.Addr, coordinator string) (string, error) {
	at, err := netip.ParseAddrPort(addr.String())
	if err != nil || !at.Addr().IsUnspecified() {
		return addr.String(), err
	}
	c, err := net.Dial("udp", coordinator) // sends nothing
	if err != nil {
		return "", fmt.Errorf("find the address of this host: %w", err)
	}
	defer c.Close()
	host, _, err := net.SplitHostPort(c.LocalAddr().String())
	return net.JoinHostPort(host, fmt.Sprint(at.Port())), err
}

// joined publishes the address of this rank's page on comm.
func (b *book) joined(ctx context.Context, comm *runtime.Comm) error {
	if b == nil {
		return nil
	}
	b.comm.Store(comm)
	text, err := json.Marshal(notice{b.at})
	if err != nil {
		return err
	}
	if err := comm.Publish(ctx, text); err != nil {
		return fmt.Errorf("publish the address of this rank's page: %w", err)
	}
	return nil
}

// read takes the messages that have arrived and returns the addresses of the pages of other ranks,
// by rank.
func (b *book) read() map[int]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if comm := b.comm.Load(); comm != nil {
		for msg, ok, err := comm.TryNext(); ok && err == nil; msg, ok, err = comm.TryNext() {
			var n notice
			if err := json.Unmarshal(msg.Data, &n); err != nil {
				continue // not a message of this program
			}
			if _, _, err := net.SplitHostPort(n.Status); err == nil {
				b.pages[msg.Origin] = n.Status
			}
		}
	}
	return maps.Clone(b.pages)
}

func (b *book) ownReport(context.Context) []status.Report { return []status.Report{b.own.Report()} }

// reports is the [status.Source] of all ranks that have published a page.
func (b *book) reports(ctx context.Context) []status.Report {
	ctx, cancel := context.WithTimeout(ctx, crew.AnswerTime)
	defer cancel()
	all := b.ownReport(ctx)
	pages := b.read()
	others := make([]status.Report, len(pages))
	var wg sync.WaitGroup
	for i, rank := range slices.Sorted(maps.Keys(pages)) {
		wg.Go(func() {
			r, err := fetch(ctx, rank, pages[rank])
			if err != nil {
				r = status.Report{Process: rank, Note: fmt.Sprintf("its page does not answer: %v", err)}
			}
			r.URL = "http://" + pages[rank] + "/"
			others[i] = r
		})
	}
	wg.Wait()
	all = append(all, others...)
	slices.SortFunc(all, func(x, y status.Report) int { return x.Process - y.Process })
	return all
}

// fetch returns the report of a rank from its page at the given host and port.
func fetch(ctx context.Context, rank int, at string) (r status.Report, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+ownPath+"/status.json", nil)
	if err != nil {
		return r, err
	}
	res, err := pageClient.Do(req)
	if err != nil {
		return r, err
	}
	defer res.Body.Close()
	var own []status.Report
	if err := json.NewDecoder(io.LimitReader(res.Body, maxReport)).Decode(&own); err != nil {
		return r, fmt.Errorf("http://%s/: %s: %w", at, res.Status, err)
	}
	if len(own) != 1 || own[0].Process != rank {
		return r, fmt.Errorf("http://%s/ is the page of another rank: give --status an address that other hosts reach", at)
	}
	return own[0], nil
}

// pageClient connects to other ranks directly, even if a proxy is set, and keeps no connections.
var pageClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// eventLog returns the log to which a rank with --verbose writes the events of its communicator, or
// nil without --verbose.
func (f *runFlags) eventLog(std terminal.Stdio) *slog.Logger {
	if !f.Verbose {
		return nil
	}
	return slog.New(slog.NewTextHandler(std.Err, nil))
}
