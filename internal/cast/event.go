package cast

import (
	"bufio"
	"io"
	"sync"
)

// EventKind is the kind of an Event.
type EventKind int

const (
	// Notice reports in Text a decision or a host's failure that a user should know.
	Notice EventKind = iota
	// Detail reports in Text a step that a user sees only on request.
	Detail
	// Output holds in Text a line of the standard output of a command at Host.
	Output
	// ErrorOutput holds in Text a line of the standard error of a command at Host.
	ErrorOutput
	// Status says in Text how far the hosts have come. It replaces the last Status, and an empty
	// Text removes it.
	Status
	// RoundBegins reports that data begin to flow. Text says how they are sent. Total is their
	// number in bytes, or -1 if it is not known. Hosts are the hosts that get them.
	RoundBegins
	// RoundProgress says in Progress how far the round has come.
	RoundProgress
	// RoundEnds reports the end of a round.
	RoundEnds
)

// Event is an event of a running cast. Kind determines which of the other fields are used.
type Event struct {
	Kind     EventKind
	Host     string // host of a Notice, a Detail or output; "" for all hosts
	Text     string
	Total    int64
	Hosts    []string // by rank, from rank 1 on
	Progress Progress
}

// events passes events on, one at a time.
type events struct {
	mu   sync.Mutex
	to   func(Event)
	more bool // to is not nil
}

func newEvents(to func(Event)) *events { return &events{to: to, more: to != nil} }

func (e *events) emit(event Event) {
	if !e.more {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.to(event)
}

// notice reports a decision or a failure. host is "" if it concerns all hosts.
func (e *events) notice(host, text string) { e.emit(Event{Kind: Notice, Host: host, Text: text}) }

// detail reports a step.
func (e *events) detail(host, text string) { e.emit(Event{Kind: Detail, Host: host, Text: text}) }

// status reports how far the hosts have come.
func (e *events) status(text string) { e.emit(Event{Kind: Status, Text: text}) }

// maxEventLine is the greatest length of a line of output in bytes. A longer line becomes several
// events.
const maxEventLine = 4 << 10

// copy passes on a host's output line by line until it ends.
func (e *events) copy(kind EventKind, host string, from io.Reader) {
	r := bufio.NewReaderSize(from, maxEventLine)
	for {
		line, _, err := r.ReadLine()
		if err != nil {
			return // the session says how it has ended
		}
		e.emit(Event{Kind: kind, Host: host, Text: string(line)})
	}
}
