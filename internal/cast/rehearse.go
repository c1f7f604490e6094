package cast

import (
	"context"
	"sync"

	"github.com/schedgen/schedgen/internal/cast/remote"
)

// Visit is the result of Rehearse for a host.
type Visit struct {
	Name    string `json:"name"`
	Copy    bool   `json:"copy"`              // the host would get a copy of the program
	Program string `json:"program,omitempty"` // name of the program that it would run
	Bytes   int64  `json:"bytes,omitempty"`   // length of the copy in bytes
	Fetches bool   `json:"fetches,omitempty"` // the host can get the copy from another host
	Reason  string `json:"reason,omitempty"`  // why the host would get nothing; "" if it would get everything
}

// Rehearse connects to the hosts by ssh, and returns what a cast would find on each. It changes
// nothing on the hosts. It returns an error only if ctx has ended.
func Rehearse(ctx context.Context, hosts []string, programs *remote.Programs, ssh remote.Config) ([]Visit, error) {
	visits := make([]Visit, len(hosts))
	gate := make(chan struct{}, maxOpening)
	var all sync.WaitGroup
	for i, host := range hosts {
		gate <- struct{}{}
		all.Go(func() {
			defer func() { <-gate }()
			visits[i] = visit(ctx, host, programs, ssh)
		})
	}
	all.Wait()
	return visits, ctx.Err()
}

// visit connects to a host and leaves it again.
func visit(ctx context.Context, host string, programs *remote.Programs, ssh remote.Config) Visit {
	v := Visit{Name: host}
	s, err := remote.Open(ctx, host, programs, ssh)
	if err == nil {
		var p *remote.Program
		if p, v.Copy, err = s.Program(); err == nil {
			v.Program = p.Name
		}
		if v.Copy {
			v.Fetches = s.Facts.Fetcher != ""
			v.Bytes, err = p.CopyBytes()
		}
		_ = s.Close() // no process runs there
	}
	if err != nil {
		v.Reason = err.Error()
	}
	return v
}
