// Package papers makes the figures and tables of the five papers from which the algorithms come
// (schedule.Papers). A figure has what the paper's text states, what a closed form gives, what
// package sim gives, and, if the caller can run ranks, what these take.
//
// Only the text of the papers is available, not their pictures. So the papers' own values come from
// the text, each with its section. If the text gives no times, the parameters of a machine are
// fitted to one statement, and the figure names it. Everything else is then a prediction.
//
// Everything is a function of the options: the same seed gives the same figure.
package papers
