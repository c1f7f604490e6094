// Package loggp says how long a schedule takes in the LogGP model of Alexandrov,
// Ionescu, Schauser and Scheiman (1995): every rank enters at time 0, and nothing is
// lost. It is package sim with whole schedules and four whole numbers, or eight, for those who
// compare schedules; the model is described there. Repairs and what waits for them
// do not run.
package loggp
