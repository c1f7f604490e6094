// Package etcd is the manager of membership for clusters that have an etcd, version 3.4 or later.
//
// Below Config.Prefix the key "view" has the newest view. A member replaces it only if no other
// member has replaced it since it was read. Each member has a key "alive/" plus its identity,
// attached to a lease that the member renews. When a lease ends, its key disappears. Every member
// watches the keys, and the first one that notices makes a view without the members that have no
// key. A member whose lease could not be renewed for Config.TTL must take itself for dead:
// [membership.ErrLost]. A closed member gives its lease back, so that no member waits for its end.
//
// The package uses six calls of etcd's JSON gateway, a documented and stable interface
// (etcd.io/docs, "Why gRPC gateway"). The official client would bring gRPC and protocol buffers,
// some hundred packages, into every program that uses this module. Its additions, such as
// balancing, caching and elections, are not needed here.
package etcd
