// Package presence says which ranks of a communicator are there. Its parts are state machines
// without a clock and without a network: a core tells them the time and what it hears, and acts on
// their findings.
//
//   - [Roster] holds the ranks that have left, are lost, or may be lost.
//   - [Watch] finds ranks that give no sign of life.
//   - [Latecomers] holds the ranks that have not entered an operation that others are inside.
//   - [Near] and [Farther] say which ranks tell each other when they leave.
package presence
