package codec_test

import (
	"fmt"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// A salted key with an escaped name, newest first.
func ExampleKeyWriter_BeginSalt() {
	w := codec.NewKeyWriter(nil, "#")
	w.BeginSalt(16)
	w.String("metric", codec.KeyForm{Escape: true}, "load #1")
	w.EndSalt()
	w.String("metric", codec.KeyForm{Escape: true}, "load #1")
	w.Time(codec.TimeFormat{Kind: codec.UnixMillis, Reverse: true}, time.Date(2021, 3, 5, 12, 3, 0, 0, time.UTC))
	key, err := w.Key()
	fmt.Println(string(key), err)

	r := codec.NewKeyReader(string(key), "#")
	salt := r.Salt(16)
	metric := r.String("metric", codec.KeyForm{Escape: true})
	at := r.Time(codec.TimeFormat{Kind: codec.UnixMillis, Reverse: true})
	fmt.Println(salt, metric, at, r.Close())
	// Output:
	// 11#load$20$231#8385054219999 <nil>
	// 11 load #1 2021-03-05 12:03:00 +0000 UTC <nil>
}

// The weeks of one balloon, newest first. The week precedes the balloon in the key, so
// the keys are not one range.
func ExampleSpan_Buckets() {
	label, _ := codec.ParseLabel("week%04d")
	b := codec.Bucket{
		Every:  7 * 24 * time.Hour,
		Origin: time.Date(2021, 3, 1, 0, 0, 0, 0, time.UTC),
		Label:  label,
	}
	s := codec.Span{Prefix: "us-west2#", Delimiter: "#", Suffix: "3698", Whole: true, Newest: true}
	from := time.Date(2021, 4, 20, 0, 0, 0, 0, time.UTC)
	for rows := range s.Buckets(b, from, from.AddDate(0, 0, 14)) {
		fmt.Println(rows.Keys, rows.Reverse)
	}
	// Output:
	// [us-west2#week0008#3698 us-west2#week0009#3698 us-west2#week0010#3698] true
}
