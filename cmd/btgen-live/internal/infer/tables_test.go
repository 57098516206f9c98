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
	"google.golang.org/protobuf/encoding/protowire"

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
	write func(w *written)
	asks  string // part of a question or an error, if the proposal cannot be right without an answer
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

// braced matches a time in the form of a key.
var braced = regexp.MustCompile(`\{[^}]*\}`)

// keyOf returns a function that writes keys of a form, with the number of a series, and the time in a layout in braces.
func keyOf(form string) func(s int, at time.Time) string {
	return func(s int, at time.Time) string {
		return braced.ReplaceAllStringFunc(fmt.Sprintf(form, s), func(layout string) string {
			switch layout {
			case "{unix}":
				return fmt.Sprint(at.Unix())
			case "{ms}":
				return fmt.Sprint(at.UnixMilli())
			}
			return at.Format(layout[1 : len(layout)-1])
		})
	}
}

var start = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

// series calls f for events of some series: so many, so far apart.
func series(n, events int, step time.Duration, f func(s, i int, at time.Time)) {
	for s := range n {
		for i := range events {
			f(s, i, start.Add(time.Duration(i)*step+time.Duration(s*7)*time.Second))
		}
	}
}

// each calls f for events of some series: so many, so far apart.
func each(n, events int, step time.Duration, f func(w *written, s, i int, at time.Time)) func(w *written) {
	return func(w *written) { series(n, events, step, func(s, i int, at time.Time) { f(w, s, i, at) }) }
}

// temps writes events with one value, temp, in rows of a form of key.
func temps(n, events int, step time.Duration, key func(s int, at time.Time) string) func(w *written) {
	return each(n, events, step, func(w *written, s, i int, at time.Time) {
		v := 20.5 + float64(i)/4
		w.one(key(s, at), "m:temp", at, v)
	})
}

