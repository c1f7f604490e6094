// Package golden holds the tests of the tree as a whole: which package may
// import what, and what the program prints for every algorithm and for bad
// input, as files to compare with. It has no code of its own and may import
// every package.
package golden
