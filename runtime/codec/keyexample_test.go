package codec_test

import (
	"fmt"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// A salted key with an escaped name, newest first.
func ExampleKey_Verify() {
	k := codec.Key{Delimiter: "#", Time: codec.TimeFormat{Kind: codec.UnixMillis, Reverse: true}, Segments: []codec.Segment{
		{Kind: codec.SaltSegment, Buckets: 16, Salted: []int{0}},
		{Name: "metric", Form: codec.KeyForm{Escape: true}},
		{Kind: codec.TimeSegment},
	}}
	metric, at := "load #1", time.Date(2021, 3, 5, 12, 3, 0, 0, time.UTC)
	v := codec.KeyValues{Series: []any{&metric}, At: &at}
	key, err := k.Append(nil, &v)
	fmt.Println(string(key), err)

	err = k.Verify(string(key), &v)
	fmt.Println(v.Salt, metric, at, err)
	fmt.Println(k.Verify("12#load$20$231#8385054219999", &v))
	// Output:
	// 11#load$20$231#8385054219999 <nil>
	// 11 load #1 2021-03-05 12:03:00 +0000 UTC <nil>
	// salt "12": row key does not have the form of the table's keys: want 11, the salt of the key's values: the row may have been written with another salt or none
}

// The weeks of one balloon, newest first. The week precedes the balloon in the key, so
// the keys are not one range.
func ExampleSpan_Buckets() {
	b := codec.Bucket{
		Every:  7 * 24 * time.Hour,
		Origin: time.Date(2021, 3, 1, 0, 0, 0, 0, time.UTC),
		Label:  codec.Label{Kind: codec.NumberLabel, Prefix: "week", Pad: 4},
	}
	s := codec.Span{Prefix: "us-west2#", Delimiter: "#", Suffix: "3698", Whole: true, Newest: true}
	from := time.Date(2021, 4, 20, 0, 0, 0, 0, time.UTC)
	for rows := range s.Buckets(b, from, from.AddDate(0, 0, 14)) {
		fmt.Println(rows.Keys, rows.Reverse)
	}
	// Output:
	// [us-west2#week0008#3698 us-west2#week0009#3698 us-west2#week0010#3698] true
}
