// Package group provides broadcasts among processes that come and go (paper 002, section 3.3).
//
// A manager (package runtime/membership) hands out views: the members in the order of their ranks,
// and an epoch. For each view the members meet and make a communicator, on its own transport. So
// every frame belongs to one epoch by its connection, and carries the epoch in its header. Frames
// from elsewhere are turned away and counted ([Group.Stats]).
//
//	g, err := group.Join(ctx, group.Config{
//		Name: "prices", Address: "node3:7100", Manager: manager,
//		Connect: func(ctx context.Context, m group.Meeting) (wire.Transport, error) {
//			return tcp.Join(ctx, tcp.Config{Rank: m.Rank, Size: m.Size, Job: m.Job, Coordinator: m.Coordinator, Listener: m.Listener})
//		},
//	})
//	err = g.Publish(ctx, msg)
//	msg, err := g.Next(ctx)
//
// # Messages
//
// Publish and Next go on across views, and the program does not notice. The group guarantees
// virtual synchrony (Birman and Joseph, 1987), with the order of each origin:
//
//   - The messages of an origin arrive in its order, each once.
//   - All members that go from one view to the next have received the same messages before the next
//     view begins. If one of them has received a message, all have received it, even if its origin
//     has died.
//   - A message belongs to the epoch in which it was published ([Message.Epoch]). A new member
//     receives nothing older than the first view that begins for it ([Group.View]).
//   - All members that stay receive everything that a member has published, if that member stays
//     too or calls Leave. If it dies, or is expelled, its last messages may reach no member.
//
// # How a view is changed
//
// A member that hears of a newer view publishes no more messages in the old one, only an end mark.
// Messages of an origin arrive in order, so a member with the marks of all members that stay or
// leave has all their messages. Until then everything goes on in the old view's communicator, down
// its own trees. Then the members of the new view meet. In its communicator each member says how
// many messages it has of every origin. Members that lack some get them from a member that has
// them. Members can lack messages only after deaths. For this, every member keeps copies of
// messages that may not have arrived everywhere: of each origin, as many as its window allows under
// way. When all members have passed a barrier, no member lacks a message: the copies are dropped,
// the old communicator is closed, and publishing goes on.
//
// No member waits for a dead member in this: a death fails the communicator, or the manager finds
// it, and both lead to another view. No member waits longer than Config.Grace for a process that
// hangs while its system lives. A leaving member that takes longer than Grace for its end mark
// counts as dead.
//
// # Collective operations
//
// Collective operations need a point on which all members agree. [Group.Advance] is that point: a
// collective call of the members that returns the communicator for the operations up to the next
// call, the same as before if there is no newer view. Otherwise each member says in the newest view
// that it is ready. When all are ready, Advance returns this view's communicator. These
// announcements are messages, so all members that stay receive the same announcements before the
// next view, and decide alike. The old communicator is closed only then, so new members disturb no
// running operation. They wait in their first Advance for the others' next call.
//
// A death fails the program's communicator, as always. The next Advance of all members gives
// another communicator, of the survivors. Config.Comm.Quorum says how few may go on.
//
// # Limits
//
// A member that never takes its messages blocks all members, as with [runtime.Comm.Publish]:
// publishers first, and, if views change meanwhile, the change after the next.
package group
