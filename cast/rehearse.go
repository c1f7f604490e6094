package cast

import (
	"context"
	"sync"

	"github.com/schedgen/schedgen/cast/remote"
)

// Visit is what Rehearse has found on a host.
type Visit struct {
	Name    string `json:"name"`
	Copy    bool   `json:"copy"`              // it would get a copy of the program
	Program string `json:"program,omitempty"` // the name of what it runs
	Bytes   int64  `json:"bytes,omitempty"`   // length of the copy
	Fetches bool   `json:"fetches,omitempty"` // it can get the copy from another host
	Reason  string `json:"reason,omitempty"`  // why it would get nothing; "" if it would get everything
}

// Rehearse connects to the hosts by ssh and says what a cast would find there. It changes nothing.
// The error is that ctx has ended.
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
		_ = s.Close() // nothing runs there
	}
	if err != nil {
		v.Reason = err.Error()
	}
	return v
}
