package fit

import "math"

// Piece is a line for some neighbouring points. From is the index of the first, and To is one past
// the last.
type Piece struct {
	From, To int
	Line     Line
	Fits     bool    // at every point the line is within the confidence interval and Tolerance
	Worst    float64 // the largest deviation, as a part of a point's value

	squares float64 // the weighted residuals
}

// Bounds of pieces.
const (
	minPoints = 3 // of a piece: a line always fits two points
	maxPieces = 4
)

// Pieces returns the smallest number of lines that do not fall and fit the points, which are in
// ascending order of X. Among equal numbers of lines it chooses the lines with the least squares.
// If four lines do not fit, it returns one piece whose Fits is false.
func Pieces(points []Point) []Piece {
	whole := newPiece(points, 0, len(points))
	if whole.Fits {
		return []Piece{whole}
	}
	// best[n] holds pieces that fit the points before n; nil: there are none.
	best := make([][]Piece, len(points)+1)
	best[0] = []Piece{}
	for range maxPieces {
		next := make([][]Piece, len(points)+1)
		for to := minPoints; to <= len(points); to++ {
			next[to] = extend(points, best, to)
		}
		if best = next; best[len(points)] != nil {
			return best[len(points)]
		}
	}
	return []Piece{whole}
}

// extend returns pieces that fit the points before to, with one piece more than best.
func extend(points []Point, best [][]Piece, to int) (all []Piece) {
	least := math.Inf(1)
	for from := 0; from+minPoints <= to; from++ {
		if best[from] == nil {
			continue
		}
		p := newPiece(points, from, to)
		sum := p.squares
		for i := range best[from] {
			sum += best[from][i].squares
		}
		if p.Fits && sum < least {
			least, all = sum, append(best[from][:len(best[from]):len(best[from])], p)
		}
	}
	return all
}

func newPiece(points []Point, from, to int) Piece {
	p := Piece{From: from, To: to, Line: Rising(points[from:to]), Fits: true}
	for i := from; i < to; i++ {
		at := &points[i]
		off := math.Abs(at.Y.Value - p.Line.At(at.X))
		p.squares += at.weight() * off * off
		p.Fits = p.Fits && off <= at.slack()
		if at.Y.Value != 0 {
			p.Worst = max(p.Worst, off/math.Abs(at.Y.Value))
		}
	}
	return p
}
