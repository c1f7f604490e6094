// Package golden holds the tests of the tree as a whole. They check which package may import which,
// and compare the output of the program for every algorithm and for bad input with files. The
// package has no code of its own and may import every package.
package golden
