// Package meet lets the ranks of a job meet. Rank 0, the coordinator, learns that all others have
// come. Then all ranks learn each other's addresses, each other's blobs, and the communicator's
// identity, which rank 0 draws. Transports call [Meet].
//
// Everything by which processes find each other is in this package and those below it:
//
//   - A process gets its rank from a launcher (package launch), or is a guest of a lobby, where a
//     host gives out ranks (package lobby).
//   - Rank 0 listens at its door. It is the host of all others (host.go, door.go), and makes the
//     table of all.
//   - Every other rank comes to rank 0, as a guest (guest.go).
//   - If a rank does not come, rank 0 says which one, and all ranks get this error (absent.go).
//
// # A star
//
// All ranks come to rank 0, which needs a descriptor and some 30 KB of memory for each. When all
// have come, rank 0 sends all the table. Each rank prepares itself and says so, and rank 0 says
// that all are prepared. With P ranks, rank 0 sends P tables of P entries: 300 MB for 2,000 ranks,
// which takes a link of 1 Gbit/s some three seconds.
//
// # Strangers
//
// A rank says hello with its job, number, number of ranks, transport and version. A connection that
// speaks nonsense, belongs to another job or speaks another version is turned away and counted, and
// the others go on. A connection has five seconds for its hello. If too many connections have not
// said theirs, the oldest makes room. A rank with another number of ranks, or another transport,
// fails the meeting at every rank. With a key, both sides prove it first, and everything that
// follows is sealed (package contact).
//
// # Ranks that are started again
//
// Until all ranks have come, a process may die and be started again, also on another host, and also
// rank 0. Rank 0 notices the end of the connection and forgets the rank until it comes again. If a
// rank comes while its earlier process is connected, the earlier process is asked whether it lives.
// If it answers, two processes have one rank, and the meeting fails at every rank with both
// addresses. If it does not answer within five seconds, it is replaced.
//
// From when all have come until all are prepared, a death fails the meeting at every rank.
//
// # Faults
//
// A rank may be unable to take part: it cannot open what its transport needs ([Config.Fault]),
// cannot listen, cannot connect or cannot prepare itself. It tells rank 0, and so all ranks return
// an error that names it and its reason. Ranks that prepare themselves stop. A rank that fails
// before it has met the others says the reason in its hello. Rank 0 tells the others, until none
// has come for two seconds. A door that is out of descriptors lets ranks in again when others have
// gone, to tell them. A rank without the key says its fault without a proof, so rank 0 warns of it
// and goes on waiting.
//
// Everything of a transport that can fail is done when all ranks say that they are prepared. What
// fails later is told by the communicator (package runtime).
//
// # Time
//
// A rank whose time is over says so to rank 0. Rank 0 then tells all ranks that are there which
// ranks have not come, and which have gone and not come again. A rank that cannot reach rank 0 tries
// again until its time is over. It gives up at once for a reason of its own host, such as a loopback
// interface that is down.
package meet
