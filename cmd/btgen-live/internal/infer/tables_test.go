package infer_test

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/infer"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// tableCase is a table that a program writes, with the events that it means.
type tableCase struct {
	name  string
	asks  string // part of a question or an error, if the proposal cannot be right without an answer
	write func(w *written)
}

// written collects the cells of a table, and the events in it.
type written struct {
	hand
	events []string
}

// event adds an event: its time and its values.
func (w *written) event(at time.Time, values ...any) {
	w.events = append(w.events, eventText(at, values))
}

// eventText describes an event.
func eventText(at time.Time, values []any) string {
	var out []string
	for _, v := range values {
		switch v := v.(type) {
		case nil:
		case []byte:
			out = append(out, fmt.Sprintf("%q", v))
		case time.Time:
			out = append(out, v.UTC().Format(time.RFC3339Nano))
		default:
			out = append(out, fmt.Sprintf("%q", fmt.Sprint(v)))
		}
	}
	slices.Sort(out)
	return at.UTC().Format(time.RFC3339Nano) + " " + strings.Join(out, " ")
}

// cell writes a cell, as text unless the value is bytes.
func (w *written) cell(row, column string, at time.Time, value any) {
	family, qualifier, _ := strings.Cut(column, ":")
	b, ok := value.([]byte)
	if !ok {
		b = text(value)
	}
	w.put(row, family, qualifier, at, b)
}

// one writes a cell that is an event.
func (w *written) one(row, column string, at time.Time, value any) {
	w.cell(row, column, at, value)
	w.event(at, value)
}

var start = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

// each calls f for events of some series, as in "5x40 13m": 40 events of each of 5 series, with 13 minutes between
// them. The n-th series is n*7 seconds late, unless the shape ends with "exact".
func each(shape string, f func(w *written, s, i int, at time.Time)) func(w *written) {
	var n, events int
	var step, exact string
	_, _ = fmt.Sscanf(shape, "%dx%d %s %s", &n, &events, &step, &exact)
	every, err := time.ParseDuration(step)
	if err != nil {
		panic(err)
	}
	return func(w *written) {
		for s := range n {
			late := time.Duration(s*7) * time.Second
			if exact != "" {
				late = 0
			}
			for i := range events {
				f(w, s, i, start.Add(time.Duration(i)*every+late))
			}
		}
	}
}

// part matches a part of a form.
var part = regexp.MustCompile(`<[^<>]*>`)

// formed replaces the parts of a form by those of the i-th event of a series: numbers, such as <s>, <i>, <unix>, <ms>
// and <us>, also with a verb of package fmt or of [encoders], as in <%04d s+3>; times in a layout, as in <2006-01-02>,
// which may be of another zone, as in <-5h/2006-01-02>; and texts that take turns, as in <a|b>. Operators apply from the
// left to the right.
func formed(form string, s, i int, at time.Time) string {
	numbers := map[string]int64{
		"s": int64(s), "i": int64(i), "unix": at.Unix(), "ms": at.UnixMilli(), "us": at.UnixMicro(), "ns": at.UnixNano(),
	}
	return part.ReplaceAllStringFunc(form, func(of string) string {
		of = of[1 : len(of)-1]
		verb, expression, _ := strings.Cut(of, " ")
		encode := encoders[verb]
		shift, layout, local := strings.Cut(of, "/")
		switch n, is := numbers[of]; {
		case is:
			return strconv.FormatInt(n, 10)
		case verb == "nines":
			return nines(at, expression)
		case encode != nil:
			return encode(result(expression, numbers), at)
		case strings.HasPrefix(verb, "%"):
			return fmt.Sprintf(verb, result(expression, numbers))
		case strings.Contains(of, "|"):
			all := strings.Split(of, "|")
			return all[i%len(all)]
		case local && strings.HasSuffix(shift, "h"):
			hours, _ := time.ParseDuration(shift)
			return at.Add(hours).Format(layout)
		}
		return at.Format(of)
	})
}

// term matches an operator and an operand.
var term = regexp.MustCompile(`([-+*/%]?)([a-z]+|[0-9]+)`)

// result returns the result of an expression.
func result(expression string, numbers map[string]int64) (n int64) {
	for _, m := range term.FindAllStringSubmatch(expression, -1) {
		v, is := numbers[m[2]]
		if !is {
			v, _ = strconv.ParseInt(m[2], 10, 64)
		}
		switch m[1] {
		case "+":
			n += v
		case "-":
			n -= v
		case "*":
			n *= v
		case "/":
			n /= v
		case "%":
			n %= v
		default:
			n = v
		}
	}
	return n
}