// later is like temps, with cells that have the times of their writes.
func later(n, events int, step, delay time.Duration, key func(s int, at time.Time) string) func(w *written) {
	return each(n, events, step, func(w *written, s, i int, at time.Time) {
		v := 20.5 + float64(i)/4
		w.cell(key(s, at), "m:temp", at.Add(delay+time.Duration(i%17)*time.Second), v)
		w.event(at, v)
	})
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

// b36 formats a number in base 36.
func b36(n int64) string {
	out := ""
	for ; n > 0; n /= 36 {
		out = string("0123456789abcdefghijklmnopqrstuvwxyz"[n%36]) + out
	}
	return out
}

// tableCases are the tables.
var tableCases = []tableCase{
	{name: "iot: days, text", write: temps(6, 90, 37*time.Minute, keyOf("device-%04d#{20060102}"))},
	{name: "iot: hours, binary", write: each(5, 80, 11*time.Minute, func(w *written, s, i int, at time.Time) {
		v := 3.25 + float64(i)
		w.cell(fmt.Sprintf("dev:%04d:%s", s, at.Format("2006-01-02T15")), "d:p", at, doubled(v))
		w.event(at, v)
	})},
	{name: "iot: newest first, milliseconds", write: temps(6, 40, 61*time.Second, func(s int, at time.Time) string {
		return fmt.Sprintf("oslo|dev-%d|%013d", s, 9999999999999-at.UnixMilli())
	})},
	{name: "metrics: foreign salt, seconds", write: temps(8, 30, time.Minute, func(s int, at time.Time) string {
		host := fmt.Sprintf("web-%d", s)
		return fmt.Sprintf("%d#%s#%d", crc32.ChecksumIEEE([]byte(host))%8, host, at.Unix())
	})},
	{name: "metrics: columns are seconds of the hour", asks: "[C08]", write: each(4, 300, 41*time.Second, func(w *written, s, i int, at time.Time) {
		w.one(fmt.Sprintf("cpu#h%d#%s", s, at.Format("2006010215")), "t:"+strconv.Itoa(at.Minute()*60+at.Second()), at, i)
	})},
	{name: "metrics: columns are seconds, written later", asks: "[C08]", write: each(4, 300, 41*time.Second, func(w *written, s, i int, at time.Time) {
		w.cell(fmt.Sprintf("cpu#h%d#%s", s, at.Format("2006010215")), "t:"+strconv.Itoa(at.Minute()*60+at.Second()), at.Add(9*time.Second), i)
		w.event(at, i)
	})},
	{name: "hours as 2026112000, a row each", asks: "in buckets of 1h", write: temps(5, 40, time.Hour, keyOf("meter%d#{2006010215}"))},
	{name: "hours as 2026112000, buckets", write: temps(5, 100, 7*time.Minute, keyOf("meter%d#{2006010215}"))},
	{name: "minutes as 202611200005", write: temps(5, 100, 20*time.Second, keyOf("m/%d/{200601021504}"))},
	{name: "finance: ticks, nanoseconds", write: func(w *written) {
		for s, symbol := range []string{"AAPL", "MSFT", "GOOG"} {
			for i := range 60 {
				at := start.Add(time.Duration(i*1_234_567_891 + s))
				w.cell(fmt.Sprintf("%s#%d", symbol, at.UnixNano()), "t:px", at.Truncate(time.Millisecond), 180.5+float64(i))
				w.event(at, 180.5+float64(i))
			}
		}
	}},
	{name: "finance: daily bars", write: func(w *written) {
		for s := range 5 {
			for i := range 40 {
				at, row := start.AddDate(0, 0, i), fmt.Sprintf("SYM%c#%s", 'A'+s, start.AddDate(0, 0, i).Format("2006-01-02"))
				w.cell(row, "b:open", at, 10+i)
				w.cell(row, "b:close", at, 11.5+float64(i))
				w.event(at, 10+i, 11.5+float64(i))
			}
		}
	}},
	{name: "finance: daily bars, written in the evening", write: func(w *written) {
		for s := range 5 {
			for i := range 40 {
				at := start.AddDate(0, 0, i)
				row := fmt.Sprintf("SYM%c#%s", 'A'+s, at.Format("2006-01-02"))
				w.cell(row, "b:close", at.Add(21*time.Hour+time.Duration(i)*time.Second), 11.5+float64(i))
				w.event(at, 11.5+float64(i))
			}
		}
	}, asks: "in buckets of 24h"},
	{name: "finance: JSON with fractions of seconds in keys", write: each(5, 40, 1713*time.Millisecond, func(w *written, s, i int, at time.Time) {
		w.cell(fmt.Sprintf("XNAS/S%d/%s", s, at.Format("2006-01-02T15:04:05.000Z")), "j:doc", at, object(map[string]any{"px": 1.5 + float64(i), "qty": i}))
		w.event(at, 1.5+float64(i), i)
	})},
	{name: "logs: year/month/day apart", asks: "time", write: temps(4, 60, 7*time.Hour, keyOf("svc-%d/{2006/01/02/15}"))},
	{name: "logs: newest first, Long.MAX_VALUE", write: later(4, 60, time.Minute, 2*time.Second, func(s int, at time.Time) string { return fmt.Sprintf("app%d#%019d", s, math.MaxInt64-at.UnixMilli()) })},
	{name: "logs: ULIDs", asks: "[K24]", write: later(4, 40, time.Minute, 2*time.Second, func(s int, at time.Time) string {
		return fmt.Sprintf("tenant%d#%s", s, ulidOf(at, s*1000+at.Minute()))
	})},
	{name: "logs: UUIDs after the time", write: each(2, 60, time.Second, func(w *written, s, i int, at time.Time) {
		w.one(fmt.Sprintf("%s#%s", at.Format("2006-01-02T15:04:05"), uuidOf(i*2+s)), "l:msg", at, fmt.Sprintf("GET /%d", i))
	})},
	{name: "logs: snowflake IDs", asks: "disagree", write: temps(3, 40, time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("ch%d#%d", s, (at.UnixMilli()-1420070400000)<<22|int64(s))
	})},
	{name: "games: scores without a time", write: func(w *written) {
		for p := range 30 {
			for i := range 3 {
				at := start.Add(time.Duration(p*100+i) * time.Second)
				w.one(fmt.Sprintf("player%d#game%d", p, p%4), "s:score", at, 100*i+p)
			}
		}
	}},
	{name: "games: moves by number", write: func(w *written) {
		for m := range 6 {
			for i := range 20 {
				at := start.Add(time.Duration(m*1000+i*3) * time.Second)
				w.one(fmt.Sprintf("match:%d:%04d", 500+m, i), "e:move", at, fmt.Sprintf("e%d", i))
			}
		}
	}},
	{name: "healthcare: seconds as digits", write: later(5, 40, 13*time.Minute, time.Second, func(s int, at time.Time) string {
		return fmt.Sprintf("P%06d#pulse#%s", s+100, at.Format("20060102150405"))
	})},
	{name: "healthcare: 2% N/A", asks: `"N/A"`, write: each(4, 100, 13*time.Minute, func(w *written, s, i int, at time.Time) {
		v := any(60 + i%40)
		if i%50 == 49 {
			v = "N/A"
		}
		w.one(fmt.Sprintf("P%d#%s", s, at.Format("2006-01-02")), "v:pulse", at, v)
	})},
	{name: "healthcare: JSON with 2% n/a", asks: "several types", write: each(4, 100, 13*time.Minute, func(w *written, s, i int, at time.Time) {
		v := any(60 + i%40)
		if i%50 == 49 {
			v = "n/a"
		}
		w.cell(fmt.Sprintf("P%d#%s", s, at.Format("2006-01-02")), "v:json", at, object(map[string]any{"pulse": v, "ok": true}))
		w.event(at, v, true)
	})},
	{name: "healthcare: DD-MM-YYYY", asks: "[K24]", write: later(5, 40, 24*time.Hour, 3*time.Hour, keyOf("P%d#{02-01-2006}"))},
	{name: "healthcare: names of months", asks: "[K24]", write: later(5, 40, 24*time.Hour, 3*time.Hour, keyOf("P%d#{02 Jan 2006}"))},
	{name: "logistics: month before the series", write: temps(4, 60, 9*time.Hour, keyOf("{2006-01}#truck-%d#{ms}"))},
	{name: "logistics: accounts and months", write: temps(20, 8, 24*17*time.Hour, keyOf("acct%03d~{2006-01}"))},
	{name: "logistics: months, written in the next", asks: "Part 2", write: func(w *written) {
		for s := range 10 {
			for m := range 8 {
				at := time.Date(2025, time.Month(1+m), 1, 0, 0, 0, 0, time.UTC)
				w.cell(fmt.Sprintf("acct%03d~%s", s, at.Format("2006-01")), "b:total", at.AddDate(0, 1, 2), 100*s+m)
				w.event(at, 100*s+m)
			}
		}
	}},
	{name: "logistics: numbers and milliseconds with -", write: temps(10, 20, 61*time.Second, func(s int, at time.Time) string { return fmt.Sprintf("%d-%d", 7000+s, at.UnixMilli()) })},
	{name: "devices without a delimiter or a time", write: func(w *written) {
		for s := range 60 {
			at := start.Add(time.Duration(s) * time.Second)
			w.one(fmt.Sprintf("device%03d", s), "m:v", at, s)
		}
	}},
	{name: "padded numbers without a delimiter or a time", write: func(w *written) {
		for s := range 60 {
			at := start.Add(time.Duration(s) * time.Second)
			w.one(fmt.Sprintf("%06d", s*7), "m:v", at, s)
		}
	}},
	{name: "binary: 4 bytes and milliseconds", write: temps(5, 40, time.Minute, func(s int, at time.Time) string {
		return string(binary.BigEndian.AppendUint32(nil, uint32(s+1))) + string(be8(at.UnixMilli()))
	})},
	{name: "binary: 8 bytes and seconds in 4", write: temps(5, 40, time.Minute, func(s int, at time.Time) string {
		return string(be8(int64(s+1))) + string(binary.BigEndian.AppendUint32(nil, uint32(at.Unix())))
	})},
	{name: "binary: little-endian seconds", asks: "[K24]", write: later(5, 40, time.Minute, time.Second, func(s int, at time.Time) string {
		return string(binary.BigEndian.AppendUint32(nil, uint32(s+1))) + string(binary.LittleEndian.AppendUint32(nil, uint32(at.Unix())))
	})},
	{name: "text of fixed width", asks: "[K24]", write: later(5, 40, time.Minute, time.Second, func(s int, at time.Time) string {
		return fmt.Sprintf("SYM%c%05d%s", 'A'+s, s, at.Format("20060102150405"))
	})},
	{name: "hash before the series", write: temps(10, 30, 17*time.Minute, func(s int, at time.Time) string {
		id := fmt.Sprintf("user%d", s)
		sum := md5.Sum([]byte(id))
		return fmt.Sprintf("%x#%s#%s", sum[:2], id, at.Format("2006-01-02"))
	})},
	{name: "negative coordinates", write: temps(9, 30, 17*time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("%d:%d:%s", s*7-30, 40-s*11, at.Format("2006010215"))
	})},
	{name: "negative numbers with -", asks: "Are timestamps of cells", write: temps(9, 30, 17*time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("%d-%s", s*7-30, at.Format("20060102")) })},
	{name: "protobuf", write: each(5, 40, 13*time.Minute, func(w *written, s, i int, at time.Time) {
		b := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(i+1))
		b = protowire.AppendFixed64(protowire.AppendTag(b, 2, protowire.Fixed64Type), math.Float64bits(1.5+float64(i)))
		w.cell(fmt.Sprintf("s%d#%s", s, at.Format("2006-01-02")), "p:b", at, b)
		w.event(at, i+1, 1.5+float64(i))
	})},
	{name: "two families", write: each(5, 40, 13*time.Minute, func(w *written, s, i int, at time.Time) {
		row := fmt.Sprintf("s%d#%s", s, at.Format("2006-01-02"))
		w.cell(row, "raw:v", at, i)
		w.cell(row, "agg:avg", at, 0.5+float64(i))
		w.event(at, i, 0.5+float64(i))
	})},
	{name: "version suffix", write: func(w *written) {
		for d := range 20 {
			for v := range 4 {
				at := start.Add(time.Duration(d*50+v*7) * time.Minute)
				w.one(fmt.Sprintf("doc%d@v%04d", d, v+1), "c:title", at, fmt.Sprintf("T%d", v))
			}
		}
	}},
	{name: "microseconds", write: later(5, 40, 1357*time.Microsecond, time.Second, func(s int, at time.Time) string { return fmt.Sprintf("s%d|%d", s, at.UnixMicro()) })},
	{name: "days since 1970", write: temps(5, 60, 5*time.Hour, func(s int, at time.Time) string { return fmt.Sprintf("sensor%d#%d", s, at.Unix()/86400) })},
	{name: "hours since 1970", write: temps(5, 60, 13*time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("sensor%d#%d", s, at.Unix()/3600) })},
	{name: "minutes since 1970", write: temps(5, 60, 7*time.Second, func(s int, at time.Time) string { return fmt.Sprintf("sensor%d#%d", s, at.Unix()/60) })},
	{name: "weeks", write: temps(5, 60, 11*time.Hour, func(s int, at time.Time) string {
		year, week := at.ISOWeek()
		return fmt.Sprintf("s%d#%d-W%02d", s, year, week)
	})},
	{name: "quarters", asks: "[K24]", write: later(5, 9, 40*24*time.Hour, time.Hour, func(s int, at time.Time) string {
		return fmt.Sprintf("s%d#%d-Q%d", s, at.Year(), (int(at.Month())+2)/3)
	})},
	{name: "days of the year", write: temps(5, 60, 11*time.Hour, keyOf("s%d#{2006002}"))},
	{name: "local hours, one ahead", asks: "[K24]", write: temps(5, 100, 13*time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("s%d#%s", s, at.Add(time.Hour).Format("2006-01-02T15"))
	})},
	{name: "local days, five behind", asks: "[K24]", write: temps(5, 100, 93*time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("s%d#%s", s, at.Add(-5*time.Hour).Format("2006-01-02"))
	})},
	{name: "local seconds, five behind", asks: "[K24]", write: temps(5, 60, 13*time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("s%d#%s", s, at.Add(-5*time.Hour).Format("2006-01-02T15:04:05"))
	})},
	{name: "local seconds, two ahead, written later", asks: "[K24]", write: later(5, 60, 13*time.Minute, 3*time.Second, func(s int, at time.Time) string {
		return fmt.Sprintf("s%d#%s", s, at.Add(2*time.Hour).Format("2006-01-02T15:04:05"))
	})},
	{name: "offsets: milliseconds in 4 bytes of an hour", asks: "[C08]", write: each(4, 200, 41*time.Second, func(w *written, s, i int, at time.Time) {
		name := string(binary.BigEndian.AppendUint32(nil, uint32(at.Sub(at.Truncate(time.Hour)).Milliseconds())))
		w.put(fmt.Sprintf("s%d#%s", s, at.Format("2006010215")), "m", name, at.Add(2*time.Second), doubled(float64(i)))
		w.event(at, float64(i))
	})},
	{name: "offsets: seconds in 2 bytes", write: each(4, 200, 41*time.Second, func(w *written, s, i int, at time.Time) {
		name := string(binary.BigEndian.AppendUint16(nil, uint16(at.Sub(at.Truncate(time.Hour))/time.Second)))
		w.put(fmt.Sprintf("s%d#%s", s, at.Format("2006010215")), "m", name, at, doubled(float64(i)))
		w.event(at, float64(i))
	})},
	{name: "offsets: milliseconds in 3 bytes, written later", asks: "Are column names counts", write: each(4, 200, 41*time.Second, func(w *written, s, i int, at time.Time) {
		name := string(binary.BigEndian.AppendUint32(nil, uint32(at.Sub(at.Truncate(time.Hour)).Milliseconds()))[1:])
		w.put(fmt.Sprintf("s%d#%s", s, at.Format("2006010215")), "m", name, at.Add(time.Second), doubled(float64(i)))
		w.event(at, float64(i))
	})},
	{name: "columns are times", asks: "[C08]", write: each(4, 40, 41*time.Second, func(w *written, s, i int, at time.Time) {
		w.put(fmt.Sprintf("s%d", s), "m", at.Format(time.RFC3339), at.Add(2*time.Second), text(i))
		w.event(at, i)
	})},
	{name: "columns are milliseconds", asks: "[C08]", write: each(4, 40, 41*time.Second, func(w *written, s, i int, at time.Time) {
		w.put(fmt.Sprintf("s%d#2026-11-20", s), "m", fmt.Sprint(at.UnixMilli()), at.Add(2*time.Second), text(i))
		w.event(at, i)
	})},
	{name: "columns are dates", asks: "[C08]", write: each(4, 15, 24*time.Hour, func(w *written, s, i int, at time.Time) {
		w.put(fmt.Sprintf("s%d", s), "m", at.Format("2006-01-02"), at.Add(25*time.Hour), text(i))
		w.event(at, i)
	})},
	{name: "two programs: users and orders", asks: "tells kinds of rows apart", write: each(8, 10, time.Hour, func(w *written, s, i int, at time.Time) {
		w.cell(fmt.Sprintf("user#%d#%d", s, at.Unix()), "f:name", at, fmt.Sprintf("N%d", i))
		w.one(fmt.Sprintf("order#%d#%d", s, at.Unix()), "f:amount", at, i)
	})},
	{name: "two programs: seconds and milliseconds", asks: "Is it a time", write: func(w *written) {
		temps(8, 20, time.Hour, keyOf("s%d#{unix}"))(w)
		temps(8, 7, time.Hour, keyOf("t%d#{ms}"))(w)
	}},
	{name: "empty values", asks: "empty", write: each(4, 50, 13*time.Minute, func(w *written, s, i int, at time.Time) {
		v := any(i)
		if i%10 == 0 {
			v = ""
		}
		w.one(fmt.Sprintf("s%d#%s", s, at.Format("2006-01-02")), "m:v", at, v)
	})},
	{name: "binary values of several sizes", write: each(4, 50, 13*time.Minute, func(w *written, s, i int, at time.Time) {
		row := fmt.Sprintf("s%d#%s", s, at.Format("2006-01-02"))
		w.cell(row, "m:on", at, []byte{byte(i % 2)})
		w.cell(row, "m:n", at, binary.BigEndian.AppendUint32(nil, uint32(i)))
		w.cell(row, "m:le", at, binary.LittleEndian.AppendUint64(nil, math.Float64bits(1.5*float64(i+1))))
		w.event(at, i%2 == 1, i, 1.5*float64(i+1))
	})},
	{name: "decimal commas", write: each(4, 50, 13*time.Minute, func(w *written, s, i int, at time.Time) {
		w.one(fmt.Sprintf("s%d#%s", s, at.Format("2006-01-02")), "m:v", at, fmt.Sprintf("%d,5", i))
	})},
	{name: "UUIDs as series", write: temps(5, 60, 53*time.Minute, func(s int, at time.Time) string { return uuidOf(s) + "#" + at.Format("20060102") })},
	{name: "addresses", write: temps(5, 60, 53*time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("10.0.%d.1|u%d@example.com|%s", s, s, at.Format("20060102"))
	})},
	{name: "some keys with another delimiter", asks: "another structure", write: each(8, 30, 53*time.Minute, func(w *written, s, i int, at time.Time) {
		sep := "#"
		if s == 7 {
			sep = "/"
		}
		w.one(fmt.Sprintf("s%d%s%s", s, sep, at.Format("2006-01-02")), "m:v", at, i)
	})},
	{name: "timestamps are 0", asks: "Timestamps of cells", write: each(5, 40, 13*time.Minute, func(w *written, s, i int, at time.Time) {
		w.cell(fmt.Sprintf("s%d#%d", s, at.UnixMilli()), "m:v", time.Unix(0, 0), i)
		w.event(at, i)
	})},
	{name: "imported years later", asks: "Were the cells written later", write: each(5, 40, 13*time.Minute, func(w *written, s, i int, at time.Time) {
		w.cell(fmt.Sprintf("s%d#%d", s, at.UnixMilli()), "m:v", start.AddDate(3, 0, 0).Add(time.Duration(i)*time.Second), i)
		w.event(at, i)
	})},
	{name: "hexadecimal seconds", asks: "[K24]", write: later(5, 40, 13*time.Minute, time.Second, func(s int, at time.Time) string { return fmt.Sprintf("s%d#%08x", s, at.Unix()) })},
	{name: "reversed dates", asks: "[K24]", write: later(5, 40, 24*time.Hour, time.Hour, func(s int, at time.Time) string {
		day, _ := strconv.Atoi(at.Format("20060102"))
		return fmt.Sprintf("s%d#%08d", s, 99999999-day)
	})},
	{name: "padded numbers that begin with 0", write: temps(8, 30, 53*time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("%07d#%s", s+3, at.Format("2006-01-02")) })},
	{name: "padded numbers of 20 digits", write: temps(8, 30, 53*time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("%020d#%s", s+3, at.Format("2006-01-02")) })},
	{name: "padded numbers and zero", write: temps(8, 30, 53*time.Minute, keyOf("%03d|x|{2006-01-02}"))},
	{name: "phone numbers", write: temps(8, 30, 53*time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("1650%06d#%s", s*7919, at.Format("2006-01-02"))
	})},
	{name: "seconds with a fraction", asks: "[K24]", write: later(5, 40, 1313*time.Millisecond, time.Second, func(s int, at time.Time) string {
		return fmt.Sprintf("s%d#%.3f", s, float64(at.UnixMilli())/1000)
	})},
	{name: "time before the series", write: temps(5, 40, time.Minute, func(s int, at time.Time) string { return at.Format("20060102150405") + "#sensor" + strconv.Itoa(s) })},
	{name: "time with a space", asks: "[K24]", write: later(5, 40, time.Minute, time.Second, keyOf("s%d,{2006-01-02 15:04:05}"))},
	{name: "time and a sequence number", write: each(5, 30, time.Minute, func(w *written, s, i int, at time.Time) {
		for n := range 2 {
			w.one(fmt.Sprintf("s%d#%d#%03d", s, at.UnixMilli(), n), "m:v", at, i*2+n)
		}
	})},
	{name: "postal codes, long numbers and decimals as values", write: each(4, 30, 13*time.Minute, func(w *written, s, i int, at time.Time) {
		row := fmt.Sprintf("s%d#%s", s, at.Format("2006-01-02"))
		for name, v := range map[string]string{"zip": fmt.Sprintf("%05d", 139+i), "long": fmt.Sprintf("1234567890123456%04d", i), "precise": fmt.Sprintf("0.1234567890123456%04d", i)} {
			w.cell(row, "m:"+name, at, v)
		}
		w.event(at, fmt.Sprintf("%05d", 139+i), fmt.Sprintf("1234567890123456%04d", i), fmt.Sprintf("0.1234567890123456%04d", i))
	})},
	{name: "JSON with long numbers", write: each(4, 30, 13*time.Minute, func(w *written, s, i int, at time.Time) {
		n := fmt.Sprintf("1234567890123456%04d", i)
		w.cell(fmt.Sprintf("s%d#%s", s, at.Format("2006-01-02")), "j:doc", at, []byte(`{"id":`+n+`,"ok":true}`))
		w.event(at, []byte(n), true)
	})},
	{name: "columns some milliseconds apart", asks: "belong together", write: each(4, 60, 13*time.Minute, func(w *written, s, i int, at time.Time) {
		row := fmt.Sprintf("s%d#%s", s, at.Format("2006-01-02"))
		w.cell(row, "m:a", at, i)
		w.cell(row, "m:b", at.Add(5*time.Millisecond), i)
		w.cell(row, "m:c", at.Add(9*time.Millisecond), i)
		w.event(at, i, i, i)
	})},
	{name: "text and 8 bytes of milliseconds", write: later(5, 40, time.Minute, time.Second, func(s int, at time.Time) string {
		return fmt.Sprintf("dev%d#", s) + string(be8(at.UnixMilli()))
	})},
	{name: "starts of days in seconds", write: temps(5, 60, 53*time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("dev%d#%d", s, at.Unix()/86400*86400)
	})},
	{name: "reversed domains", write: temps(5, 60, 53*time.Minute, keyOf("com.example.host%d#{2006-01-02}"))},
	{name: "day and hour apart", write: temps(5, 60, 23*time.Minute, keyOf("dev%d#{20060102}#{15}"))},
	{name: "day and time apart, written later", asks: "in buckets of 24h", write: later(5, 60, 17*time.Minute, time.Second, keyOf("dev%d#{20060102}#{150405}"))},
	{name: "basic ISO 8601, written later", asks: "[K24]", write: later(5, 60, 17*time.Minute, time.Second, keyOf("dev%d#{20060102T150405Z}"))},
	{name: "opaque values", asks: "What do these bytes mean?", write: each(4, 30, 13*time.Minute, func(w *written, s, i int, at time.Time) {
		sum := md5.Sum([]byte{byte(s), byte(i)})
		w.one(fmt.Sprintf("s%d#%s", s, at.Format("2006-01-02")), "m:z", at, sum[:5])
	})},
	{name: "binary identifiers of 64 bits", write: each(4, 30, 13*time.Minute, func(w *written, s, i int, at time.Time) {
		sum := md5.Sum([]byte{byte(s), byte(i)})
		w.one(fmt.Sprintf("s%d#%s", s, at.Format("2006-01-02")), "m:id", at, sum[:8])
	})},
	{name: "single-digit codes and flags", write: each(4, 30, 13*time.Minute, func(w *written, s, i int, at time.Time) {
		row := fmt.Sprintf("s%d#%s", s, at.Format("2006-01-02"))
		w.cell(row, "m:flag", at, []string{"Y", "N"}[i%2])
		w.cell(row, "m:code", at, i%3)
		w.event(at, []string{"Y", "N"}[i%2], i%3)
	})},
	{name: "late at midnight", asks: "a bucket of events", write: each(4, 100, 47*time.Minute, func(w *written, s, i int, at time.Time) {
		w.one(fmt.Sprintf("s%d#%s", s, at.Add(-40*time.Second).Format("20060102")), "m:v", at, i)
	})},
	{name: "begin and end", asks: "Is it a time", write: temps(6, 30, 47*time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("trip%d#%d#%d", s, at.Unix(), at.Add(20*time.Minute).Unix())
	})},
	{name: "end and begin", asks: "Is it a time", write: later(6, 30, 47*time.Minute, 2*time.Second, func(s int, at time.Time) string {
		return fmt.Sprintf("trip%d#%d#%d", s, at.Add(20*time.Minute).Unix(), at.Unix())
	})},
	{name: "order ids", write: temps(6, 30, 47*time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("17%011d#%s", s*991, at.Format("2006-01-02"))
	})},
	{name: "one bucket", write: temps(6, 10, 7*time.Minute, keyOf("s%d#{2006-01}"))},
	{name: "seconds and 2% of milliseconds", asks: "times of events", write: each(5, 60, time.Minute, func(w *written, s, i int, at time.Time) {
		key := fmt.Sprintf("s%d#%d", s, at.Unix())
		if i%50 == 49 {
			key = fmt.Sprintf("s%d#%d", s, at.UnixMilli())
		}
		w.one(key, "m:v", at, i)
	})},
	{name: "decimals of money", write: each(5, 60, time.Minute, func(w *written, s, i int, at time.Time) {
		w.one(fmt.Sprintf("s%d#%d", s, at.Unix()), "m:v", at, fmt.Sprintf("-%d.25", i))
	})},
	{name: "ms in keys, us in value", write: each(5, 60, time.Minute, func(w *written, s, i int, at time.Time) {
		w.one(fmt.Sprintf("s%d#%d", s, at.UnixMilli()), "m:at", at, at.UnixMicro())
	})},
	{name: "reversed seconds of max int32", write: later(5, 60, time.Minute, time.Second, func(s int, at time.Time) string {
		return fmt.Sprintf("s%d#%010d", s, 2147483647-at.Unix())
	})},
	{name: "centiseconds", asks: "[K24]", write: later(5, 60, time.Minute, time.Second, func(s int, at time.Time) string {
		return fmt.Sprintf("s%d#%d", s, at.UnixMilli()/10)
	})},
	{name: "minutes since 2020", asks: "those of writes", write: later(5, 60, time.Minute, time.Second, func(s int, at time.Time) string {
		return fmt.Sprintf("s%d#%07d", s, (at.Unix()-1577836800)/60)
	})},
	{name: "milliseconds in base 36", asks: "[K24]", write: later(5, 60, time.Minute, time.Second, func(s int, at time.Time) string {
		return fmt.Sprintf("s%d#%s", s, b36(at.UnixMilli()))
	})},
	{name: "years of two digits", asks: "[K24]", write: later(5, 60, 25*time.Hour, time.Second, keyOf("s%d#{060102}"))},
	{name: "phone numbers as values", write: valued(func(i int) any { return fmt.Sprintf("+49%d", 1000+i) })},
	{name: "decimals with a plus sign", write: valued(func(i int) any { return fmt.Sprintf("+%d.5", i) })},
	{name: "hexadecimal identifiers like 12e5", write: valued(func(i int) any { return fmt.Sprintf("%de%d", i%9+1, i%7) })},
	{name: "identifiers of 17 digits and a fraction", write: valued(func(i int) any {
		if i == 0 {
			return "1.5"
		}
		return fmt.Sprintf("1234567890123%04d", i)
	})},
	{name: "seconds in keys, milliseconds in cells", asks: "in buckets of 1s", write: temps(5, 40, 1713*time.Millisecond, keyOf("s%d#{unix}"))},
}

