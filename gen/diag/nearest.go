package diag

import "strings"

// Limits of the search, for hostile files with long names or very many of them.
const (
	maxNearestRunes = 64
	maxNearestNames = 500
)

// Nearest returns the one of names that name is most likely a misspelling of, and whether
// any is near enough to suggest. It ignores case. Of equally near names, it returns the
// first.
func Nearest(name string, names []string) (string, bool) {
	a := []rune(strings.ToLower(name))
	if len(a) == 0 || len(a) > maxNearestRunes {
		return "", false
	}
	best, bestDistance := "", -1
	for _, candidate := range names[:min(len(names), maxNearestNames)] {
		b := []rune(strings.ToLower(candidate))
		limit := min(3, max(len(a), len(b))/3)
		if len(b) > maxNearestRunes || len(a)-len(b) > limit || len(b)-len(a) > limit {
			continue
		}
		if d := distance(a, b); d <= limit && (bestDistance < 0 || d < bestDistance) {
			best, bestDistance = candidate, d
		}
	}
	return best, bestDistance >= 0
}

// distance returns the optimal string alignment distance: how many runes to insert, delete,
// replace or swap with a neighbor to turn a into b.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
