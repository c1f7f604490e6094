package cast

import (
	"bufio"
	"io"
	"sync"
)

// EventKind says what an Event is.
type EventKind int

const (
	// Notice is a decision, or a host's failure, that a user wants to know. Text says it.
	Notice EventKind = iota
	// Detail is a step that a user wants to know who asks for more. Text says it.
	Detail
	// Output is a line of the standard output of a command at Host, in Text.
	Output
	// ErrorOutput is such a line of the standard error.
	ErrorOutput
	// Status says in Text how far the hosts have come. It replaces the last Status; "" ends it.
	Status
	// RoundBegins says that data begin to flow: Text says how, Total how many bytes, or -1 if
	// nobody knows, and Hosts who gets them.
	RoundBegins
	// RoundProgress says in Progress how far the round is.
	RoundProgress
	// RoundEnds ends a round.
	RoundEnds
)

// Event is news of a cast while it runs.
type Event struct {
	Kind     EventKind
	Host     string // host that a Notice, a Detail or output is about; "" for all
	Text     string
	Total    int64
	Hosts    []string // by rank, from rank 1 on
	Progress Progress
}

// events passes events on, one at a time.
type events struct {
	mu   sync.Mutex
	to   func(Event)
	more bool // somebody listens
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

// notice tells a decision or a failure. host is "" if it concerns all.
func (e *events) notice(host, text string) { e.emit(Event{Kind: Notice, Host: host, Text: text}) }

// detail tells a step.
func (e *events) detail(host, text string) { e.emit(Event{Kind: Detail, Host: host, Text: text}) }

// status tells how far the hosts have come.
func (e *events) status(text string) { e.emit(Event{Kind: Status, Text: text}) }

// maxEventLine is the greatest length of a line of output in bytes; a longer one is several events.
const maxEventLine = 4 << 10

// copy passes on a host's output, line by line, up to its end.
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
