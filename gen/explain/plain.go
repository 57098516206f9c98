package explain

import (
	"strings"

	"github.com/btgen-dev/btgen/gen/words"
)

// oneLine returns a text of the schema as one line. Characters that are not printable or
// would control a terminal are escaped as in Go.
func oneLine(text string) string {
	return words.Printable(strings.Join(strings.Fields(text), " "))
}
