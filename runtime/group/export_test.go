package group

import (
	"context"
	"errors"
)

// Die ends g like the death of its process, as far as possible within one process: its connections
// to the other members end without notice.
func Die(g *Group) {
	g.mu.Lock()
	e := g.era
	g.mu.Unlock()
	g.cfg.Manager.Close()
	g.fail(errors.New("dead"))
	e.comm.Close()
	e.work.Close()
	<-g.over
}

// Renew asks for another view of the same members.
func Renew(ctx context.Context, g *Group) error {
	return g.cfg.Manager.Report(ctx, g.View().Epoch)
}