// encoders write numbers as bytes or characters. be and le are byte orders; f8, lf8 and q write a quarter of a number.
var encoders = map[string]func(n int64, at time.Time) string{
	"be2": func(n int64, _ time.Time) string { return string(be8(n)[6:]) },
	"be3": func(n int64, _ time.Time) string { return string(be8(n)[5:]) },
	"be4": func(n int64, _ time.Time) string { return string(be8(n)[4:]) },
	"be6": func(n int64, _ time.Time) string { return string(be8(n)[2:]) },
	"be8": func(n int64, _ time.Time) string { return string(be8(n)) },
	"le4": func(n int64, _ time.Time) string { return string(binary.LittleEndian.AppendUint32(nil, uint32(n))) },
	"f8":  func(n int64, _ time.Time) string { return string(doubled(float64(n) / 4)) },
	"lf8": func(n int64, _ time.Time) string {
		return string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(n)/4)))
	},
	"q":     func(n int64, _ time.Time) string { return fmt.Sprint(float64(n) / 4) },
	"uv":    func(n int64, _ time.Time) string { return string(binary.AppendUvarint(nil, uint64(n))) },
	"b36":   func(n int64, _ time.Time) string { return strconv.FormatInt(n, 36) },
	"B36":   func(n int64, _ time.Time) string { return strings.ToUpper(strconv.FormatInt(n, 36)) },
	"B32":   func(n int64, _ time.Time) string { return strings.ToUpper(strconv.FormatInt(n, 32)) },
	"uuid":  func(n int64, _ time.Time) string { return uuidOf(int(n)) },
	"hex16": func(n int64, _ time.Time) string { return hexOf(int(n))[:16] },
	"hex19": func(n int64, _ time.Time) string { return hexOf(int(n))[13:] },
	"raw16": func(n int64, _ time.Time) string { b, _ := hex.DecodeString(hexOf(int(n))); return string(b) },
	"uuid7": func(n int64, at time.Time) string {
		h := fmt.Sprintf("%012x", at.UnixMilli())
		return h[:8] + "-" + h[8:] + "-7" + uuidOf(int(n))[15:]
	},
	"ulid":    func(n int64, at time.Time) string { return ulidOf(at, int(n)+at.Minute()) },
	"quarter": func(_ int64, at time.Time) string { return fmt.Sprintf("%d-Q%d", at.Year(), (int(at.Month())+2)/3) },
	"week": func(_ int64, at time.Time) string {
		year, week := at.ISOWeek()
		return fmt.Sprintf("%d-W%02d", year, week)
	},
}

// form is a table of events with a value, temp, in rows whose keys have a form; or with the given cells, such as
// m:v=<i>, and m:v+5s=<i> for one that is written 5 seconds later. Values without a column, such as =<i>, are those of
// the event, if they differ from what the cells contain.
func form(name, asks, shape, row string, cells ...string) tableCase {
	if cells == nil {
		cells = []string{"m:temp=<q i+82>"}
	}
	return tableCase{name, asks, each(shape, func(w *written, s, i int, at time.Time) {
		var values, others []any
		for _, cell := range cells {
			column, value, _ := strings.Cut(cell, "=")
			value = formed(value, s, i, at)
			if column == "" {
				others = append(others, value)
				continue
			}
			column, delay, _ := strings.Cut(column, "+")
			late, _ := time.ParseDuration(delay)
			values = append(values, value)
			w.cell(formed(row, s, i, at), formed(column, s, i, at), at.Add(late), value)
		}
		if others != nil {
			values = others
		}
		w.event(at, values...)
	})}
}

// later is like form with the value temp, in cells that have the times of their writes.
func later(name, asks, shape, delay, row string) tableCase {
	late, err := time.ParseDuration(delay)
	if err != nil {
		panic(err)
	}
	return tableCase{name, asks, each(shape, func(w *written, s, i int, at time.Time) {
		temp := formed("<q i+82>", s, i, at)
		w.cell(formed(row, s, i, at), "m:temp", at.Add(late+time.Duration(i%17)*time.Second), temp)
		w.event(at, temp)
	})}
}

