package infer_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// design is a documented design of a table, with a writer that knows nothing of btgen.
type design struct {
	name   string
	source string // where it is documented, in Markdown
	table  string
	gc     codec.GCRule // of all families; the server of the test would apply it to the old data
	write  func(h *hand)
	ask    string // part of the question that must be asked about what a sample does not show
	except string // what the manual says of it
}

// hand collects the cells of a writer.
type hand struct {
	keys []string
	rows map[string][]bigtable.ReadItem // by key
}

// put sets a cell.
func (h *hand) put(row, family, qualifier string, at time.Time, value []byte) {
	if h.rows[row] == nil {
		h.keys = append(h.keys, row)
	}
	h.rows[row] = append(h.rows[row], bigtable.ReadItem{Row: row, Column: family + ":" + qualifier, Timestamp: bigtable.Time(at), Value: value})
}

// written returns the cells of a design.
func (d *design) written() *hand {
	h := &hand{rows: map[string][]bigtable.ReadItem{}}
	d.write(h)
	return h
}

// create creates the table of a design and writes its rows.
func (d *design) create(ctx context.Context, admin *bigtable.AdminClient, client *bigtable.Client) error {
	h := d.written()
	conf := &bigtable.TableConf{TableID: d.table, ColumnFamilies: map[string]bigtable.Family{}}
	var muts []*bigtable.Mutation
	for _, key := range h.keys {
		m := bigtable.NewMutation()
		for _, c := range h.rows[key] {
			family, qualifier, _ := strings.Cut(c.Column, ":")
			conf.ColumnFamilies[family] = bigtable.Family{}
			m.Set(family, qualifier, c.Timestamp, c.Value)
		}
		muts = append(muts, m)
	}
	if err := admin.CreateTableFromConf(ctx, conf); err != nil {
		return err
	}
	errs, err := client.Open(d.table).ApplyBulk(ctx, h.keys, muts)
	if err == nil && errs != nil {
		err = fmt.Errorf("%v", errs)
	}
	return err
}

func age(days int) codec.GCRule {
	return codec.GCRule{Kind: codec.GCMaxAge, MaxAge: time.Duration(days) * 24 * time.Hour}
}

func versions(n int) codec.GCRule { return codec.GCRule{Kind: codec.GCMaxVersions, MaxVersions: n} }

const timeSeries = "[Bigtable: schema design for time series data](https://cloud.google.com/bigtable/docs/schema-design-time-series)"

// monday is the start of the first week of the balloons.
var monday = time.Date(2021, 3, 1, 0, 0, 0, 0, time.UTC)

// reading is a reading of a weather balloon.
type reading struct {
	location                     string
	balloon, week                int
	at                           time.Time
	pressure, humidity, altitude int
	temperature                  float64
}

// balloons calls fly for the readings of some balloons: one a minute, in four weeks.
func balloons(fly func(r reading)) {
	for i, location := range []string{"us-west2", "us-west2", "asia-south2"} {
		for week := range 4 {
			for n := range 40 {
				at := monday.AddDate(0, 0, 7*week+n%7).Add(time.Duration(12*60+n) * time.Minute)
				fly(reading{location, 3698 + i*15, week + 1, at, 94558 - 13*n, 58 + n%9, 612 + n, 9.5 + float64(n)/10})
			}
		}
	}
}

func text(v any) []byte { return []byte(fmt.Sprint(v)) }

// proto returns a reading as a protobuf message.
func (r *reading) proto() []byte {
	b := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(r.pressure))
	b = protowire.AppendFixed64(protowire.AppendTag(b, 2, protowire.Fixed64Type), math.Float64bits(r.temperature))
	b = protowire.AppendVarint(protowire.AppendTag(b, 3, protowire.VarintType), uint64(r.humidity))
	return protowire.AppendVarint(protowire.AppendTag(b, 4, protowire.VarintType), uint64(r.altitude))
}

