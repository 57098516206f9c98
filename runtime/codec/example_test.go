package codec_test

import (
	"fmt"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// A value that contains the delimiter is rejected, so every key can be parsed again.
func ExampleKey() {
	day := codec.Bucket{Every: 24 * time.Hour, Label: codec.Label{Kind: codec.TimeLabel, Format: codec.TimeFormat{Layout: "2006-01-02"}}}

	k := codec.Key{Delimiter: "#", Bucket: day, Segments: []codec.Segment{
		{Name: "location"}, {Name: "balloon_id", Type: codec.Int64Segment, Series: 1}, {Kind: codec.BucketSegment},
	}}
	location, id, at := "us-west2", int64(3698), time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC)
	v := codec.KeyValues{Series: []any{&location, &id}, At: &at}
	key, err := k.Append(nil, &v)
	fmt.Println(string(key), err)

	err = k.Parse("us-west1#3698#2021-03-05", &v)
	fmt.Println(location, id, at.Format(time.DateOnly), err)

	location = "us#west2"
	_, err = k.Append(nil, &v)
	fmt.Println(err)
	// Output:
	// us-west2#3698#2021-03-05 <nil>
	// us-west1 3698 2021-03-05 <nil>
	// location "us#west2": key segment contains the delimiter
}
