package cli

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/runtime"
)

// runObject is the object that run prints with --json. Times are in seconds.
type runObject struct {
	Run        string       `json:"run"`
	Proved     *proof       `json:"proved"`
	Transport  string       `json:"transport"`
	Interface  string       `json:"interface,omitempty"`
	Loss       float64      `json:"loss,omitempty"`
	Size       int64        `json:"size"`
	Counts     []int64      `json:"counts,omitempty"`
	Iterations int          `json:"iterations,omitempty"`
	Messages   int          `json:"messages,omitempty"`
	SHA256     string       `json:"sha256,omitempty"`
	Good       bool         `json:"good"`
	Ranks      []rankResult `json:"ranks"`
	Slowest    *timeObject  `json:"slowest,omitempty"`
	Skew       *skewObject  `json:"skew,omitempty"`
	Replied    *timeObject  `json:"replied,omitempty"`

	Learned []runtime.Learned `json:"learned,omitempty"`
}

type rankResult struct {
	Rank     int         `json:"rank"`
	Times    *timeObject `json:"times,omitempty"`
	Mcast    uint64      `json:"mcast_chunks"`
	Put      uint64      `json:"put_chunks"`
	Repairs  uint64      `json:"repairs"`
	Received int         `json:"received,omitempty"`
	Elapsed  float64     `json:"elapsed,omitempty"`
	Wrong    int         `json:"wrong"`
	First    string      `json:"first_wrong,omitempty"`
}

type timeObject struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	P99    float64 `json:"p99"`
	Max    float64 `json:"max"`
}

func newTimeObject(h *hdrhistogram.Histogram) *timeObject {
	least, most := time.Duration(h.Min()), time.Duration(h.Max())
	return &timeObject{least.Seconds(), crew.Quantile(h, 50).Seconds(), crew.Quantile(h, 99).Seconds(), most.Seconds()}
}

type skewObject struct {
	Median       float64 `json:"median"`
	FirstRank    int     `json:"first_rank"`
	FirstPercent float64 `json:"first_percent"`
	LastRank     int     `json:"last_rank"`
	LastPercent  float64 `json:"last_percent"`
}

func (s *session) object(t *crew.Tally) error {
	j := &s.Job
	o := runObject{
		Run: j.Collective, Proved: s.proof, Transport: j.Link.Transport, Interface: j.Link.Interface, Loss: j.Link.Loss,
		Size: j.Size, Counts: j.Counts, Iterations: j.Iterations, Messages: j.Messages, SHA256: j.Sum, Good: len(t.Wrong()) == 0,
	}
	row := rowOf(j.Collective)
	timed := !row.Published
	if timed {
		o.Slowest = newTimeObject(t.Slowest)
	}
	if hasMessage(row) {
		k := t.Skew()
		o.Skew = &skewObject{k.Median.Seconds(), k.FirstRank, k.FirstPercent, k.LastRank, k.LastPercent}
		o.Replied = s.replied(t)
	}
	for rank := range t.Ranks {
		o.Ranks = append(o.Ranks, newRankResult(rank, &t.Ranks[rank], timed))
	}
	o.Learned = learnedBy(t)
	return terminal.WriteJSON(s.std.Out, o, "")
}

func newRankResult(rank int, r *crew.RankTally, timed bool) rankResult {
	o := r.Outcome
	out := rankResult{
		Rank: rank, Mcast: o.McastChunks, Put: o.PutChunks, Repairs: o.Repairs, Received: o.Received,
		Elapsed: o.Elapsed.Seconds(), Wrong: o.Wrong.Count, First: o.Wrong.First,
	}
	if timed {
		out.Times = newTimeObject(r.Times)
	}
	return out
}

// replied returns the times until all ranks had replied, or nil if they were not measured.
func (s *session) replied(t *crew.Tally) *timeObject {
	if !s.Job.Replies {
		return nil
	}
	h := crew.NewTimes()
	for _, ns := range t.Ranks[s.Job.Params.Root].Outcome.Replied {
		crew.Record(h, ns)
	}
	return newTimeObject(h)
}
