// Package network describes networks for which schedules are made: ranks, switches, and the links
// between them with their rates. It reads and writes their text form, makes common networks, and
// says which route a message takes. The packages below it read networks in forms of other programs.
//
//	network two-sites
//	rank s0h0 s0h1 s1h0 s1h1          # rank 0, 1, 2, 3: in this order
//	switch s0 s1
//	link s0h0 s0 100Mbit              # both directions
//	link s0h1 s0 100Mbit
//	link s1h0 s1 100Mbit
//	link s1h1 s1 100Mbit
//	link s0 s1 10Mbit delay=5ms
//
// Package synth makes schedules for a network, and package sim runs schedules on it.
package network
