package codec_test

import (
	"fmt"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// A row key is written and parsed segment by segment. The writer rejects a value that
// contains the delimiter, so every key can be parsed again.
func ExampleKeyWriter() {
	day := codec.Bucket{Every: 24 * time.Hour, Label: codec.Label{Kind: codec.TimeLabel, Format: codec.TimeFormat{Layout: "2006-01-02"}}}

	w := codec.NewKeyWriter(nil, "#")
	w.String("location", codec.KeyForm{}, "us-west2")
	w.Int("balloon_id", codec.KeyForm{}, 3698, 64)
	w.Bucket(&day, time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC))
	key, err := w.Key()
	fmt.Println(string(key), err)

	r := codec.NewKeyReader(string(key), "#")
	fmt.Println(r.String("location", codec.KeyForm{}), r.Int("balloon_id", codec.KeyForm{}, 64), r.Bucket(&day).Format(time.DateOnly), r.Close())

	w = codec.NewKeyWriter(nil, "#")
	w.String("location", codec.KeyForm{}, "us#west2")
	_, err = w.Key()
	fmt.Println(err)
	// Output:
	// us-west2#3698#2021-03-05 <nil>
	// us-west2 3698 2021-03-05 <nil>
	// location "us#west2": key segment contains the delimiter
}
