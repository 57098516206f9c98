package infer_test

import (
	"fmt"
	"hash/crc32"
	"time"
)

// at5 and late5 are tables of 5 series with 50 events each, whose cells have the times of the events, or later ones.
func at5(name, asks, step, row string) tableCase { return form(name, asks, "5x50 "+step, row) }

func late5(name, asks, step, row string) tableCase {
	return later(name, asks, "5x50 "+step, "1s", row)
}

// moreCases are tables that were drawn after the package was written for the others.
var moreCases = []tableCase{
	at5("hours as digits, reversed", "disagree", "1h", "m<s>#<nines 2006010215>"),
	late5("minutes as digits, reversed", "[K24]", "7m", "m<s>#<nines 200601021504>"),
	at5("hours with -", "", "7m", "m<s>#<2006-01-02-15>"),
	late5("seconds padded to 12", "[K24]", "1m", "m<s>#<%012d unix>"),
	late5("milliseconds padded to 15", "[K24]", "1m", "m<s>#<%015d ms>"),
	late5("milliseconds padded to 19", "[K24]", "1m", "m<s>#<%019d ms>"),
	late5("seconds padded to 20", "[K24]", "1m", "m<s>#<%020d unix>"),
	later("days as MMDDYYYY", "[K24]", "5x50 24h", "1h", "m<s>#<01022006>"),
	later("days as DDMMYYYY", "[K24]", "5x50 24h", "1h", "m<s>#<02012006>"),
	late5("minutes as YYMMDDHHMM", "disagree", "1m", "m<s>#<0601021504>"),
	late5("seconds as YYMMDDHHMMSS", "[K24]", "1m", "m<s>#<060102150405>"),
	late5("day, series, time of day", "[K24]", "1m", "<20060102>#m<s>#<150405>"),
	late5(".NET ticks", "[K24]", "1m", "m<s>#<%d us*10+621355968000000000>"),
	later("days of spreadsheets", "[K24]", "5x50 24h", "1h", "m<s>#<%d unix/86400+25569>"),
	late5("seconds since 1900", "disagree", "1m", "m<s>#<%d unix+2208988800>"),
	late5("seconds since 2001", "[K24]", "1m", "m<s>#<%d unix-978307200>"),
	late5("milliseconds since 2020", "[K24]", "1m", "m<s>#<%012d ms-1577836800000>"),
	late5("snowflakes of 19 digits", "disagree", "1m", "m<s>#<%d ms-1288834974657*4194304+s>"),
	late5("object IDs", "[K24]", "1m", "m<s>#<%08x unix><hex16 unix/60%60+s>"),
	late5("UUIDs of version 7 without -", "[K24]", "1m", "m<s>#<%012x ms>7<hex19 unix/60%60+s>"),
	late5("UUIDs of version 7", "[K24]", "1m", "m<s>#<uuid7 unix/60%60+s>"),
	late5("hexadecimal milliseconds of 16 digits", "[K24]", "1m", "m<s>#<%016x ms>"),
	late5("hexadecimal, reversed", "[K24]", "1m", "m<s>#<%016x 9223372036854775807-ms>"),
	late5("milliseconds in capital letters of base 36", "[K24]", "1m", "m<s>#<B36 ms>"),
	late5("seconds in base 32", "[K24]", "1m", "m<s>#<B32 unix>"),
	late5("fractions after a comma", "", "1313ms", "m<s>#<20060102T150405>,<%03d ms%1000>"),
	late5("RFC 1123", "[K24]", "1m", "m<s>#<Mon, 02 Jan 2006 15:04:05 MST>"),
	late5("ISO 8601 with colons as delimiters", "[K24]", "1m", "m<s>:<2006-01-02T15:04:05>"),
	at5("year, month, day as key=value", "begin again", "1h", "tenant=t<s>/<year=2006/month=01/day=02>"),
	at5("date=value", "", "1h", "tenant=t<s>/<date=2006-01-02>"),
	keyed("weeks without W", "[K24]", "5x50 30h", func(s int, at time.Time) string {
		year, week := at.ISOWeek()
		return fmt.Sprintf("m%d#%d-%02d", s, year, week)
	}),
	at5("days of the year, apart", "[K24]", "9h", "m<s>#2026#<002>"),
	at5("days since 1970, reversed", "[K24]", "9h", "m<s>#<%05d 0-unix/86400+99999>"),
	at5("hours since 1970, hexadecimal", "[K24]", "13m", "m<s>#<%x unix/3600>"),
	at5("thousands of seconds", "[K24]", "13m", "m<s>#<%d unix/1000>"),
	at5("millions of milliseconds by a shift", "[K24]", "13m", "m<s>#<%d ms/1048576>"),
	at5("buckets of 90 minutes in milliseconds", "", "13m", "m<s>#<%d unix/5400*5400000>"),
	at5("buckets of 10 minutes, reversed", "", "3m", "m<s>#<%d 0-unix/600*600+9999999999>"),
	keyed("buckets of 2 days", "", "5x50 13h", func(s int, at time.Time) string {
		return fmt.Sprintf("m%d#%s", s, at.Truncate(48*time.Hour).Format("20060102"))
	}),
	at5("half days", "[K24]", "3h", "m<s>#<20060102><PM>"),
	at5("quarters of an hour", "[K24]", "3m", "m<s>#<2006010215>-<%d unix%3600/900>"),
	at5("local minutes, Berlin", "[K24]", "13m", "m<s>#<1h/2006-01-02T15:04>"),
	at5("local hours as digits, Berlin", "[K24]", "13m", "m<s>#<1h/2006010215>"),
	at5("a delimiter at the end", "[K24]", "9h", "m<s>#<20060102>#"),
	at5("an empty part", "", "9h", "m<s>##<20060102>"),
	at5("letters of other languages", "", "9h", "Zürich <s>#<20060102>"),
	at5("IPv6 addresses", "", "9h", "2001:db8::<s>#<20060102>"),
	at5("quad keys of 10 digits", "", "9h", "120210233<s>#<20060102>"),
	at5("article numbers of 13 digits", "", "9h", "400638133393<s>#<20060102>"),
	late5("card numbers of 16 digits", "", "9m", "378282246310005<s>#<unix>"),
	at5("article numbers without a time", "an ID or another number", "9m", "store<s>#4006381<%06d unix%10000>"),
	keyed("a hexadecimal salt", "a salt?", "5x50 9m", func(s int, at time.Time) string {
		return fmt.Sprintf("%x#m%d#%d", crc32.ChecksumIEEE([]byte{byte(s)})%16, s, at.UnixMilli())
	}),
	keyed("a salt with another delimiter", "a salt?", "5x50 9m", func(s int, at time.Time) string {
		return fmt.Sprintf("%02d-m%d#%d", crc32.ChecksumIEEE([]byte{byte(s)})%64, s, at.UnixMilli())
	}),
	at5("addresses that begin with digits", "", "9m", "0<s>-1b-44-11-3a-b<s>#<ms>"),
	at5("a salt of the time", "a salt?", "9m", "<%d unix%7>#m<s>#<ms>"),
	late5("binary: 16 bytes and reversed milliseconds", "", "1m", "<raw16 s><be8 9223372036854775807-ms>"),
	late5("binary: 2 bytes and nanoseconds", "", "1m", "\x01<%c s><be8 ns>"),
	late5("binary: 4 bytes and milliseconds in 6", "disagree", "1m", "<be4 s+256><be6 ms>"),
	late5("binary: reversed seconds before the series", "", "1m", "<be4 4294967295-unix><be4 s+256>"),
	late5("binary: milliseconds as a float64", "disagree", "1m", "m<s>#<f8 ms*4>"),
	at5("the whole key is milliseconds", "may be a time", "1m", "<ms>"),
	at5("the whole key is digits, newest first", "may be a time", "1m", "<%d 9999999999999-ms>"),
	at5("a metric, a time and tags", "", "1m", "cpu.load#<unix>#host=h<s>#dc=eu"),
	at5("times of the event and of its arrival", "Is it a time", "1m", "m<s>#<ms>#<%d ms+3127>"),
	later("timestamps of expiry", "disagree", "5x50 1m", "720h", "m<s>#<ms>"),
	{"milliseconds as microseconds in timestamps", "are not times", each("5x50 1m", func(w *written, s, i int, at time.Time) {
		w.cell(formed("m<s>#<unix>", s, i, at), "m:v", time.UnixMicro(at.UnixMilli()/1000*1000), i)
		w.event(at, i)
	})},
	{"a bulk load at one time", "disagree", each("5x50 1m", func(w *written, s, i int, at time.Time) {
		w.cell(formed("m<s>#<unix>", s, i, at), "m:v", start.AddDate(0, 1, 0), i)
		w.event(at, i)
	})},
	{name: "rows of devices and of readings", asks: "another structure", write: func(w *written) {
		for s := range 20 {
			w.cell(fmt.Sprintf("meta#dev%02d", s), "i:name", start, fmt.Sprintf("Device %d", s))
		}
		form("", "", "20x10 1m", "data#dev<%02d s>#<unix>", "m:v=<i>").write(w)
	}},
	{"a name in each row, at timestamp 0", "a bucket of events", each("5x50 13m", func(w *written, s, i int, at time.Time) {
		row := formed("m<s>#<2006-01-02>", s, i, at)
		w.one(row, "m:v", at, i)
		w.cell(row, "m:name", time.Unix(0, 0), fmt.Sprintf("N%d", s))
	})},
	{"a name in some rows of an event, at timestamp 0", "Are these cells parts of events", each("5x50 13m", func(w *written, s, i int, at time.Time) {
		row := formed("m<s>#<unix>", s, i, at)
		w.one(row, "m:v", at, i)
		if i == 7 {
			w.cell(row, "m:name", time.Unix(0, 0), fmt.Sprintf("N%d", s))
		}
	})},
	form("hours as columns", "[C08]", "5x50 1h", "m<s>#<2006-01-02>", "m:h<15>=<i>"),
	form("seconds in columns, after a metric", "[C08]", "5x50 1m", "m<s>#<2006-01-02>", "m:cpu@<unix>=<i>"),
	form("minutes of the day in columns, padded", "[C08]", "5x50 1m", "m<s>#<2006-01-02>", "m:<%04d unix/60%1440>+2s=<i>"),
	form("users in columns", "[C08]", "5x50 1m", "m<s>#<2006-01-02>", "m:user-1<%03d i>=<i>"),
	form("offsets: seconds in 4 bytes of a day", "[C08]", "5x50 41s", "m<s>#<20060102>", "m:<be4 unix%86400>=<i>"),
	form("columns are 8 bytes of milliseconds", "[C08]", "5x50 41s", "m<s>#<20060102>", "m:<be8 ms>=<i>"),
	form("columns with an empty name and others of Go", "without a name", "5x50 13m", "m<s>#<2006-01-02>",
		"m:=0", "m:type=<i>", "m:time=<%d i*2>", "m:Time=<%d i*3>",
		"m:TTL=<%d i*4>", "m:ü=<%d i*5>", "m:a b=<%d i*6>", "m:a:b=<%d i*7>", "m:a-b=<%d i*8>"),
	form("the only column has no name", "no name", "3x20 1m", "m<s>#<unix>", "m:=<i>"),
	{"weeks that look like months", "begin again", each("5x60 11h", func(w *written, s, i int, at time.Time) {
		at = at.AddDate(0, 0, -290)
		year, week := at.ISOWeek()
		w.one(fmt.Sprintf("m%d#%d-%02d", s, year, week), "m:v", at, i)
	})},
	form("postal codes that begin with one zero", "", "5x60 11h", "m<s>#<2006-01-02>", "m:zip=<%05d i+2134>"),
	form("rows of devices, and their readings", "The keys have no time", "3x20 1m", "dev<s>", "m:v=<i>"),
	textual("percentages", "", "<i>%"),
	textual("units", "", "<i>.5 C"),
	textual("thousands", "", "1,<%03d i>"),
	textual("True and False", "", "<True|False>"),
	valued("NaN among numbers", "NaN", func(i int) any { return except(i, 20, "NaN", fmt.Sprintf("%d.5", i)) }),
	valued("null among integers", "null", func(i int) any { return except(i, 50, "null", i) }),
	valued("- among decimals", `"-"`, func(i int) any { return except(i, 50, "-", fmt.Sprintf("%d.25", i)) }),
	textual("integers over 2^63", "", "184467440737095516<%02d i%15>"),
	valued("times without a zone", "", func(i int) any {
		return start.Add(time.Duration(i) * time.Hour).Format("2006-01-02 15:04:05")
	}),
	valued("dates", "", func(i int) any { return start.AddDate(0, 0, i).Format("2006-01-02") }),
	textual("CSV in a value", "", "<i>,<%d i+1>,<%d i+2>"),
	textual("JSON arrays", "", "[<i>,<%d i+1>]"),
	valued("XML", "", func(i int) any { return fmt.Sprintf("<v>%d</v>", i) }),
	textual("varints", "What do these bytes mean", "<uv i*i*7+128>"),
	valued("MessagePack", "What do these bytes mean", func(i int) any {
		return []byte{0x82, 0xa1, 'a', byte(i), 0xa1, 'b', 0xcb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0}
	}),
	valued("3-byte integers", "What do these bytes mean", func(i int) any { return []byte{0, byte(i), byte(i * 3)} }),
	form("negative binary integers", "", "4x60 13m", "s<s>#<unix>", "m:v=<be8 0-i-1>", "=<%d 0-i-1>"),
	textual("uint64 hashes", "What do these bytes mean", "<be8 0-i-1*7046029254386353131>"),
	textual("IDs in hexadecimal", "", "<%08x i+1*2654435761%4294967296>"),
	textual("IDs of digits and letters", "", "<%d i+10>e<%02d i>"),
}
