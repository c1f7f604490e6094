// Package remote starts a program on other hosts by the user's ssh client, so that it uses the
// user's keys, agents, jump hosts and aliases. A host that does not have the program gets a copy,
// from here or from another host. The copy is removed when the program starts, or installed.
//
// On the host a POSIX shell reads a script (script.sh) from its standard input, whatever the user's
// login shell is. The two sides talk by lines:
//
//	host  an empty line, then "schedgen-remote 2", "system Linux", …, "end" ([Facts])
//	here  "use NAME", or "copy NAME KIB BYTES gzip" and that many bytes,
//	      or "fetch NAME KIB BYTES SHA256 SECONDS ADDRESS PORT"
//	host  "ready", or "not there" if it could not fetch; then here says something else
//	here  "run leave", or "run keep" to install the copy
//	host  runs the program, which calls [Greet]
//
// From then on, the standard streams belong to the program. No side sends before the other side has
// answered, so a shell that reads ahead takes nothing away from the program. When the connection
// ends, the program's standard input ends, and the program must end, too.
//
// A host that has its copy may pass it on to hosts that fetch it ([ServeCopies]). These compare its
// SHA-256 with the one that came by ssh.
package remote
