package membership

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"unicode/utf8"
)

// ID is a member's identity. It is random, so a process that comes again is another member.
type ID [16]byte

// NewID draws an ID.
func NewID() (id ID) {
	rand.Read(id[:]) // never fails
	return id
}

// String returns id in hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText returns the text of String.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads the text of MarshalText.
func (id *ID) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(id)) {
		return fmt.Errorf("identity %.40q: want %d hexadecimal digits", text, hex.EncodedLen(len(id)))
	}
	if _, err := hex.Decode(id[:], text); err != nil {
		return fmt.Errorf("identity %q: %w", text, err)
	}
	return nil
}

// Member is one process of a group.
type Member struct {
	ID      ID     `json:"id"`                // random, of this process alone
	Name    string `json:"name,omitempty"`    // for people
	Address string `json:"address"`           // "host:port" where it waits for the others when it is the first member of a view
	Manager string `json:"manager,omitempty"` // "host:port" where it answers as manager; package embedded sets it
}

// View is one version of the membership.
type View struct {
	Epoch   uint32   `json:"epoch"`   // from 1; 0 is no view
	Members []Member `json:"members"` // in rank order, the oldest first
}

// The limits of a view.
const (
	MaxMembers = 4096
	MaxText    = 255 // bytes of a name or an address
)

// Rank returns the rank of member id, or -1 if id is no member.
func (v View) Rank(id ID) int {
	return slices.IndexFunc(v.Members, func(m Member) bool { return m.ID == id })
}

// Has reports whether id is a member.
func (v View) Has(id ID) bool { return v.Rank(id) >= 0 }

// Digest returns a number that is equal for views of the same epoch and members, and practically
// always differs for other views.
func (v View) Digest() uint64 {
	f := fnv.New64a()
	f.Write(binary.BigEndian.AppendUint32(nil, v.Epoch))
	for _, m := range v.Members {
		f.Write(m.ID[:])
	}
	return f.Sum64()
}

// Check returns an error if v is not a valid view. Use it for views from elsewhere.
func (v View) Check() error {
	if v.Epoch == 0 {
		return errors.New("view without an epoch")
	}
	if len(v.Members) > MaxMembers {
		return fmt.Errorf("view %d has %d members, at most %d are allowed", v.Epoch, len(v.Members), MaxMembers)
	}
	seen := make(map[ID]bool, len(v.Members))
	for _, m := range v.Members {
		if seen[m.ID] {
			return fmt.Errorf("view %d has member %v twice", v.Epoch, m.ID)
		}
		seen[m.ID] = true
		if err := m.Check(); err != nil {
			return fmt.Errorf("view %d: %w", v.Epoch, err)
		}
	}
	return nil
}

// Check returns an error if m is not a valid member. A valid member can be written as JSON and read
// without change.
func (m Member) Check() error {
	if m.ID == (ID{}) {
		return fmt.Errorf("member %.40q has no identity", m.Name)
	}
	for _, text := range []string{m.Name, m.Address, m.Manager} {
		if len(text) > MaxText {
			return fmt.Errorf("member %v has a text of %d bytes, at most %d are allowed", m.ID, len(text), MaxText)
		}
		if !utf8.ValidString(text) {
			return fmt.Errorf("member %v has a text that is no valid UTF-8: %.40q", m.ID, text)
		}
	}
	return nil
}

// Change makes a view from another view. It returns its argument if nothing changes, and else a
// view of the next epoch.
type Change func(View) (View, error)

// Joined returns the change that adds m as the last member.
func Joined(m Member) Change {
	return func(v View) (View, error) {
		if v.Has(m.ID) {
			return v, nil
		}
		if len(v.Members) == MaxMembers {
			return v, fmt.Errorf("%w: the group has %d members", ErrFull, len(v.Members))
		}
		return v.with(append(slices.Clone(v.Members), m))
	}
}

// Without returns the change that removes ids.
func Without(ids ...ID) Change {
	return func(v View) (View, error) {
		left := slices.DeleteFunc(slices.Clone(v.Members), func(m Member) bool { return slices.Contains(ids, m.ID) })
		if len(left) == len(v.Members) {
			return v, nil
		}
		return v.with(left)
	}
}

// Reported returns the change of a member's report; see [Manager]. A report by a process that is
// not a member changes nothing: if two members report each other, one stays.
func Reported(by ID, epoch uint32, lost []ID) Change {
	return func(v View) (View, error) {
		if !v.Has(by) {
			return v, nil
		}
		next, err := Without(lost...)(v)
		if err != nil || next.Epoch > v.Epoch || v.Epoch > epoch {
			return next, err
		}
		return v.with(slices.Clone(v.Members))
	}
}

func (v View) with(members []Member) (View, error) {
	if v.Epoch+1 == 0 {
		return v, errors.New("no further epoch is left")
	}
	return View{Epoch: v.Epoch + 1, Members: members}, nil
}
