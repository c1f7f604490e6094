// Package invented has tests only: they add a collective that no other file knows, and take it
// through everything that a schedule can go through. They have a package of their own because the
// table of collectives is the whole program's.
package invented