// keyed is a table of events with a value, temp, in rows with keys of a function.
func keyed(name, asks, shape string, key func(s int, at time.Time) string) tableCase {
	return tableCase{name, asks, each(shape, func(w *written, s, i int, at time.Time) {
		w.one(key(s, at), "m:temp", at, 20.5+float64(i)/4)
	})}
}

// textual is a table of values of a form.
func textual(name, asks, value string) tableCase {
	return form(name, asks, "4x60 13m", "s<s>#<unix>", "m:v="+value)
}

// valued is a table of values of a function.
func valued(name, asks string, value func(i int) any) tableCase {
	return tableCase{name, asks, each("4x60 13m", func(w *written, s, i int, at time.Time) {
		w.one(fmt.Sprintf("s%d#%d", s, at.Unix()), "m:v", at, value(i))
	})}
}

// except returns a value, or an odd one for each n-th event.
func except(i, n int, odd string, usual any) any {
	if i%n == n-1 {
		return odd
	}
	return usual
}

func be8(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// le4 returns the little-endian bytes of a float32.
func le4(f float32) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(f)) }

func ulidOf(at time.Time, n int) string {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	ms, out := at.UnixMilli(), make([]byte, 26)
	for i := 9; i >= 0; i-- {
		out[i] = digits[ms&31]
		ms >>= 5
	}
	sum := md5.Sum([]byte(strconv.Itoa(n)))
	for i := range 16 {
		out[10+i] = digits[sum[i]&31]
	}
	return string(out)
}