// columns puts a reading into a column per value.
func (r *reading) columns(h *hand, row string) {
	h.put(row, "measurements", "pressure", r.at, text(r.pressure))
	h.put(row, "measurements", "temperature", r.at, text(r.temperature))
	h.put(row, "measurements", "humidity", r.at, text(r.humidity))
	h.put(row, "measurements", "altitude", r.at, text(r.altitude))
}

func doubled(v float64) []byte { return binary.BigEndian.AppendUint64(nil, math.Float64bits(v)) }

// object returns JSON with the members in the order of their names.
func object(v map[string]any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

var noon = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)

// designs are the documented designs.
var designs = []design{{
	name: "Weather balloons, new columns for events", source: timeSeries, table: "balloon_columns", gc: age(364),
	write: func(h *hand) {
		balloons(func(r reading) {
			for _, m := range []struct {
				name  string
				value any
			}{{"pressure", r.pressure}, {"temperature", r.temperature}, {"humidity", r.humidity}, {"altitude", r.altitude}} {
				h.put(fmt.Sprintf("%s#%d#%s#week%d", r.location, r.balloon, m.name, r.week), "measurements", fmt.Sprint(m.value), r.at, nil)
			}
		})
	},
}, {
	name: "Weather balloons, new cells for events", source: timeSeries, table: "balloon_cells", gc: age(364),
	write: func(h *hand) {
		balloons(func(r reading) { r.columns(h, fmt.Sprintf("%s#%d#week%d", r.location, r.balloon, r.week)) })
	},
}, {
	name: "Weather balloons, serialized in cells of a bucket", source: timeSeries, table: "balloon_blobs", gc: codec.GCRule{},
	write: func(h *hand) {
		balloons(func(r reading) {
			h.put(fmt.Sprintf("%s#%d#week%d", r.location, r.balloon, r.week), "measurements", "measurements_blob", r.at, r.proto())
		})
	},
}, {
	name: "Weather balloons, single timestamp, serialized", source: timeSeries, table: "balloon_messages", gc: age(30),
	write: func(h *hand) {
		balloons(func(r reading) {
			h.put(fmt.Sprintf("%s#%d#%s", r.location, r.balloon, r.at.Format("2006-01-02-1504")), "measurements", "measurements_blob", r.at, r.proto())
		})
	},
}, {
	name: "Weather balloons, single timestamp, unserialized", source: timeSeries, table: "balloon_rows", gc: codec.GCRule{Kind: codec.GCUnion, Rules: []codec.GCRule{age(30), versions(1)}},
	write: func(h *hand) {
		balloons(func(r reading) {
			r.columns(h, fmt.Sprintf("%s#%d#%s", r.location, r.balloon, r.at.Format("2006-01-02-1504")))
		})
	},
}, {
	name: "Activity feed of users, newest first (Long.MAX_VALUE minus milliseconds)", source: "[Bigtable: schema design best practices, reverse timestamps](https://cloud.google.com/bigtable/docs/schema-design#row-keys)", table: "feed", gc: versions(1),
	write: func(h *hand) {
		for user := range 20 {
			for n := range 15 {
				at := noon.Add(time.Duration(user*911+n*7919) * time.Millisecond)
				row := fmt.Sprintf("user%d#%019d", user, math.MaxInt64-at.UnixMilli())
				h.put(row, "a", "verb", at.Add(time.Second), text([]string{"liked", "shared", "followed"}[n%3]))
				h.put(row, "a", "object", at.Add(time.Second), text(fmt.Sprintf("post/%d", n)))
				if n%4 == 0 {
					h.put(row, "a", "comment", at.Add(time.Second), text("So true!"))
				}
			}
		}
	},
}, {
	name: "IoT readings by device and day", source: "[Bigtable: time buckets](https://cloud.google.com/bigtable/docs/schema-design-time-series#time-buckets)", table: "iot", gc: age(90),
	write: func(h *hand) {
		for device := range 10 {
			for day := range 5 {
				at := time.Date(2026, 3, 1+day, 0, 0, 5, 0, time.UTC)
				row := fmt.Sprintf("device-%04d#%s", device, at.Format("20060102"))
				for n := range 24 {
					at := at.Add(time.Duration(n) * time.Hour)
					h.put(row, "m", "temp", at, doubled(20.5+float64(n)))
					h.put(row, "m", "count", at, binary.BigEndian.AppendUint64(nil, uint64(n*3)))
					if n%6 == 0 {
						h.put(row, "m", "err", at, text("E42"))
					}
				}
			}
		}
	},
}, {
	name: "Ticks by exchange and symbol", source: "[Bigtable: financial time series](https://cloud.google.com/bigtable/docs/schema-design-time-series)", table: "ticks", gc: codec.GCRule{},
	write: func(h *hand) {
		for i, symbol := range []string{"GOOG", "AAPL", "MSFT", "IBM"} {
			for n := range 80 {
				at := noon.Add(time.Duration(n*137+i) * 1357 * time.Microsecond)
				row := fmt.Sprintf("%s:%s:%016d", []string{"XNAS", "XNYS"}[i/3], symbol, at.UnixMicro())
				h.put(row, "t", "px", at.Truncate(time.Millisecond), text(180.25+float64(n)/100))
				h.put(row, "t", "sz", at.Truncate(time.Millisecond), text(100*n))
			}
		}
	},
}, {
	name: "JSON documents, cells timed by their writing", source: "[Bigtable: single-timestamp rows, serialized](https://cloud.google.com/bigtable/docs/schema-design-time-series#single-timestamp)", table: "documents", gc: age(30),
	write: func(h *hand) {
		for sensor := range 12 {
			for n := range 25 {
				at := noon.Add(time.Duration(n*61000+sensor*7) * time.Millisecond)
				doc := map[string]any{"temp": 20.5 + float64(n), "ok": n%2 == 0, "site": "oslo", "tags": []string{"a", "b"}, "deviceId": sensor}
				if n%5 == 0 {
					doc["note"] = "recalibrated"
				}
				h.put(fmt.Sprintf("acme/sensor-%d/%013d", sensor, at.UnixMilli()), "d", "json", at.Add(time.Duration(n+1)*time.Second), object(doc))
			}
		}
	},
}, {
	name: "Metrics with a salt of another hash", source: "[Bigtable: avoid hotspots](https://cloud.google.com/bigtable/docs/schema-design#row-keys)", table: "metrics", gc: age(7),
	write: func(h *hand) {
		for _, metric := range []string{"cpu.load", "mem.free", "disk.used"} {
			for host := range 20 {
				name := fmt.Sprintf("web-%d", host)
				salt := crc32.ChecksumIEEE([]byte(metric+name)) % 16
				for hour := range 4 {
					start := noon.Add(time.Duration(hour) * time.Hour)
					row := fmt.Sprintf("%02d#%s#%s#%s", salt, metric, name, start.Format("2006010215"))
					for n := range 12 {
						h.put(row, "m", "v", start.Add(time.Duration(n)*5*time.Minute), doubled(float64(n)/8))
					}
				}
			}
		}
	},
	ask: "a salt?", except: "the salt: another hash function computes it, so the proposal has it as a series value, and asks about it",
}, {
	name: "Last state of devices, without a time in the key", source: "[Bigtable: timestamps and versions](https://cloud.google.com/bigtable/docs/schema-design#timestamps)", table: "states", gc: versions(5),
	write: func(h *hand) {
		for tenant := range 4 {
			for device := range 15 {
				row := fmt.Sprintf("tenant-%c|device-%d", 'a'+tenant, device)
				for n := range 5 {
					at := noon.Add(time.Duration(n*600+device) * time.Second)
					h.put(row, "s", "battery", at, text(90-n))
					h.put(row, "s", "state", at, text([]string{"on", "off"}[n%2]))
				}
			}
		}
	},
}}
