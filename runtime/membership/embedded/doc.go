// Package embedded is the manager of membership that needs no other service: the first member is
// the manager, and when it dies the next one takes over.
//
// Every member listens, for joining processes and for the members. It looks for the group at its
// Config.Seeds; any member tells it which member is the manager. A member whose own address is the
// first of Seeds, or that has no Seeds, founds the group if no other seed knows of one. It waits until
// the host of each seed answers or refuses, because a silent host may know of the group. So a group
// whose founder may be started again needs several seeds: otherwise the restarted founder founds
// another group.
//
// # Agreement
//
// The members of each view decide the next view by a single-decree Paxos for every epoch (Lamport,
// "Paxos Made Simple", 2001). The manager is the proposer that needs no first phase. So views are
// replicated, and a successor finishes the previous manager's work. A view is decided when more
// than half of the previous view's members have accepted it, or half of them including the first,
// or all members that are not known to be dead. A process is known to be dead when its host refuses
// connections to its address, or when another process answers there. Every request names its
// member, so another process says that it is not this member. A process that does not answer is
// only suspected.
//
// Guarantees:
//
//   - There are no two views of one epoch, unless all processes that have accepted one of them die
//     before others have heard of it.
//   - When a network is cut, at most one part goes on: the part with more than half of the last
//     view, or half including its first member. In the other parts every member gets
//     [membership.ErrLost] after Config.Patience.
//   - Processes may die one after the other, down to the last one, as long as their hosts live. If
//     hosts vanish at once, the group survives the loss of less than half.
//   - A manager that is stopped and comes back later finds that it is no longer a member.
//
// Only the lowest of the answering members takes over. The guarantees do not need this, but it
// keeps two members from hindering each other. That member asks the members before it in growing
// groups, eight times as many each time, so that thousands of silent members do not outlast
// Config.Patience.
//
// # Leases
//
// Members keep a connection with the manager, on which each side writes four times in Config.TTL. A
// side that is silent for TTL is dead to the other. When a connection breaks, the manager connects
// to the member at once, and gives it up if the connection is refused. A manager that was stopped,
// or had no time, takes no member for silent before it has listened for another TTL.
package embedded
