// Package papers makes the figures and tables of the five papers that the
// algorithms come from (schedule.Papers): of each, what the paper's text states,
// what a closed form gives, what package sim gives, and, where the caller can run
// ranks, what these take.
//
// The pictures of the papers are not at hand, only their text is. So the papers'
// own values are those that the text states, each with its section; where the
// text gives no times, the parameters of a machine are fitted to one statement,
// and the figure says to which. All else is then a prediction.
//
// Everything is a function of its options: the same seed gives the same figure.
package papers
