package cast

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

const (
	reachAfter  = 300 * time.Millisecond // time between the starts of two attempts
	reachWithin = 10 * time.Second       // time limit of all attempts
)

// reach returns an address at which a listener answers. It tries the addresses in order, each
// reachAfter later than the one before.
func reach(ctx context.Context, addresses []string) (string, error) {
	trying, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	type outcome struct {
		at  string
		err error
	}
	outcomes := make(chan outcome, len(addresses))
	for i, at := range addresses {
		go func() {
			err := knock(trying, at, time.Duration(i)*reachAfter)
			outcomes <- outcome{at, err}
		}()
	}
	var failures []string
	for range addresses {
		o := <-outcomes
		if o.err == nil {
			return o.at, nil
		}
		failures = append(failures, o.err.Error())
	}
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case len(failures) == 0:
		return "", errors.New("the sender has no address for other hosts")
	}
	return "", fmt.Errorf("this host cannot reach the sender: %s", strings.Join(failures, "; "))
}

// knock waits for the time after and connects to an address.
func knock(ctx context.Context, at string, after time.Duration) error {
	start := time.NewTimer(after)
	defer start.Stop()
	select {
	case <-start.C:
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", at, context.Cause(ctx))
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", at)
	if err != nil {
		return err
	}
	return conn.Close()
}
