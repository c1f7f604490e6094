package etcd

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/schedgen/schedgen/runtime/membership"
)

// state is etcd's state of the group.
type state struct {
	view     membership.View
	mod      int64 // revision of the view; 0: there is none
	revision int64 // revision of the whole state
	alive    map[string]bool
}

// change repeats a change, and with it ops, until a view shows it.
func (m *Manager) change(ctx context.Context, change membership.Change, ops ...operation) error {
	for {
		s, err := m.read(ctx)
		if err != nil {
			return err
		}
		done, err := m.apply(ctx, s, change, ops...)
		if done || err != nil {
			return err
		}
	}
}

// apply replaces the view of s, unless another member has. It reports whether change leaves the
// view as it is: only this shows that the change is done.
func (m *Manager) apply(ctx context.Context, s *state, change membership.Change, ops ...operation) (done bool, err error) {
	next, err := change(s.view)
	if err != nil || next.Epoch == s.view.Epoch {
		return true, err
	}
	text, err := json.Marshal(next)
	if err != nil {
		return false, err
	}
	key := m.key("view")
	q := &txnRequest{
		Compare: []compare{{Key: key, Target: "MOD", Result: "EQUAL", Mod: s.mod}},
		Success: append([]operation{{Put: &keyValue{Key: key, Value: text}}}, ops...),
	}
	return false, m.etcd.call(ctx, "/v3/kv/txn", q, new(txnResponse)) // the next read shows whether it succeeded
}

// read reads all keys of the group, and posts the view.
func (m *Manager) read(ctx context.Context) (*state, error) {
	key, end := m.all()
	var r rangeResponse
	if err := m.etcd.call(ctx, "/v3/kv/range", &rangeRequest{key, end}, &r); err != nil {
		return nil, err
	}
	s := &state{revision: r.Header.Revision, alive: map[string]bool{}}
	for _, kv := range r.KVs {
		name := strings.TrimPrefix(string(kv.Key), m.cfg.Prefix)
		if id, is := strings.CutPrefix(name, "alive/"); is {
			s.alive[id] = true
		}
		if name == "view" {
			s.mod = kv.Mod
			if err := decode(kv.Value, &s.view); err != nil {
				return nil, fmt.Errorf("etcd key %s: %w", kv.Key, err)
			}
		}
	}
	m.board.Post(s.view)
	return s, nil
}

func decode(text []byte, v *membership.View) error {
	if err := json.Unmarshal(text, v); err != nil {
		return err
	}
	return v.Check()
}

func (m *Manager) key(name string) []byte { return []byte(m.cfg.Prefix + name) }

// all returns the range of the group's keys.
func (m *Manager) all() (key, end []byte) {
	key = m.key("")
	end = m.key("")
	end[len(end)-1]++ // the last byte is a slash
	return key, end
}
