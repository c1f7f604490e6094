// Package group is broadcasting among processes that come and go (paper 002, section
// 3.3).
//
// A manager (package runtime/membership) hands out views: the members in the order of
// their ranks, and an epoch. For each view the members meet and make a communicator, on a transport
// of its own. So every frame belongs to one epoch by its connection and carries it in its
// header; what comes from elsewhere is turned away and counted ([Group.Stats]).
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
// Publish and Next go on across views without the program's noticing. What is promised is
// virtual synchrony (Birman and Joseph, 1987), with the order of each origin:
//
//   - The messages of an origin come in its order, each once.
//   - All members that go from one view to the next have received the same messages before
//     the next one begins. A message that one of them has received they all
//     have, also if its origin has died.
//   - A message is received as one of the epoch that it was published in ([Message.Epoch]). Who joins
//     receives nothing older than the first view that begins for it ([Group.View]).
//   - What a member has published is received by all that stay, if it stays too or
//     takes leave. Of one that dies, or is expelled, the end may be received by nobody.
//
// # How a view is changed
//
// A member that hears of a newer view publishes no more in the old one but an end mark.
// Since the messages of an origin come in order, who has the marks of all that stay or
// leave has all their messages. Until then everything goes on in the old view's
// communicator, down its own trees. Then the members of the new view meet. In its communicator each says how
// many messages it has of every origin, and those that lack some get them from one that has
// them: after deaths that is what tells the survivors apart, else there are none. Every member keeps copies of
// those that may not have come everywhere: as many of each origin as its window lets be under way. When
// all have passed a barrier, nobody lacks anything: then the copies are dropped, the old communicator
// is closed, and publishing goes on.
//
// No member waits in this for one that is dead: a death fails the communicator, or the
// manager finds it, and both lead to another view. Nor for one that is hung while its system
// lives, beyond Config.Grace. Who leaves and takes longer than Grace over its end
// mark counts as dead.
//
// # Collective operations
//
// These need a point that all members agree upon. [Group.Advance] is that point: a collective
// call of the members that returns the communicator for the operations up to the next call, the
// same as before if there is no newer view. Otherwise each member says in the newest view that it is
// ready; when all are, this view's communicator is what is returned. Since these words are
// messages, all members that stay receive the same of them before the next view, and so
// decide alike. The communicator before is closed then, and not sooner: members that come disturb no
// operation that is under way. They wait in their first Advance for the others' next.
//
// A death fails the program's communicator, as always. Everybody's next Advance gives another one,
// of the survivors.
//
// # Bounds
//
// A member that never takes its messages holds everybody up, as with
// [runtime.Comm.Publish]: publishers, and, if views change meanwhile, the change after the next.
package group
