// Package remote starts a program on other hosts by the user's ssh client, so that keys, agents, jump hosts and
// aliases are those of the user. A host that has not the very same program gets a copy for as long as it runs.
//
// On the host a shell of POSIX reads a script (script.sh) from its standard input, whatever the user's login shell is. The two sides talk by lines:
//
//	host  a line of its own, then "schedgen-remote 1", "system Linux", …, "end" ([Facts])
//	here  "use", or "copy BYTES gzip" and that many bytes
//	host  runs the program, which calls [Greet]
//
// From then on the standard streams are the program's. Nobody sends before the other side has spoken, so a shell that reads
// more than the line that it is at takes nothing away from the program. When the connection ends the program's standard input ends: it is to end then, too.
package remote
