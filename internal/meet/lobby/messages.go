package lobby

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/schedgen/schedgen/internal/meet/internal/contact"
)

// Processes without a rank come to a lobby, at the address where the ranks will meet. They speak
//
//	guest  opening (package contact), noRank u32, name, word
//	host   status, welcome u32, 0 u32
//	host   status, noRank u32, bytes u32, that many bytes; any number of times, or not at all
//	guest  heard u8, for each of them
//	host   status, rank u32, size u32, job, note
//	guest  met u8
//
// The host answers when it has as many guests as it wants; before that it may measure how fast a
// guest is (measure.go). The guest says when it has met the others, and hangs up; until then the
// connection shows the host that it lives. No rank's hello begins with noRank, so a guest that
// comes while ranks meet is turned away there, and comes again.
const (
	noRank  = math.MaxUint32
	welcome = math.MaxUint32 - 1
	met     = 'm'
	heard   = 'h'
)

// appendGuest appends what follows the opening.
func appendGuest(b []byte, g *Guest) []byte {
	return contact.AppendBytes(contact.AppendBytes(binary.BigEndian.AppendUint32(b, noRank), g.Name), g.Word)
}

// readGuest reads what follows the opening.
func readGuest(r io.Reader) (g Guest, err error) {
	rank, err := contact.ReadUint32(r)
	if err == nil && rank != noRank {
		return g, errors.New("this host waits for processes without a rank: ranks cannot meet yet")
	}
	var name, word []byte
	if err == nil {
		name, err = contact.ReadBytes(r, MaxName)
	}
	if err == nil {
		word, err = contact.ReadBytes(r, MaxWord)
	}
	if err != nil {
		return g, fmt.Errorf("%w: %w", contact.ErrStranger, err)
	}
	return Guest{Name: contact.Printable(name), Word: contact.Printable(word)}, nil
}

func appendPlace(b []byte, p *Place) []byte {
	b = contact.AppendStatus(b, "")
	b = binary.BigEndian.AppendUint32(b, uint32(p.Rank))
	b = binary.BigEndian.AppendUint32(b, uint32(p.Size))
	return contact.AppendBytes(contact.AppendBytes(b, p.Job), p.Note)
}

// appendProbe appends a probe of n meaningless bytes.
func appendProbe(b []byte, n int) []byte {
	b = binary.BigEndian.AppendUint32(contact.AppendStatus(b, ""), noRank)
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	return append(b, make([]byte, n)...)
}

// appendWelcome appends the first message to a guest that has been let in.
func appendWelcome(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(contact.AppendStatus(b, ""), welcome)
	return binary.BigEndian.AppendUint32(b, 0)
}

// readAnswerHead reads the head of a place or a probe.
func readAnswerHead(r io.Reader) (rank, size uint32, err error) {
	why, err := contact.ReadStatus(r)
	if errors.As(err, new(*contact.LengthError)) {
		return 0, 0, errOther
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %w", contact.ErrUnheard, err)
	}
	if why != "" {
		return 0, 0, &Refusal{why}
	}
	rank, err = contact.ReadUint32(r)
	if err == nil {
		size, err = contact.ReadUint32(r)
	}
	if err != nil {
		return 0, 0, &contact.FinalError{Err: fmt.Errorf("read the place: %w", err)}
	}
	return rank, size, nil
}

// readPlaceTexts reads the texts of a place.
func readPlaceTexts(r io.Reader, p *Place) (*Place, error) {
	job, err := contact.ReadBytes(r, contact.MaxJob)
	var note []byte
	if err == nil {
		note, err = contact.ReadBytes(r, contact.MaxText)
	}
	if err != nil {
		return nil, &contact.FinalError{Err: fmt.Errorf("read the place: %w", err)}
	}
	p.Job, p.Note = string(job), string(note)
	return p, nil
}