func uuidOf(n int) string {
	sum := md5.Sum([]byte(strconv.Itoa(n)))
	sum[6], sum[8] = sum[6]&15|0x40, sum[8]&63|0x80
	h := hex.EncodeToString(sum[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func hexOf(n int) string { return strings.ReplaceAll(uuidOf(n), "-", "") }

// nines returns a time in a layout of digits, subtracted from nines.
func nines(at time.Time, layout string) string {
	b := []byte(at.Format(layout))
	for i := range b {
		b[i] = '0' + '9' - b[i]
	}
	return string(b)
}

// tableCases are the tables.
var tableCases = []tableCase{
	form("iot: days, text", "", "6x90 37m", "device-<%04d s>#<20060102>"),
	form("iot: hours, binary", "", "5x80 11m", "dev:<%04d s>:<2006-01-02T15>", "d:p=<f8 i*4+13>", "=<%d i+3>.25"),
	form("iot: newest first, milliseconds", "", "6x40 61s", "oslo|dev-<s>|<%013d 9999999999999-ms>"),
	keyed("metrics: foreign salt, seconds", "", "8x30 1m", func(s int, at time.Time) string {
		host := fmt.Sprintf("web-%d", s)
		return fmt.Sprintf("%d#%s#%d", crc32.ChecksumIEEE([]byte(host))%8, host, at.Unix())
	}),
	form("metrics: columns are seconds of the hour", "[C08]", "4x300 41s", "cpu#h<s>#<2006010215>",
		"t:<%d unix%3600>=<i>"),
	form("metrics: columns are seconds, written later", "[C08]", "4x300 41s", "cpu#h<s>#<2006010215>",
		"t:<%d unix%3600>+9s=<i>"),
	form("hours as 2026112000, a row each", "in buckets of 1h", "5x40 1h", "meter<s>#<2006010215>"),
	form("hours as 2026112000, buckets", "", "5x100 7m", "meter<s>#<2006010215>"),
	form("minutes as 202611200005", "", "5x100 20s", "m/<s>/<200601021504>"),
	form("finance: ticks, nanoseconds", "", "3x60 1234567891ns", "<%c s*7+65>PL#<ns>", "t:px=<%d i+180>.5"),
	form("finance: daily bars", "", "5x40 24h exact", "SYM<%c s+65>#<2006-01-02>", "b:open=<%d i+10>",
		"b:close=<%d i+11>.5"),
	form("finance: daily bars, written in the evening", "in buckets of 24h", "5x40 24h exact",
		"SYM<%c s+65>#<2006-01-02>", "b:close+21h=<%d i+11>.5"),
	form("finance: JSON with fractions of seconds in keys", "", "5x40 1713ms", "XNAS/S<s>/<2006-01-02T15:04:05.000Z>",
		`j:doc={"px":<%d i+1>.5,"qty":<i>}`, "=<%d i+1>.5", "=<i>"),
	form("logs: year/month/day apart", "time", "4x60 7h", "svc-<s>/<2006/01/02/15>"),
	later("logs: newest first, Long.MAX_VALUE", "", "4x60 1m", "2s", "app<s>#<%019d 9223372036854775807-ms>"),
	later("logs: ULIDs", "[K24]", "4x40 1m", "2s", "tenant<s>#<ulid s*1000>"),
	form("logs: UUIDs after the time", "", "2x60 1s", "<2006-01-02T15:04:05>#<uuid i*2+s>", "l:msg=GET /<i>"),
	form("logs: snowflake IDs", "disagree", "3x40 1m", "ch<s>#<%d ms-1420070400000*4194304+s>"),
	form("games: scores without a time", "", "30x3 1s", "player<s>#game<%d s%4>", "s:score=<%d i*100+s>"),
	form("games: moves by number", "", "6x20 3s", "match:<%d s+500>:<%04d i>", "e:move=e<i>"),
	later("healthcare: seconds as digits", "", "5x40 13m", "1s", "P<%06d s+100>#pulse#<20060102150405>"),
	{"healthcare: 2% N/A", `"N/A"`, each("4x100 13m", func(w *written, s, i int, at time.Time) {
		w.one(formed("P<s>#<2006-01-02>", s, i, at), "v:pulse", at, except(i, 50, "N/A", 60+i%40))
	})},
	{"healthcare: JSON with 2% n/a", "several types", each("4x100 13m", func(w *written, s, i int, at time.Time) {
		v := except(i, 50, "n/a", 60+i%40)
		w.cell(formed("P<s>#<2006-01-02>", s, i, at), "v:json", at, object(map[string]any{"pulse": v, "ok": true}))
		w.event(at, v, true)
	})},
	later("healthcare: DD-MM-YYYY", "[K24]", "5x40 24h", "3h", "P<s>#<02-01-2006>"),
	later("healthcare: names of months", "[K24]", "5x40 24h", "3h", "P<s>#<02 Jan 2006>"),
	form("logistics: month before the series", "", "4x60 9h", "<2006-01>#truck-<s>#<ms>"),
	form("logistics: accounts and months", "", "20x8 408h", "acct<%03d s>~<2006-01>"),
	{name: "logistics: months, written in the next", asks: "Part 2", write: func(w *written) {
		for s := range 10 {
			for m := range 8 {
				at := time.Date(2025, time.Month(1+m), 1, 0, 0, 0, 0, time.UTC)
				w.cell(fmt.Sprintf("acct%03d~%s", s, at.Format("2006-01")), "b:total", at.AddDate(0, 1, 2), 100*s+m)
				w.event(at, 100*s+m)
			}
		}
	}},
	form("logistics: numbers and milliseconds with -", "", "10x20 61s", "<%d s+7000>-<ms>"),
	form("devices without a delimiter or a time", "", "60x1 1s", "device<%03d s>", "m:v=<s>"),
	form("padded numbers without a delimiter or a time", "", "60x1 1s", "<%06d s*7>", "m:v=<s>"),
	form("binary: 4 bytes and milliseconds", "", "5x40 1m", "<be4 s+1><be8 ms>"),
	form("binary: 8 bytes and seconds in 4", "", "5x40 1m", "<be8 s+1><be4 unix>"),
	later("binary: little-endian seconds", "[K24]", "5x40 1m", "1s", "<be4 s+1><le4 unix>"),
	later("text of fixed width", "[K24]", "5x40 1m", "1s", "SYM<%c s+65><%05d s><20060102150405>"),
	keyed("hash before the series", "", "10x30 17m", func(s int, at time.Time) string {
		id := fmt.Sprintf("user%d", s)
		sum := md5.Sum([]byte(id))
		return fmt.Sprintf("%x#%s#%s", sum[:2], id, at.Format("2006-01-02"))
	}),
	form("negative coordinates", "", "9x30 17m", "<%d s*7-30>:<%d 0-s*11+40>:<2006010215>"),
	form("negative numbers with -", "Are timestamps of cells", "9x30 17m", "<%d s*7-30>-<20060102>"),
	form("protobuf", "", "5x40 13m", "s<s>#<2006-01-02>", "p:b=\x08<uv i+1>\x11<lf8 i*4+6>", "=<%d i+1>",
		"=<%d i+1>.5"),
	form("two families", "", "5x40 13m", "s<s>#<2006-01-02>", "raw:v=<i>", "agg:avg=<i>.5"),
	form("version suffix", "", "20x4 7m", "doc<s>@v<%04d i+1>", "c:title=T<i>"),
	later("microseconds", "", "5x40 1357us", "1s", "s<s>|<us>"),
	form("days since 1970", "", "5x60 5h", "sensor<s>#<%d unix/86400>"),
	form("hours since 1970", "", "5x60 13m", "sensor<s>#<%d unix/3600>"),
	form("minutes since 1970", "", "5x60 7s", "sensor<s>#<%d unix/60>"),
	form("weeks", "", "5x60 11h", "s<s>#<week>"),
	later("quarters", "[K24]", "5x9 960h", "1h", "s<s>#<quarter>"),
	form("days of the year", "", "5x60 11h", "s<s>#<2006002>"),
	form("local hours, one ahead", "[K24]", "5x100 13m", "s<s>#<1h/2006-01-02T15>"),
	form("local days, five behind", "[K24]", "5x100 93m", "s<s>#<-5h/2006-01-02>"),
	form("local seconds, five behind", "[K24]", "5x60 13m", "s<s>#<-5h/2006-01-02T15:04:05>"),
	later("local seconds, two ahead, written later", "[K24]", "5x60 13m", "3s", "s<s>#<2h/2006-01-02T15:04:05>"),
	form("offsets: milliseconds in 4 bytes of an hour", "[C08]", "4x200 41s", "s<s>#<2006010215>",
		"m:<be4 ms%3600000>+2s=<f8 i*4>", "=<i>"),
	form("offsets: seconds in 2 bytes", "", "4x200 41s", "s<s>#<2006010215>", "m:<be2 unix%3600>=<f8 i*4>", "=<i>"),
	form("offsets: milliseconds in 3 bytes, written later", "Are column names counts", "4x200 41s",
		"s<s>#<2006010215>", "m:<be3 ms%3600000>+1s=<f8 i*4>", "=<i>"),
	form("columns are times", "[C08]", "4x40 41s", "s<s>", "m:<2006-01-02T15:04:05Z07:00>+2s=<i>"),
	form("columns are milliseconds", "[C08]", "4x40 41s", "s<s>#2026-11-20", "m:<ms>+2s=<i>"),
	form("columns are dates", "[C08]", "4x15 24h", "s<s>", "m:<2006-01-02>+25h=<i>"),
	{"two programs: users and orders", "tells kinds of rows apart", each("8x10 1h", func(w *written, s, i int, at time.Time) {
		w.cell(formed("user#<s>#<unix>", s, i, at), "f:name", at, fmt.Sprintf("N%d", i))
		w.one(formed("order#<s>#<unix>", s, i, at), "f:amount", at, i)
	})},
	{"two programs: seconds and milliseconds", "Is it a time", func(w *written) {
		form("", "", "8x20 1h", "s<s>#<unix>").write(w)
		form("", "", "8x7 1h", "t<s>#<ms>").write(w)
	}},
	{"empty values", "empty", each("4x50 13m", func(w *written, s, i int, at time.Time) {
		w.one(formed("s<s>#<2006-01-02>", s, i, at), "m:v", at, except(i+9, 10, "", i))
	})},
	form("binary values of several sizes", "", "4x50 13m", "s<s>#<2006-01-02>", "m:on=<\x00|\x01>",
		"m:n=<be4 i>", "m:le=<lf8 i*6+6>", "=<false|true>", "=<i>", "=<q i*6+6>"),
	form("decimal commas", "", "4x50 13m", "s<s>#<2006-01-02>", "m:v=<i>,5"),
	form("UUIDs as series", "", "5x60 53m", "<uuid s>#<20060102>"),
	form("addresses", "", "5x60 53m", "10.0.<s>.1|u<s>@example.com|<20060102>"),
	{"some keys with another delimiter", "another structure", each("8x30 53m", func(w *written, s, i int, at time.Time) {
		w.one(formed(fmt.Sprintf("s<s>%[1]s<2006-01-02>", except(s, 8, "/", "#")), s, i, at), "m:v", at, i)
	})},
	{"timestamps are 0", "Timestamps of cells", each("5x40 13m", func(w *written, s, i int, at time.Time) {
		w.cell(formed("s<s>#<ms>", s, i, at), "m:v", time.Unix(0, 0), i)
		w.event(at, i)
	})},
	{"imported years later", "Were the cells written later", each("5x40 13m", func(w *written, s, i int, at time.Time) {
		w.cell(formed("s<s>#<ms>", s, i, at), "m:v", start.AddDate(3, 0, 0).Add(time.Duration(i)*time.Second), i)
		w.event(at, i)
	})},
	later("hexadecimal seconds", "[K24]", "5x40 13m", "1s", "s<s>#<%08x unix>"),
	later("reversed dates", "[K24]", "5x40 24h", "1h", "s<s>#<nines 20060102>"),
	form("padded numbers that begin with 0", "", "8x30 53m", "<%07d s+3>#<2006-01-02>"),
	form("padded numbers of 20 digits", "", "8x30 53m", "<%020d s+3>#<2006-01-02>"),
	form("padded numbers and zero", "", "8x30 53m", "<%03d s>|x|<2006-01-02>"),
	form("phone numbers", "", "8x30 53m", "1650<%06d s*7919>#<2006-01-02>"),
	later("seconds with a fraction", "[K24]", "5x40 1313ms", "1s", "s<s>#<unix>.<%03d ms%1000>"),
	form("time before the series", "", "5x40 1m", "<20060102150405>#sensor<s>"),
	later("time with a space", "[K24]", "5x40 1m", "1s", "s<s>,<2006-01-02 15:04:05>"),
	{name: "time and a sequence number", write: each("5x30 1m", func(w *written, s, i int, at time.Time) {
		for n := range 2 {
			w.one(fmt.Sprintf("s%d#%d#%03d", s, at.UnixMilli(), n), "m:v", at, i*2+n)
		}
	})},
	form("postal codes, long numbers and decimals as values", "", "4x30 13m", "s<s>#<2006-01-02>",
		"m:zip=<%05d i+139>", "m:long=1234567890123456<%04d i>", "m:precise=0.1234567890123456<%04d i>"),
	form("JSON with long numbers", "", "4x30 13m",
		"s<s>#<2006-01-02>", `j:doc={"id":1234567890123456<%04d i>,"ok":true}`, "=1234567890123456<%04d i>", "=true"),
	form("columns some milliseconds apart", "belong together", "4x60 13m", "s<s>#<2006-01-02>", "m:a=<i>",
		"m:b+5ms=<i>", "m:c+9ms=<i>"),
	later("text and 8 bytes of milliseconds", "", "5x40 1m", "1s", "dev<s>#<be8 ms>"),
	form("starts of days in seconds", "", "5x60 53m", "dev<s>#<%d unix/86400*86400>"),
	form("reversed domains", "", "5x60 53m", "com.example.host<s>#<2006-01-02>"),
	form("day and hour apart", "", "5x60 23m", "dev<s>#<20060102>#<15>"),
	later("day and time apart, written later", "in buckets of 24h", "5x60 17m", "1s", "dev<s>#<20060102>#<150405>"),
	later("basic ISO 8601, written later", "[K24]", "5x60 17m", "1s", "dev<s>#<20060102T150405Z>"),
	{"opaque values", "What do these bytes mean?", each("4x30 13m", func(w *written, s, i int, at time.Time) {
		sum := md5.Sum([]byte{byte(s), byte(i)})
		w.one(formed("s<s>#<2006-01-02>", s, i, at), "m:z", at, sum[:5])
	})},
	{name: "binary identifiers of 64 bits", write: each("4x30 13m", func(w *written, s, i int, at time.Time) {
		sum := md5.Sum([]byte{byte(s), byte(i)})
		w.one(formed("s<s>#<2006-01-02>", s, i, at), "m:id", at, sum[:8])
	})},
	form("single-digit codes and flags", "", "4x30 13m", "s<s>#<2006-01-02>", "m:flag=<Y|N>", "m:code=<0|1|2>"),
	{name: "late at midnight", asks: "a bucket of events", write: each("4x100 47m", func(w *written, s, i int, at time.Time) {
		w.one(formed("s<s>#<20060102>", s, i, at.Add(-40*time.Second)), "m:v", at, i)
	})},
	form("begin and end", "Is it a time", "6x30 47m", "trip<s>#<unix>#<%d unix+1200>"),
	later("end and begin", "Is it a time", "6x30 47m", "2s", "trip<s>#<%d unix+1200>#<unix>"),
	form("order ids", "", "6x30 47m", "17<%011d s*991>#<2006-01-02>"),
	form("one bucket", "", "6x10 7m", "s<s>#<2006-01>"),
	{"seconds and 2% of milliseconds", "times of events", each("5x60 1m", func(w *written, s, i int, at time.Time) {
		w.one(formed(fmt.Sprint(except(i, 50, "s<s>#<ms>", "s<s>#<unix>")), s, i, at), "m:v", at, i)
	})},
	form("decimals of money", "", "5x60 1m", "s<s>#<unix>", "m:v=-<i>.25"),
	form("ms in keys, us in value", "", "5x60 1m", "s<s>#<ms>", "m:at=<us>"),
	later("reversed seconds of max int32", "", "5x60 1m", "1s", "s<s>#<%010d 2147483647-unix>"),
	later("centiseconds", "[K24]", "5x60 1m", "1s", "s<s>#<%d ms/10>"),
	later("minutes since 2020", "those of writes", "5x60 1m", "1s", "s<s>#<%07d unix-1577836800/60>"),
	later("milliseconds in base 36", "[K24]", "5x60 1m", "1s", "s<s>#<b36 ms>"),
	later("years of two digits", "[K24]", "5x60 25h", "1s", "s<s>#<060102>"),
	textual("phone numbers as values", "", "+49<%d i+1000>"),
	textual("decimals with a plus sign", "", "+<i>.5"),
	textual("hexadecimal identifiers like 12e5", "", "<%d i%9+1>e<%d i%7>"),
	valued("identifiers of 17 digits and a fraction", "", func(i int) any {
		return except(i+59, 60, "1.5", fmt.Sprintf("1234567890123%04d", i))
	}),
	form("seconds in keys, milliseconds in cells", "in buckets of 1s", "5x40 1713ms", "s<s>#<unix>"),
}

// doubtful are tables that a sample cannot tell from others, which need other schemas.
var doubtful = []tableCase{
	form("10^13 minus milliseconds", "[K24]", "9x60 17m", "s<s>_<%013d 10000000000000-ms>"),
	form("10^13 + 1 minus milliseconds", "[K24]", "9x60 17m", "s<s>_<%013d 10000000000001-ms>"),
	form("10^10 minus seconds", "[K24]", "3x200 11m", "s<s>#<%010d 10000000000-unix>"),
	form("10^16 minus microseconds", "[K24]", "3x200 11m", "s<s>#<%016d 10000000000000000-us>"),
	form("negative milliseconds in 8 bytes", "[K24]", "3x200 11m", "s<s>#<be8 0-ms>"),
	form("the least int64 minus milliseconds", "[K24]", "3x200 11m", "s<s>#<be8 0-9223372036854775807-1-ms>"),
	form("2^31 minus seconds", "[K24]", "3x200 11m", "s<s>#<%010d 2147483648-unix>"),
	form("10^13 minus hours in milliseconds", "?", "3x200 11m", "s<s>#<%013d 0-unix/3600*3600000+10000000000000>"),
	form("local days, New York", "[K24]", "5x300 17m", "dev<s>#<-5h/2006-01-02>"),
	form("local days, 75 of them", "[K24]", "3x600 3h", "dev<s>#<-5h/2006-01-02>"),
	form("local days, 75 of them, Tokyo", "[K24]", "3x600 3h", "dev<s>#<9h/20060102>"),
	keyed("weeks of the year", "begin again", "9x300 170m", func(s int, at time.Time) string {
		return fmt.Sprintf("dev%d#%d-%d", s, at.Year(), (at.YearDay()+int(time.Date(at.Year(), 1, 1, 0, 0, 0, 0, time.UTC).Weekday())-1)/7+1)
	}),
	form("days of the month", "the day of the month", "5x300 37m", "dev<s>#2026#11#<2>"),
	form("days of the month, delimiter -", "begin again", "5x300 17m", "dev<s><-5h/#2006-01-02>"),
	keyed("month and local hour apart", "the hour of the day", "5x300 17m", func(s int, at time.Time) string {
		return fmt.Sprintf("dev%d#%s#%d", s, at.Format("2006-01"), at.Add(9*time.Hour).Hour())
	}),
	form("hours of the day", "begin again", "5x100 7m", "dev<s>#h<%02d unix/3600%24+1>"),
	textual("versions", "such as versions", "1.<%d i%30>"),
	textual("times with an offset", "an offset", "2026-11-20T01:<%02d i>:00+02:00"),
	textual("a counter that is zero", "zero", "<be8 0>"),
	textual("binary floats 1 and infinity", "Which is right", "<\x3f\xf0|\x7f\xf0>\x00\x00\x00\x00\x00\x00"),
	valued("little-endian flags as float32", "1 here", func(i int) any { return le4(float32(i % 2)) }),
	valued("little-endian counts as float32", "1 here", func(i int) any { return le4(float32(i)) }),
	textual("integers that could be floats", "65 here", "\x00\x00\x00<A|B|C>"),
	textual("long integers beside decimals", "does not keep \"9007199254740993\"", "<9007199254740993|1.5>"),
	form("a column of bytes", "names of columns are UTF-8", "4x60 13m", "s<s>#<unix>", "m:v=<i>", "m:\xff\xfe=<i>"),
	textual("4 zero bytes", "zero", "<be4 0>"),
}

// TestTables proposes schemas for tables that other programs might write, none of which this
// package has seen before: some were drawn after the package was written for the others. What a proposal reads is what the program
// means, or a question or an error names what is uncertain. Doubtful tables need a question, whatever the schema reads of the sample.
func TestTables(t *testing.T) {
	for name, cases := range map[string][]tableCase{"first": tableCases, "more": moreCases, "doubtful": doubtful} {
		t.Run(name, func(t *testing.T) {
			if len(cases) < 15 {
				t.Errorf("%d tables", len(cases))
			}
			checkTables(t, testlong.Sample(cases, map[string]int{"first": 16, "more": 24, "doubtful": 6}[name]), name == "doubtful")
		})
	}
}

// checkTables proposes schemas for tables, and checks them.
func checkTables(t *testing.T, cases []tableCase, doubtful bool) {
	t.Helper()
	tables := map[int]*written{}
	b := storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		for i, c := range cases {
			tables[i] = &written{hand: hand{rows: map[string][]bigtable.ReadItem{}}}
			c.write(tables[i])
			d := &design{table: fmt.Sprintf("t%d", i), write: func(h *hand) { *h = tables[i].hand }}
			if err := d.create(ctx, b.Admin, b.Client); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		return nil
	})
	right := 0
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if checkTable(t, b, fmt.Sprintf("t%d", i), c.asks, tables[i].events, doubtful) {
				right++
			}
		})
	}
	t.Logf("of %d tables, %d are right, and the others ask", len(cases), right)
}

