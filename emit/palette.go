package emit

// look says how coloured pictures draw one kind of thing. Kinds differ in more than colour: also in
// width, dashes and heads.
type look struct {
	id    string  // short, usable as a CSS class: "mcast"
	name  string  // in a legend: "multicast, may be lost"
	many  string  // the name if a message has several slots; empty: the same
	light string  // colour on a light background, #rrggbb
	dark  string  // colour on a dark background
	width float64 // of the stroke, in pixels
	dash  string  // as SVG's stroke-dasharray; empty: solid
	dot   string  // as Graphviz's style; empty: a thin solid line
	open  bool    // the arrow's head is a chevron, not a filled triangle
}

// looks are the looks of transfers, by class. The colours remain distinct under common colour
// blindnesses and have a contrast of at least 4.5 with their background.
var looks = [...]look{
	mcast:     {id: "mcast", name: "multicast, may be lost", light: "#b84300", dark: "#ff9d5c", width: 2.6, dot: "bold"},
	putChunk:  {id: "put", name: "put of a chunk", many: "put of chunks", light: "#0062a8", dark: "#6cb8ff", width: 1.6},
	putSignal: {id: "signal", name: "put of a signal", light: "#007058", dark: "#4fd3ae", width: 1.4, dash: "6 3", dot: "dashed", open: true},
	repair:    {id: "repair", name: "repair, after time-outs", light: "#8a4a86", dark: "#d79bd3", width: 1.6, dash: "1.5 3.5", dot: "dotted", open: true},
	request:   {id: "request", name: "request for what was lost", light: "#7a5c00", dark: "#e0bd4a", width: 1.3, dash: "8 2.5 1.5 2.5", dot: "dashed", open: true},
	answer:    {id: "answer", name: "answer to a request", light: "#a3285f", dark: "#ff8fb8", width: 1.6, dash: "4 2", dot: "dashed"},
}

// The looks of everything except transfers.
var (
	paper = look{id: "paper", light: "#ffffff", dark: "#0f141a"}
	ink   = look{id: "ink", light: "#1c2128", dark: "#e6eaef"}
	faint = look{id: "faint", light: "#59636e", dark: "#9aa4af"} // notes, waiting
	hair  = look{id: "hair", light: "#d4d9df", dark: "#333b45"}  // grids
	lane  = look{id: "lane", light: "#a3adb8", dark: "#626d79"}  // a rank at work, behind its arrows
	alarm = look{id: "alarm", light: "#b3122a", dark: "#ff8b94"} // what never happens
)
