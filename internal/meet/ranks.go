package meet

import (
	"strconv"
	"strings"
)

// RankList lists ranks, which must ascend, as in "ranks 1, 3-5 and 9"; of many runs it names the
// first few.
func RankList(ranks []int) string {
	runs := rankRuns(ranks)
	const most = 8
	if more := len(runs) - most; more > 0 {
		runs = append(runs[:most], strconv.Itoa(more)+" further runs of ranks")
	}
	word := "ranks "
	if len(ranks) == 1 {
		word = "rank "
	}
	if len(runs) < 2 {
		return word + strings.Join(runs, "")
	}
	last := len(runs) - 1
	return word + strings.Join(runs[:last], ", ") + " and " + runs[last]
}

// notCome says that ranks are missing.
func notCome(ranks []int) string {
	if len(ranks) == 1 {
		return RankList(ranks) + " has not come"
	}
	return RankList(ranks) + " have not come"
}

func rankRuns(ranks []int) (runs []string) {
	for i := 0; i < len(ranks); {
		j := i + 1
		for j < len(ranks) && ranks[j] == ranks[j-1]+1 {
			j++
		}
		run := strconv.Itoa(ranks[i])
		if j-i > 1 {
			run += "-" + strconv.Itoa(ranks[j-1])
		}
		runs = append(runs, run)
		i = j
	}
	return runs
}