// localDays writes events in rows of the days of a zone.
func localDays(n, events int, step time.Duration, hours int, key func(s int, at time.Time) string) func(w *written) {
	return temps(n, events, step, func(s int, at time.Time) string { return key(s, at.Add(time.Duration(hours)*time.Hour)) })
}

// valued writes events with one value as text.
func valued(value func(i int) any) func(w *written) {
	return each(4, 60, 13*time.Minute, func(w *written, s, i int, at time.Time) {
		w.one(fmt.Sprintf("s%d#%d", s, at.Unix()), "m:v", at, value(i))
	})
}

// doubtful are tables that a sample cannot tell from others, which need other schemas.
var doubtful = []tableCase{
	{name: "10^13 minus milliseconds", asks: "[K24]", write: temps(9, 60, 17*time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("s%d_%013d", s, 10000000000000-at.UnixMilli()) })},
	{name: "10^13 + 1 minus milliseconds", asks: "[K24]", write: temps(9, 60, 17*time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("s%d_%013d", s, 10000000000001-at.UnixMilli()) })},
	{name: "10^10 minus seconds", asks: "[K24]", write: temps(3, 200, 11*time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("s%d#%010d", s, 10000000000-at.Unix()) })},
	{name: "10^16 minus microseconds", asks: "[K24]", write: temps(3, 200, 11*time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("s%d#%016d", s, 10000000000000000-at.UnixMicro()) })},
	{name: "negative milliseconds in 8 bytes", asks: "[K24]", write: temps(3, 200, 11*time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("s%d#", s) + string(be8(-at.UnixMilli())) })},
	{name: "the least int64 minus milliseconds", asks: "[K24]", write: temps(3, 200, 11*time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("s%d#", s) + string(be8(math.MinInt64-at.UnixMilli()))
	})},
	{name: "2^31 minus seconds", asks: "[K24]", write: temps(3, 200, 11*time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("s%d#%010d", s, int64(1<<31)-at.Unix()) })},
	{name: "10^13 minus hours in milliseconds", asks: "?", write: temps(3, 200, 11*time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("s%d#%013d", s, 10000000000000-at.Truncate(time.Hour).UnixMilli())
	})},
	{name: "local days, New York", asks: "[K24]", write: localDays(5, 300, 17*time.Minute, -5, keyOf("dev%d#{2006-01-02}"))},
	{name: "local days, 75 of them", asks: "[K24]", write: localDays(3, 600, 3*time.Hour, -5, keyOf("dev%d#{2006-01-02}"))},
	{name: "local days, 75 of them, Tokyo", asks: "[K24]", write: localDays(3, 600, 3*time.Hour, 9, keyOf("dev%d#{20060102}"))},
	{name: "weeks of the year", asks: "begin again", write: temps(9, 300, 170*time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("dev%d#%d-%d", s, at.Year(), (at.YearDay()+int(time.Date(at.Year(), 1, 1, 0, 0, 0, 0, time.UTC).Weekday())-1)/7+1)
	})},
	{name: "days of the month", asks: "the day of the month", write: temps(5, 300, 37*time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("dev%d#2026#11#%d", s, at.Day()) })},
	{name: "days of the month, delimiter -", asks: "begin again", write: temps(5, 300, 17*time.Minute, func(s int, at time.Time) string {
		return "dev" + strconv.Itoa(s) + at.Add(-5*time.Hour).Format("#2006-01-02")
	})},
	{name: "month and local hour apart", asks: "the hour of the day", write: temps(5, 300, 17*time.Minute, func(s int, at time.Time) string {
		return fmt.Sprintf("dev%d#%s#%d", s, at.Format("2006-01"), at.Add(9*time.Hour).Hour())
	})},
	{name: "hours of the day", asks: "begin again", write: temps(5, 100, 7*time.Minute, func(s int, at time.Time) string { return fmt.Sprintf("dev%d#h%02d", s, at.Hour()+1) })},
	{name: "versions", asks: "such as versions", write: valued(func(i int) any { return fmt.Sprintf("1.%d", i%30) })},
	{name: "times with an offset", asks: "an offset", write: valued(func(i int) any { return fmt.Sprintf("2026-11-20T01:%02d:00+02:00", i) })},
	{name: "a counter that is zero", asks: "zero", write: valued(func(int) any { return make([]byte, 8) })},
	{name: "binary floats 1 and infinity", asks: "Which is right", write: valued(func(i int) any { return be8(int64(math.Float64bits([]float64{1, math.Inf(1)}[i%2]))) })},
	{name: "little-endian flags as float32", asks: "1 here", write: valued(func(i int) any { return le4(float32(i % 2)) })},
	{name: "little-endian counts as float32", asks: "1 here", write: valued(func(i int) any { return le4(float32(i)) })},
	{name: "integers that could be floats", asks: "65 here", write: valued(func(i int) any { return []byte{0, 0, 0, byte(65 + i%3)} })},
	{name: "long integers beside decimals", asks: "does not keep \"9007199254740993\"", write: valued(func(i int) any { return []string{"9007199254740993", "1.5"}[i%2] })},
	{name: "a column of bytes", asks: "names of columns are UTF-8", write: each(4, 60, 13*time.Minute, func(w *written, s, i int, at time.Time) {
		row := fmt.Sprintf("s%d#%d", s, at.Unix())
		w.cell(row, "m:v", at, i)
		w.cell(row, "m:\xff\xfe", at, i)
	})},
	{name: "4 zero bytes", asks: "zero", write: valued(func(int) any { return make([]byte, 4) })},
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
		t.Errorf("wrong without a question %q: %s\n(-want +got)\n%s", asks, p.Schema, cut(differs))
	}
	if differs == "" && asks != "" && !asked {
		t.Errorf("right, but without the question %q: %s", asks, p.Schema)
	}
	if differs == "" && len(p.Report.Findings) > 0 && !asked {
		t.Errorf("right, but with findings: %+v\n%s", p.Report.Findings, p.Schema)
	}
	return differs == ""
}

// cut shortens text.
func cut(s string) string { return s[:min(len(s), 1500)] }

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
