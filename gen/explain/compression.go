package explain

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/internal/files"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// Compression is how the events of a table compress in its layout, and would with other patterns. It
// is measured by btgen-live stats, from a sample.
type Compression struct {
	Version int    `json:"btgen_compression"`
	Schema  string `json:"schema"`
	Table   string `json:"table"` // without a prefix
	// Series and Fields are those of the events, such as "pressure: int64".
	Series     []string     `json:"series"`
	Fields     []string     `json:"fields"`
	Events     int          `json:"events"` // that were compressed
	BlockBytes int          `json:"block_bytes"`
	Designs    []Compressed `json:"designs"` // the layout of the table first
}

// Compressed is what an event takes in a design, in bytes.
type Compressed struct {
	Pattern string  `json:"pattern"`
	Bucket  string  `json:"bucket,omitempty"`
	Stored  float64 `json:"stored"` // before compression
	Zstd    float64 `json:"zstd"`
	Snappy  float64 `json:"snappy"`
}

// compressionVersion is the version of the JSON of measurements.
const compressionVersion = 1

// CompressionOf returns a measurement of a table without figures.
func CompressionOf(l *layout.Layout, t *layout.Table) *Compression {
	return &Compression{
		Version: compressionVersion, Schema: l.Name, Table: t.ID, Series: typesOf(l.Series), Fields: typesOf(l.Fields),
	}
}

// typesOf describes values by their names and types.
func typesOf(fields []layout.Field) []string {
	out := make([]string, len(fields))
	for i := range fields {
		out[i] = fields[i].Name + ": " + fields[i].Type.String()
	}
	return out
}

// CompressionError is the error for a measurement that is not of the tables that are explained.
type CompressionError struct {
	Table  string // empty if the text is no measurement
	Reason string
}

// Error says what is wrong, and what to do.
func (e *CompressionError) Error() string {
	if e.Table == "" {
		return e.Reason + "; want the output of: btgen-live stats NAME --sample 1000 --format json"
	}
	return fmt.Sprintf("the compression of table %s was measured with other events: %s; measure it again",
		words.Printable(e.Table), words.Printable(e.Reason))
}

// mostMeasured is the maximum size of a file of measurements, in bytes.
const mostMeasured = 16 << 20

// ReadCompressions reads the output of btgen-live stats as JSON from a file of at most 16 MiB. The
// error is a *[CompressionError] if it has no measurements.
func ReadCompressions(path string) ([]Compression, error) {
	text, err := files.Read(path, mostMeasured)
	if err != nil {
		return nil, err
	}
	return parseCompressions(text)
}

// parseCompressions parses the output of btgen-live stats.
func parseCompressions(text []byte) ([]Compression, error) {
	var tables []struct{ Compression *Compression }
	if err := json.Unmarshal(text, &tables); err != nil {
		var syntax *json.SyntaxError
		reason := "it has no figures of tables"
		if errors.As(err, &syntax) {
			reason = fmt.Sprintf("it is no JSON, from byte %d on", syntax.Offset)
		}
		return nil, &CompressionError{Reason: reason}
	}
	var out []Compression
	for _, t := range tables {
		c := t.Compression
		switch {
		case c == nil:
			continue
		case c.Version != compressionVersion:
			return nil, &CompressionError{Reason: fmt.Sprintf("version %d of the figures is unknown", c.Version)}
		case !c.valid():
			return nil, &CompressionError{Reason: "the figures of table " + words.Printable(c.Table) + " are not sizes"}
		}
		out = append(out, *c)
	}
	if out == nil {
		const reason = "no table has measured compression: the sample had no events, or --sample is missing"
		return nil, &CompressionError{Reason: reason}
	}
	return out, nil
}

// valid reports whether all figures are sizes, in bytes per event.
func (c *Compression) valid() bool {
	const most = 1 << 30
	wrong := func(d Compressed) bool {
		return min(d.Stored, d.Zstd, d.Snappy) <= 0 || max(d.Stored, d.Zstd, d.Snappy) > most
	}
	return c.Events > 0 && c.BlockBytes > 0 && len(c.Designs) > 0 && !slices.ContainsFunc(c.Designs, wrong)
}

// measurements are the measurements of tables.
type measurements map[*layout.Table]*Compression

// match returns the measurements of tables.
func match(measured []Compression, schemas []*schema.Schema, layouts []*layout.Layout) (measurements, error) {
	out := measurements{}
	for i := range measured {
		m := &measured[i]
		named := func(t *layout.Table) bool { return t.ID == m.Table }
		n := slices.IndexFunc(layouts, func(l *layout.Layout) bool {
			return l.Name == m.Schema && slices.ContainsFunc(l.Tables, named)
		})
		if n < 0 {
			return nil, &CompressionError{m.Table, "there is no table " + m.Table + " of a schema " + m.Schema}
		}
		l, t := layouts[n], slices.IndexFunc(layouts[n].Tables, named)
		pattern, bucket := designOf(&schemas[n].Tables[t])
		switch d := m.Designs[0]; {
		case out[l.Tables[t]] != nil:
			return nil, &CompressionError{Reason: "table " + words.Printable(m.Table) + " is measured twice"}
		case !slices.Equal(typesOf(l.Series), m.Series) || !slices.Equal(typesOf(l.Fields), m.Fields):
			return nil, &CompressionError{m.Table, "they had " + strings.Join(slices.Concat(m.Series, m.Fields), ", ")}
		case d.Pattern != pattern || d.Bucket != bucket:
			return nil, &CompressionError{m.Table, "its layout was " + designName(d.Pattern, d.Bucket)}
		}
		out[l.Tables[t]] = m
	}
	return out, nil
}
