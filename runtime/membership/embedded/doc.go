// Package embedded is the manager of membership that needs no other service: the
// first member is the manager, and when it dies the next one takes over.
//
// Every member listens, for whoever joins and for the members. Its Config.Seeds are where it
// looks for the group; any member tells it who the manager is. A member whose own address is
// the first of Seeds, or that has none, founds the group if no other seed knows of one.
// So a group whose founder may be started again needs several seeds: otherwise that founds
// another group.
//
// # Agreement
//
// The members of each view decide the next one: a single-decree Paxos for every
// epoch (Lamport, "Paxos Made Simple", 2001), of which the manager is the proposer that needs no
// first phase. So views are replicated, and whoever takes over finishes what the manager
// before has begun. A view counts when it is accepted by more than half of the members of the one before, or by
// half with the first of them, or by all that are not known to be dead. A
// process is known to be dead when its host refuses connections to its address, or another process
// answers there, which says so since every request names the member that it is for. One that does not
// answer is only suspected.
//
// What is promised:
//
//   - There are no two views of one epoch, unless all processes that have accepted
//     one of them die before others have heard of it.
//   - When a network is cut, at most one part goes on: the one with more than half of
//     the last view, or half with its first member. In the others every member is told
//     [membership.ErrLost] after Config.Patience.
//   - Processes may die one after the other, down to the last one, as long as their hosts
//     live. Of hosts that vanish at once less than half are survived.
//   - A manager that is stopped and comes back later finds that it is a member no more.
//
// Only the lowest of the members that answer takes over. That is no condition of what is
// promised, but keeps two from standing in each other's way. It asks those before it eight times as many
// each time, so that thousands that are silent do not outlast Config.Patience.
//
// # Leases
//
// Members keep a connection with the manager, on which each side writes four times
// in Config.TTL. Who is silent for TTL is dead to the other side. When a connection breaks, the
// manager connects to the member at once, and gives it up if that is refused. A manager that was stopped
// itself, or had no time, takes nobody for silent before it has heard again for TTL.
package embedded
