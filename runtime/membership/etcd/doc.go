// Package etcd is the manager of membership for clusters that have an etcd, version 3.4
// or later.
//
// Below Config.Prefix the key "view" has the newest view, which members replace if nobody has
// since they read it, and "alive/" and its identity is each member's, attached to a lease that it
// renews. When a lease ends the key goes with it; every member watches the keys, and
// whoever is first makes a view without those that have none. A member whose lease could not
// be renewed for Config.TTL has to take itself for dead: [membership.ErrLost]. One that is closed gives
// its lease back, so that nobody waits for its end.
//
// It speaks to etcd by its JSON gateway, a documented and stable interface
// (etcd.io/docs, "Why gRPC gateway"), of which six calls suffice. The official client brings gRPC and
// protocol buffers, some hundred packages, into every program that uses this module; and what it
// adds, balancing, caching, elections, is not needed here.
package etcd
