package lint

import (
	"strings"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/words"
)

// Formats of numbers in findings.
var rate, size = words.Rate, words.Size

// basis formats the rate that an estimate is based on.
func basis(load layout.Load) string {
	if load.AssumedRate {
		return rate(load.Rate) + ", assumed"
	}
	return rate(load.Rate)
}

// writes formats the rate of events of all series together.
func writes(load layout.Load) string {
	text := rate(load.Rate * float64(load.Series))
	var assumed []string
	if load.AssumedSeries {
		assumed = append(assumed, words.Number(float64(load.Series))+" series")
	}
	if load.AssumedRate {
		assumed = append(assumed, rate(load.Rate)+" each")
	}
	if assumed != nil {
		text += " (assumed: " + strings.Join(assumed, ", ") + ")"
	}
	return text
}
