package layout

import (
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// openTSDB is the name of the values of OpenTSDB in schemas.
const openTSDB = "opentsdb"

// points rejects values of OpenTSDB in tables that it could not have written.
func (r *resolver) points(t *Table, s *schema.Table) {
	if s.Values.V != openTSDB || t.Serialized() {
		return
	}
	refuse := r.refusePoints
	if t.Pattern.Naming() != codec.NamedByTime {
		refuse(s.Values.Pos, "use pattern "+patternsWith(namedByTime)+", and a ttl from: write; or other values", "pattern %s cannot read the columns of OpenTSDB", t.Pattern)
		return
	}
	if len(r.schema.Fields) > 1 {
		refuse(r.schema.Fields[1].Name.Pos, "describe them in a schema with a single field", "OpenTSDB stores one value per time, and events have %d fields", len(r.schema.Fields))
		return
	}
	r.pointField()
	if r.layout.Precision%time.Millisecond != 0 {
		refuse(r.schema.Time.Precision.Pos, "write `time: {precision: 1ms}`", "OpenTSDB stores times in milliseconds: events closer together would overwrite each other")
	}
	hour := t.Bucket
	if hour.Origin = hour.Origin.Truncate(codec.PointBucket); s.Bucket.Every.IsSet() && (t.Bucket.Every != codec.PointBucket || !hour.Origin.Equal(t.Bucket.Origin)) {
		refuse(s.Bucket.Every.Pos, "write `bucket: 1h`", "a row of OpenTSDB has the data points of one hour")
	}
	if t.Sequence {
		refuse(t.KeyPos, "leave {sequence: true} out of the key", "OpenTSDB has one data point per time")
	}
	for i := range t.Families {
		if g := &t.Families[i]; g.HasGC && g.Life.Timestamp != codec.TimestampWrite {
			refuse(g.GCPos, "count from the write: `ttl: {keep: forever, from: write}`, {max_age: 1y, from: write} or {max_versions: 1, from: write}",
				"OpenTSDB gives a cell the time of its writing, also if the cell has the values of an hour")
		}
	}
}

// pointField rejects a field of events that OpenTSDB could not have stored.
func (r *resolver) pointField() {
	for i := range r.schema.Fields {
		f := &r.schema.Fields[i]
		switch {
		case f.Type.V != schema.Int64 && f.Type.V != schema.Float64 && f.Type.V != schema.Invalid:
			r.refusePoints(f.Type.Pos, "write float64, or int64 if all values are integers", "field %q: OpenTSDB has no values of type %s", f.Name.V, f.Type.V)
		case f.Optional.V:
			r.refusePoints(f.Optional.Pos, "remove optional", "field %q: every data point of OpenTSDB has a value", f.Name.V)
		case f.Default.IsSet():
			r.refusePoints(f.Default.Pos, "remove default", "field %q: every data point of OpenTSDB has a value", f.Name.V)
		case f.Values.IsSet():
			r.refusePoints(f.Values.Pos, "remove values from the field", "field %q is %s, but the values of the table are those of OpenTSDB", f.Name.V, f.Values.V)
		}
	}
}

// refusePoints adds an error about values of OpenTSDB.
func (r *resolver) refusePoints(pos diag.Pos, hint, format string, args ...any) {
	r.refuse(pos, "C09", hint, format, args...)
}