// checkTable reports whether a proposal for a table is right. If not, it must ask.
func checkTable(t *testing.T, b *storetest.Bigtable, id, asks string, want []string, doubtful bool) bool {
	t.Helper()
	p, err := infer.Propose(sampled(t, b, id, codec.GCRule{}))
	if errors.Is(err, infer.ErrNoSchema) && asks != "" && strings.Contains(err.Error(), asks) {
		return false
	}
	if err != nil {
		t.Error(err)
		return false
	}
	linted(t, p)
	asked := asks != "" && slices.ContainsFunc(p.Questions, func(q string) bool { return strings.Contains(q, asks) })
	if doubtful {
		if !asked {
			t.Errorf("no question with %q: %s", asks, p.Schema)
		}
		return false
	}
	got := scanned(t, b, id, p)
	slices.Sort(want)
	differs := gocmp.Diff(want, got)
	if differs != "" && !asked {
		t.Errorf("wrong without a question %q: %s\n(-want +got)\n%s", asks, p.Schema, differs[:min(len(differs), 1500)])
	}
	if differs == "" && asks != "" && !asked {
		t.Errorf("right, but without the question %q: %s", asks, p.Schema)
	}
	if differs == "" && len(p.Report.Findings) > 0 && !asked {
		t.Errorf("right, but with findings: %+v\n%s", p.Report.Findings, p.Schema)
	}
	return differs == ""
}

// scanned returns the events that the schema of a proposal reads.
func scanned(t *testing.T, b *storetest.Bigtable, id string, p *infer.Proposal) []string {
	t.Helper()
	scanners, err := dynamic.New(resolved(t, string(p.Schema))).NewScanners(b.Client, id, store.ReaderOptions{})
	must(t, err)
	var out []string
	for row, err := range scanners[0].Rows(t.Context(), store.KeyRange{}, time.Time{}, scan.MaxTime) {
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		for _, e := range row.Events {
			out = append(out, eventText(e.Time, e.Values))
		}
	}
	slices.Sort(out)
	return out
}
