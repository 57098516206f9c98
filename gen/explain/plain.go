package explain

import (
	"strings"

	"github.com/btgen-dev/btgen/gen/words"
)

// oneLine puts a text of the schema on a line. What cannot be shown, or would
// steer a terminal, is written as Go does.
func oneLine(text string) string {
	return words.Printable(strings.Join(strings.Fields(text), " "))
}
