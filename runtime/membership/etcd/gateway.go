package etcd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
)

// maxAnswer is the greatest size of an answer of etcd in bytes; etcd takes no request above 1.5 MB.
const maxAnswer = 16 << 20

// gateway is etcd's JSON interface at several endpoints. It encodes keys and values in base64, like
// []byte in package json, and 64-bit numbers as strings.
type gateway struct {
	client    *http.Client
	endpoints []string
	clock     clock.Clock
	patience  time.Duration // with one endpoint
	current   atomic.Uint32 // the endpoint that answered last
}

type (
	keyValue struct {
		Key   []byte `json:"key"`
		Value []byte `json:"value,omitempty"`
		Mod   int64  `json:"mod_revision,string,omitempty"`
		Lease int64  `json:"lease,string,omitempty"`
	}
	header struct {
		Revision int64 `json:"revision,string"`
	}
	rangeRequest struct {
		Key []byte `json:"key"`
		End []byte `json:"range_end,omitempty"`
	}
	rangeResponse struct {
		Header header     `json:"header"`
		KVs    []keyValue `json:"kvs"`
	}
	// compare holds if the key was last changed by revision Mod; 0 means that it does not exist.
	compare struct {
		Key    []byte `json:"key"`
		Target string `json:"target"`
		Result string `json:"result"`
		Mod    int64  `json:"mod_revision,string"`
	}
	operation struct {
		Put    *keyValue     `json:"request_put,omitempty"`
		Delete *rangeRequest `json:"request_delete_range,omitempty"`
	}
	txnRequest struct {
		Compare []compare   `json:"compare"`
		Success []operation `json:"success"`
	}
	txnResponse struct {
		Succeeded bool `json:"succeeded"`
	}
	lease struct {
		ID  int64 `json:"ID,string"`
		TTL int64 `json:"TTL,string,omitempty"` // seconds
	}
	keepAlive struct {
		Result lease `json:"result"`
	}
	watchRequest struct {
		Create struct {
			rangeRequest
			Start int64 `json:"start_revision,string"`
		} `json:"create_request"`
	}
	watchResponse struct {
		Result struct {
			Canceled bool              `json:"canceled"`
			Events   []json.RawMessage `json:"events"`
		} `json:"result"`
	}
	refusal struct {
		Message string `json:"message"`
		Error   string `json:"error"` // 3.4
	}
)

var errSilent = errors.New("no answer in time")

// call sends ask to one endpoint after the other until one answers, with the gateway's patience for
// each, and reads the answer.
func (g *gateway) call(ctx context.Context, path string, ask, answer any) error {
	var last error
	for range g.endpoints {
		err := g.try(ctx, path, ask, answer)
		if err == nil || ctx.Err() != nil {
			return err
		}
		last = err
		g.current.Add(1)
	}
	return last
}

func (g *gateway) try(ctx context.Context, path string, ask, answer any) error {
	ctx, stop := clock.WithTimeoutCause(ctx, g.clock, g.patience, errSilent)
	defer stop()
	body, err := g.open(ctx, path, ask)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := json.NewDecoder(io.LimitReader(body, maxAnswer)).Decode(answer); err != nil {
		return fmt.Errorf("etcd: %s: %w", path, because(ctx, err))
	}
	return nil
}

// open sends ask and returns the body of the answer, or an error if the answer is a refusal.
func (g *gateway) open(ctx context.Context, path string, ask any) (io.ReadCloser, error) {
	text, err := json.Marshal(ask)
	if err != nil {
		return nil, err
	}
	endpoint := g.endpoints[int(g.current.Load())%len(g.endpoints)]
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint+path, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := g.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", because(ctx, err))
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, fmt.Errorf("etcd: %s%s: %s: %s", endpoint, path, resp.Status, reason(resp.Body))
	}
	return resp.Body, nil
}

// because returns why ctx has ended, if it has, and else err.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// reason returns etcd's reason for refusing a call.
func reason(body io.Reader) string {
	text, err := io.ReadAll(io.LimitReader(body, 1024))
	if err != nil {
		return err.Error()
	}
	var r refusal
	if json.Unmarshal(text, &r) == nil && r.Message+r.Error != "" {
		return r.Message + r.Error
	}
	return fmt.Sprintf("%.100q", text)
}

// await returns when a key in [key, end) has changed since revision start, or when etcd can no
// longer tell. It returns after limit in any case, since a server that is cut off from the others
// is silent for ever.
func (g *gateway) await(ctx context.Context, key, end []byte, start int64, limit time.Duration) error {
	ctx, stop := clock.WithTimeoutCause(ctx, g.clock, limit, errSilent)
	defer stop()
	err := g.watch(ctx, key, end, start)
	if errors.Is(err, errSilent) {
		return nil
	}
	return err
}

func (g *gateway) watch(ctx context.Context, key, end []byte, start int64) error {
	var q watchRequest
	q.Create.rangeRequest, q.Create.Start = rangeRequest{key, end}, start
	body, err := g.open(ctx, "/v3/watch", &q)
	if err != nil {
		g.current.Add(1)
		return err
	}
	defer body.Close()
	bound := &io.LimitedReader{R: body}
	for dec := json.NewDecoder(bound); ; {
		bound.N = maxAnswer
		var r watchResponse
		if err := dec.Decode(&r); err != nil {
			return fmt.Errorf("etcd: watch: %w", because(ctx, err))
		}
		if r.Result.Canceled || len(r.Result.Events) > 0 {
			return nil // canceled: start has been compacted away
		}
	}
}
