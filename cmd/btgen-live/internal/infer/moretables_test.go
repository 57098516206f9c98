package infer_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"strings"
	"time"
)

// keyed is a table of a value per event, in rows whose keys are those of a function. Cells have the
// times of events, or with late those of writes.
func keyed(name, asks string, late, step time.Duration, key func(s int, at time.Time) string) tableCase {
	if late > 0 {
		return tableCase{name: name, asks: asks, write: later(5, 50, step, late, key)}
	}
	return tableCase{name: name, asks: asks, write: temps(5, 50, step, key)}
}

// textual is a table in which the value of an event is a text.
func textual(name, asks string, value func(i int) any) tableCase {
	return tableCase{name: name, asks: asks, write: valued(value)}
}

// nines returns a time in a layout of digits, subtracted from nines.
func nines(at time.Time, layout string) string {
	b := []byte(at.Format(layout))
	for i := range b {
		b[i] = '0' + '9' - b[i]
	}
	return string(b)
}

// inBase returns a number in a base, in capital letters.
func inBase(n int64, base int) string { return strings.ToUpper(strconv.FormatInt(n, base)) }

var berlin = time.FixedZone("", 3600)

// moreCases are tables that were drawn after the package was written for the others.
var moreCases = []tableCase{
	keyed("hours as digits, reversed", "disagree", 0, time.Hour, func(s int, at time.Time) string { return fmt.Sprintf("m%d#%s", s, nines(at, "2006010215")) }),
	keyed("minutes as digits, reversed", "[K24]", time.Second, 7*time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("m%d#%s", s, nines(at, "200601021504")) }),
	keyed("hours with -", "", 0, 7*time.Minute, keyOf("m%d#{2006-01-02-15}")),
	keyed("seconds padded to 12", "[K24]", time.Second, time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("m%d#%012d", s, at.Unix()) }),
	keyed("milliseconds padded to 15", "[K24]", time.Second, time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("m%d#%015d", s, at.UnixMilli()) }),
	keyed("milliseconds padded to 19", "[K24]", time.Second, time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("m%d#%019d", s, at.UnixMilli()) }),
	keyed("seconds padded to 20", "[K24]", time.Second, time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("m%d#%020d", s, at.Unix()) }),
	keyed("days as MMDDYYYY", "[K24]", time.Hour, 24*time.Hour, keyOf("m%d#{01022006}")),
	keyed("days as DDMMYYYY", "[K24]", time.Hour, 24*time.Hour, keyOf("m%d#{02012006}")),
	keyed("minutes as YYMMDDHHMM", "disagree", time.Second, time.Minute, keyOf("m%d#{0601021504}")),
	keyed("seconds as YYMMDDHHMMSS", "[K24]", time.Second, time.Minute, keyOf("m%d#{060102150405}")),
	keyed("day, series, time of day", "[K24]", time.Second, time.Minute, keyOf("{20060102}#m%d#{150405}")),
	keyed(".NET ticks", "[K24]", time.Second, time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("m%d#%d", s, at.UnixMicro()*10+621355968000000000)
	}),
	keyed("days of spreadsheets", "[K24]", time.Hour, 24*time.Hour, func(s int, at time.Time) string { return fmt.Sprintf("m%d#%d", s, at.Unix()/86400+25569) }),
	keyed("seconds since 1900", "disagree", time.Second, time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("m%d#%d", s, at.Unix()+2208988800) }),
	keyed("seconds since 2001", "[K24]", time.Second, time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("m%d#%d", s, at.Unix()-978307200) }),
	keyed("milliseconds since 2020", "[K24]", time.Second, time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("m%d#%012d", s, at.UnixMilli()-1577836800000) }),
	keyed("snowflakes of 19 digits", "disagree", time.Second, time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("m%d#%d", s, (at.UnixMilli()-1288834974657)<<22|int64(s))
	}),
	keyed("object IDs", "[K24]", time.Second, time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("m%d#%08x%s", s, at.Unix(), strings.ReplaceAll(uuidOf(s+at.Minute()), "-", "")[:16])
	}),
	keyed("UUIDs of version 7 without -", "[K24]", time.Second, time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("m%d#%012x7%s", s, at.UnixMilli(), strings.ReplaceAll(uuidOf(s+at.Minute()), "-", "")[13:])
	}),
	keyed("UUIDs of version 7", "[K24]", time.Second, time.Minute, func(s int, at time.Time) string {
		h := fmt.Sprintf("%012x", at.UnixMilli())
		return fmt.Sprintf("m%d#%s-%s-7%s", s, h[:8], h[8:], uuidOf(s + at.Minute())[15:])
	}),
	keyed("hexadecimal milliseconds of 16 digits", "[K24]", time.Second, time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("m%d#%016x", s, at.UnixMilli()) }),
	keyed("hexadecimal, reversed", "[K24]", time.Second, time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("m%d#%016x", s, math.MaxInt64-at.UnixMilli()) }),
	keyed("milliseconds in capital letters of base 36", "[K24]", time.Second, time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("m%d#%s", s, inBase(at.UnixMilli(), 36)) }),
	keyed("seconds in base 32", "[K24]", time.Second, time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("m%d#%s", s, inBase(at.Unix(), 32)) }),
	keyed("fractions after a comma", "", time.Second, 1313*time.Millisecond, func(s int, at time.Time) string {
		return fmt.Sprintf("m%d#%s", s, strings.Replace(at.Format("20060102T150405.000"), ".", ",", 1))
	}),
	keyed("RFC 1123", "[K24]", time.Second, time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("m%d#%s", s, at.Format(time.RFC1123)) }),
	keyed("ISO 8601 with colons as delimiters", "[K24]", time.Second, time.Minute, keyOf("m%d:{2006-01-02T15:04:05}")),
	keyed("year, month, day as key=value", "begin again", 0, time.Hour, keyOf("tenant=t%d/{year=2006/month=01/day=02}")),
	keyed("date=value", "", 0, time.Hour, keyOf("tenant=t%d/{date=2006-01-02}")),
	keyed("weeks without W", "[K24]", 0, 30*time.Hour, func(s int, at time.Time) string {
		year, week := at.ISOWeek()
		return fmt.Sprintf("m%d#%d-%02d", s, year, week)
	}),
	keyed("days of the year, apart", "[K24]", 0, 9*time.Hour, func(s int, at time.Time) string { return fmt.Sprintf("m%d#2026#%03d", s, at.YearDay()) }),
	keyed("days since 1970, reversed", "[K24]", 0, 9*time.Hour, func(s int, at time.Time) string { return fmt.Sprintf("m%d#%05d", s, 99999-at.Unix()/86400) }),
	keyed("hours since 1970, hexadecimal", "[K24]", 0, 13*time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("m%d#%x", s, at.Unix()/3600) }),
	keyed("thousands of seconds", "[K24]", 0, 13*time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("m%d#%d", s, at.Unix()/1000) }),
	keyed("millions of milliseconds by a shift", "[K24]", 0, 13*time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("m%d#%d", s, at.UnixMilli()>>20) }),
	keyed("buckets of 90 minutes in milliseconds", "", 0, 13*time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("m%d#%d", s, at.Truncate(90*time.Minute).UnixMilli())
	}),
	keyed("buckets of 10 minutes, reversed", "", 0, 3*time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("m%d#%d", s, 9999999999-at.Truncate(10*time.Minute).Unix())
	}),
	keyed("buckets of 2 days", "", 0, 13*time.Hour, func(s int, at time.Time) string {
		return fmt.Sprintf("m%d#%s", s, at.Truncate(48*time.Hour).Format("20060102"))
	}),
	keyed("half days", "[K24]", 0, 3*time.Hour, keyOf("m%d#{20060102}{PM}")),
	keyed("quarters of an hour", "[K24]", 0, 3*time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("m%d#%s-%d", s, at.Format("2006010215"), at.Minute()/15)
	}),
	keyed("local minutes, Berlin", "[K24]", 0, 13*time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("m%d#%s", s, at.In(berlin).Format("2006-01-02T15:04"))
	}),
	keyed("local hours as digits, Berlin", "[K24]", 0, 13*time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("m%d#%s", s, at.In(berlin).Format("2006010215")) }),
	keyed("a delimiter at the end", "[K24]", 0, 9*time.Hour, keyOf("m%d#{20060102}#")),
	keyed("an empty part", "", 0, 9*time.Hour, keyOf("m%d##{20060102}")),
	keyed("letters of other languages", "", 0, 9*time.Hour, keyOf("Zürich %d#{20060102}")),
	keyed("IPv6 addresses", "", 0, 9*time.Hour, keyOf("2001:db8::%d#{20060102}")),
	keyed("quad keys of 10 digits", "", 0, 9*time.Hour, keyOf("120210233%d#{20060102}")),
	keyed("article numbers of 13 digits", "", 0, 9*time.Hour, keyOf("400638133393%d#{20060102}")),
	keyed("card numbers of 16 digits", "", time.Second, 9*time.Minute, keyOf("378282246310005%d#{unix}")),
	keyed("article numbers without a time", "an ID or another number", 0, 9*time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("store%d#4006381%06d", s, at.Unix()%10000) }),
	keyed("a hexadecimal salt", "a salt?", 0, 9*time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("%x#m%d#%d", crc32.ChecksumIEEE([]byte{byte(s)})%16, s, at.UnixMilli())
	}),
	keyed("a salt with another delimiter", "a salt?", 0, 9*time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("%02d-m%d#%d", crc32.ChecksumIEEE([]byte{byte(s)})%64, s, at.UnixMilli())
	}),
	keyed("addresses that begin with digits", "", 0, 9*time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("0%d-1b-44-11-3a-b%d#%d", s, s, at.UnixMilli())
	}),
	keyed("a salt of the time", "a salt?", 0, 9*time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("%d#m%d#%d", at.Unix()%7, s, at.UnixMilli())
	}),
	keyed("binary: 16 bytes and reversed milliseconds", "", time.Second, time.Minute, func(s int, at time.Time) string {
		b, _ := hex.DecodeString(strings.ReplaceAll(uuidOf(s), "-", ""))
		return string(b) + string(be8(math.MaxInt64-at.UnixMilli()))
	}),
	keyed("binary: 2 bytes and nanoseconds", "", time.Second, time.Minute, func(s int, at time.Time) string { return string([]byte{1, byte(s)}) + string(be8(at.UnixNano())) }),
	keyed("binary: 4 bytes and milliseconds in 6", "disagree", time.Second, time.Minute, func(s int, at time.Time) string {
		return string([]byte{0, 0, 1, byte(s)}) + string(be8(at.UnixMilli())[2:])
	}),
	keyed("binary: reversed seconds before the series", "", time.Second, time.Minute, func(s int, at time.Time) string {
		return string(binary.BigEndian.AppendUint32(nil, math.MaxUint32-uint32(at.Unix()))) + string([]byte{0, 0, 1, byte(s)})
	}),
	keyed("binary: milliseconds as a float64", "disagree", time.Second, time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("m%d#", s) + string(be8(int64(math.Float64bits(float64(at.UnixMilli())))))
	}),
	keyed("the whole key is milliseconds", "may be a time", 0, time.Minute, func(_ int, at time.Time) string { return fmt.Sprint(at.UnixMilli()) }),
	keyed("the whole key is digits, newest first", "may be a time", 0, time.Minute, func(_ int, at time.Time) string { return fmt.Sprint(9999999999999 - at.UnixMilli()) }),
	keyed("a metric, a time and tags", "", 0, time.Minute, keyOf("cpu.load#{unix}#host=h%d#dc=eu")),
	keyed("times of the event and of its arrival", "Is it a time", 0, time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("m%d#%d#%d", s, at.UnixMilli(), at.Add(3127*time.Millisecond).UnixMilli())
	}),
	keyed("timestamps of expiry", "disagree", 30*24*time.Hour, time.Minute, keyOf("m%d#{ms}")),
	{name: "milliseconds as microseconds in timestamps", asks: "are not times", write: each(5, 50, time.Minute, func(w *written, s, i int, at time.Time) {
		w.cell(fmt.Sprintf("m%d#%d", s, at.Unix()), "m:v", time.UnixMicro(at.UnixMilli()/1000*1000), i)
		w.event(at, i)
	})},
	{name: "a bulk load at one time", asks: "disagree", write: each(5, 50, time.Minute, func(w *written, s, i int, at time.Time) {
		w.cell(fmt.Sprintf("m%d#%d", s, at.Unix()), "m:v", start.AddDate(0, 1, 0), i)
		w.event(at, i)
	})},
	{name: "rows of devices and of readings", asks: "another structure", write: func(w *written) {
		for s := range 20 {
			w.cell(fmt.Sprintf("meta#dev%02d", s), "i:name", start, fmt.Sprintf("Device %d", s))
		}
		series(20, 10, time.Minute, func(s, i int, at time.Time) {
			w.one(fmt.Sprintf("data#dev%02d#%d", s, at.Unix()), "m:v", at, i)
		})
	}},
	{name: "a name in each row, at timestamp 0", asks: "a bucket of events", write: each(5, 50, 13*time.Minute, func(w *written, s, i int, at time.Time) {
		row := fmt.Sprintf("m%d#%s", s, at.Format("2006-01-02"))
		w.cell(row, "m:v", at, i)
		w.cell(row, "m:name", time.Unix(0, 0), fmt.Sprintf("N%d", s))
		w.event(at, i)
	})},
	{name: "a name in some rows of an event, at timestamp 0", asks: "Are these cells parts of events", write: each(5, 50, 13*time.Minute, func(w *written, s, i int, at time.Time) {
		row := fmt.Sprintf("m%d#%d", s, at.Unix())
		w.cell(row, "m:v", at, i)
		if i == 7 {
			w.cell(row, "m:name", time.Unix(0, 0), fmt.Sprintf("N%d", s))
		}
		w.event(at, i)
	})},
	{name: "hours as columns", asks: "[C08]", write: each(5, 50, time.Hour, func(w *written, s, i int, at time.Time) {
		w.one(fmt.Sprintf("m%d#%s", s, at.Format("2006-01-02")), "m:h"+at.Format("15"), at, i)
	})},
	{name: "seconds in columns, after a metric", asks: "[C08]", write: each(5, 50, time.Minute, func(w *written, s, i int, at time.Time) {
		w.one(fmt.Sprintf("m%d#%s", s, at.Format("2006-01-02")), fmt.Sprintf("m:cpu@%d", at.Unix()), at, i)
	})},
	{name: "minutes of the day in columns, padded", asks: "[C08]", write: each(5, 50, time.Minute, func(w *written, s, i int, at time.Time) {
		w.cell(fmt.Sprintf("m%d#%s", s, at.Format("2006-01-02")), fmt.Sprintf("m:%04d", at.Hour()*60+at.Minute()), at.Add(2*time.Second), i)
		w.event(at, i)
	})},
	{name: "users in columns", asks: "[C08]", write: each(5, 50, time.Minute, func(w *written, s, i int, at time.Time) {
		w.one(fmt.Sprintf("m%d#%s", s, at.Format("2006-01-02")), fmt.Sprintf("m:user-%d", 1000+i), at, i)
	})},
	{name: "offsets: seconds in 4 bytes of a day", asks: "[C08]", write: each(5, 50, 41*time.Second, func(w *written, s, i int, at time.Time) {
		w.put(fmt.Sprintf("m%d#%s", s, at.Format("20060102")), "m", string(binary.BigEndian.AppendUint32(nil, uint32(at.Sub(at.Truncate(24*time.Hour))/time.Second))), at, text(i))
		w.event(at, i)
	})},
	{name: "columns are 8 bytes of milliseconds", asks: "[C08]", write: each(5, 50, 41*time.Second, func(w *written, s, i int, at time.Time) {
		w.put(fmt.Sprintf("m%d#%s", s, at.Format("20060102")), "m", string(be8(at.UnixMilli())), at, text(i))
		w.event(at, i)
	})},
	{name: "columns with an empty name and others of Go", asks: "without a name", write: each(5, 50, 13*time.Minute, func(w *written, s, i int, at time.Time) {
		row := fmt.Sprintf("m%d#%s", s, at.Format("2006-01-02"))
		for n, name := range []string{"", "type", "time", "Time", "TTL", "ü", "a b", "a:b", "a-b"} {
			w.put(row, "m", name, at, text(i*n))
		}
		w.event(at, 0, i, i*2, i*3, i*4, i*5, i*6, i*7, i*8)
	})},
	{name: "the only column has no name", asks: "no name", write: each(3, 20, time.Minute, func(w *written, s, i int, at time.Time) {
		w.one(fmt.Sprintf("m%d#%d", s, at.Unix()), "m:", at, i)
	})},
	{name: "weeks that look like months", asks: "begin again", write: each(5, 60, 11*time.Hour, func(w *written, s, i int, at time.Time) {
		at = at.AddDate(0, 0, -290)
		year, week := at.ISOWeek()
		w.one(fmt.Sprintf("m%d#%d-%02d", s, year, week), "m:v", at, i)
	})},
	{name: "postal codes that begin with one zero", write: each(5, 60, 11*time.Hour, func(w *written, s, i int, at time.Time) {
		w.one(fmt.Sprintf("m%d#%s", s, at.Format("2006-01-02")), "m:zip", at, fmt.Sprintf("%05d", 2134+i))
	})},
	{name: "rows of devices, and their readings", asks: "The keys have no time", write: each(3, 20, time.Minute, func(w *written, s, i int, at time.Time) {
		w.one(fmt.Sprintf("dev%d", s), "m:v", at, i)
	})},
	textual("percentages", "", func(i int) any { return fmt.Sprintf("%d%%", i) }),
	textual("units", "", func(i int) any { return fmt.Sprintf("%d.5 C", i) }),
	textual("thousands", "", func(i int) any { return fmt.Sprintf("1,%03d", i) }),
	textual("True and False", "", func(i int) any { return []string{"True", "False"}[i%2] }),
	textual("NaN among numbers", "NaN", func(i int) any {
		if i%20 == 19 {
			return "NaN"
		}
		return fmt.Sprintf("%d.5", i)
	}),
	textual("null among integers", "null", func(i int) any {
		if i%50 == 49 {
			return "null"
		}
		return i
	}),
	textual("- among decimals", `"-"`, func(i int) any {
		if i%50 == 49 {
			return "-"
		}
		return fmt.Sprintf("%d.25", i)
	}),
	textual("integers over 2^63", "", func(i int) any { return fmt.Sprintf("184467440737095516%02d", i%15) }),
	textual("times without a zone", "", func(i int) any { return start.Add(time.Duration(i) * time.Hour).Format("2006-01-02 15:04:05") }),
	textual("dates", "", func(i int) any { return start.AddDate(0, 0, i).Format("2006-01-02") }),
	textual("CSV in a value", "", func(i int) any { return fmt.Sprintf("%d,%d,%d", i, i+1, i+2) }),
	textual("JSON arrays", "", func(i int) any { return fmt.Sprintf("[%d,%d]", i, i+1) }),
	textual("XML", "", func(i int) any { return fmt.Sprintf("<v>%d</v>", i) }),
	textual("varints", "What do these bytes mean", func(i int) any { return binary.AppendUvarint(nil, uint64(i*i*7+128)) }),
	textual("MessagePack", "What do these bytes mean", func(i int) any {
		return []byte{0x82, 0xa1, 'a', byte(i), 0xa1, 'b', 0xcb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0}
	}),
	textual("3-byte integers", "What do these bytes mean", func(i int) any { return []byte{0, byte(i), byte(i * 3)} }),
	{name: "negative binary integers", write: each(4, 60, 13*time.Minute, func(w *written, s, i int, at time.Time) {
		w.cell(fmt.Sprintf("s%d#%d", s, at.Unix()), "m:v", at, be8(int64(-i-1)))
		w.event(at, -i-1)
	})},
	textual("uint64 hashes", "What do these bytes mean", func(i int) any { return be8(int64(uint64(i+1) * 0x9e3779b97f4a7c15)) }),
	textual("IDs in hexadecimal", "", func(i int) any { return fmt.Sprintf("%08x", uint32(i+1)*2654435761) }),
	textual("IDs of digits and letters", "", func(i int) any { return fmt.Sprintf("%de%02d", i+10, i) }),
}
