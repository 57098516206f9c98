package explain

import (
	"bytes"
	"encoding/json"

	"github.com/btgen-dev/btgen/gen/words"
)

// JSON renders a document as indented JSON.
func JSON(doc Document) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(doc); err != nil {
		return nil, err
	}
	return words.LogJSON(b.Bytes()), nil
}
