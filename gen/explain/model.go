// Package explain describes tables and reads for people. A [Document] is built once from
// the layouts. It contains example rows and requests as the generated code writes and
// sends them, and a comparison with other designs under the same load. [Text],
// [Markdown], [HTML] and [JSON] render it. Facts about tables come from the layout.
package explain

import "github.com/btgen-dev/btgen/gen/capacity"

// Version is the version of the JSON format. Within a version, fields may be added, but
// not renamed or removed.
const Version = 1

// Document explains the schemas of a project.
type Document struct {
	Version int      `json:"btgen_explain"`
	Schemas []Schema `json:"schemas"`
}

// Schema explains one schema: its tables and the requests of its reader.
type Schema struct {
	Name      string  `json:"name"`
	File      string  `json:"file"`
	Package   string  `json:"package"`
	Doc       string  `json:"doc,omitempty"`
	Precision string  `json:"precision"` // what event times are truncated to, such as 1m
	Load      Load    `json:"load"`
	Tables    []Table `json:"tables"`
	Reads     []Read  `json:"reads"`
	// Capacity is what the schema needs in each cluster, under the load.
	Capacity capacity.Plan `json:"capacity"`

	settings []setting // for [Compare]
}

// Load is the load on which the estimates are based.
type Load struct {
	Series          int64            `json:"series"`
	EventsPerSecond float64          `json:"events_per_second"`      // per series
	ValueBytes      int64            `json:"value_bytes"`            // of a string, bytes or JSON value
	ValueWidths     map[string]int64 `json:"value_widths,omitempty"` // declared sizes of single values, in bytes
	Skew            float64          `json:"skew,omitempty"`         // exponent of the Zipf distribution of events among series
	Arrival         string           `json:"arrival"`                // steady, bursts or daily
	// Assumed lists the keys of expect that the schema does not declare.
	Assumed []string `json:"assumed,omitempty"`
}

// Bytes are bytes that Bigtable stores.
type Bytes struct {
	// Show is the bytes as text, quoted as in Go if they are not printable, or in
	// hex after 0x if they are binary.
	Show string `json:"show"`
	Hex  string `json:"hex"`
}

// Range is the bounds of an estimate, in bytes.
type Range struct {
	Lower   float64 `json:"lower"`
	Typical float64 `json:"typical"` // with usual sizes of undeclared values
	Upper   float64 `json:"upper"`
}

// Table explains a table.
type Table struct {
	ID        string   `json:"id"`
	Doc       string   `json:"doc,omitempty"`
	Pattern   string   `json:"pattern"`
	Holds     string   `json:"holds"`                // what a row and a cell contain
	WriteOnly bool     `json:"write_only,omitempty"` // the table is only written, since it has serves: false
	Tier      *Tier    `json:"tier,omitempty"`
	Bundle    *Bundle  `json:"schema_bundle,omitempty"`
	Rollup    *Rollup  `json:"rollup,omitempty"`
	Key       Key      `json:"key"`
	Families  []Family `json:"families"`
	Columns   []Column `json:"columns"`
	Events    []Event  `json:"example_events"`
	Rows      []Row    `json:"example_rows"`
	Size      Size     `json:"size"`
	Choices   []Choice `json:"choices"` // that of the table first
	// Compression is what [Document.Compress] was told of the table; nil if nothing.
	Compression *Compression `json:"compression,omitempty"`
	Cheaper     *Cheaper     `json:"cheaper,omitempty"` // another layout for later events; nil if none is much cheaper
	// NotSimulated reports whether Heat is missing because the document has too many tables.
	NotSimulated bool     `json:"not_simulated,omitempty"`
	Heat         []Heat   `json:"heat,omitempty"` // simulated loads, the writes of the table first; set by Document.Simulate
	Guidance     Guidance `json:"guidance"`
	Excused      []Excuse `json:"excused,omitempty"`
	// Periods are the layouts of a table with several, newest first. All other fields
	// describe the newest.
	Periods []Period `json:"periods,omitempty"`

	layout   *Cheaper  // what may be proposed; nil for none
	settings []setting // for [Compare]
}

// Key explains the row key of a table.
type Key struct {
	Form      string    `json:"form"` // location#balloon_id#bucket
	Delimiter string    `json:"delimiter"`
	Example   Bytes     `json:"example"`
	Segments  []Segment `json:"segments"`
	Splits    []Bytes   `json:"splits,omitempty"`
	// SQL lists the columns of a structured row key in GoogleSQL; empty without one.
	SQL []string `json:"sql,omitempty"`
}

// Segment is one part of the row key.
type Segment struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"` // series, metric, const, bucket, time, salt or sequence
	Means   string `json:"means"`
	Doc     string `json:"doc,omitempty"`
	Example Bytes  `json:"example"`
	// Joined is set if the next segment follows directly, without the delimiter.
	Joined bool `json:"joined,omitempty"`
}

// Family explains a column family.
type Family struct {
	Name      string `json:"name"`
	Class     string `json:"class,omitempty"` // the TTL class of its events
	TTL       string `json:"ttl"`             // the strategy
	Timestamp string `json:"timestamp"`       // what it is
	GC        string `json:"gc"`              // the rule, as cbt prints it
	Collected string `json:"collected"`       // which cells are garbage-collected
	Read      string `json:"read"`            // which cells reads request
}

// Column explains the columns of a field or an event.
type Column struct {
	Family string `json:"family"`
	Name   string `json:"name"`
	Means  string `json:"means"`
}

// Event is an example event.
type Event struct {
	Time      string  `json:"time"`
	Sequence  *uint32 `json:"sequence,omitempty"`
	Values    []Value `json:"values"`
	Class     string  `json:"class,omitempty"`
	TTL       string  `json:"ttl,omitempty"`
	ExpiresAt string  `json:"expires_at,omitempty"`
	WrittenAt string  `json:"written_at"`
}

// Value is the value of a field.
type Value struct {
	Field string `json:"field"`
	Unit  string `json:"unit,omitempty"`
	Text  string `json:"text"`
	None  bool   `json:"none,omitempty"` // the event has no value
}

// Row is an example row.
type Row struct {
	Key   Bytes    `json:"key"`
	Parts []Bytes  `json:"parts"` // the segments of the key
	Cells []Stored `json:"cells"`
}

// Stored is a cell of an example row.
type Stored struct {
	Family    string `json:"family"`
	Qualifier Bytes  `json:"qualifier"`
	Timestamp string `json:"timestamp"`
	Micros    int64  `json:"timestamp_micros"`
	Value     Bytes  `json:"value"`
	Means     string `json:"means"`
	Event     int    `json:"event"` // index into the example events; -1 for a cell of a rollup
}

// Size estimates sizes under the load, without compression.
type Size struct {
	KeyBytes      int64   `json:"key_bytes"`
	RowsPerEvent  int64   `json:"rows_per_event"`
	CellsPerEvent int64   `json:"cells_per_event"`
	EventsPerRow  float64 `json:"events_per_row"` // of a full bucket, or of the row of a series
	// LivePerRow is EventsPerRow without what awaits garbage collection in the row of a series.
	LivePerRow  float64 `json:"live_events_per_row"`
	CellsPerRow float64 `json:"cells_per_row"`
	Cell        float64 `json:"cell_value_bytes"` // the largest value
	Event       Range   `json:"event_bytes"`
	Row         Range   `json:"row_bytes"`
	Day         Range   `json:"day_bytes"` // of all series
	// Retention is how long data lives before garbage collection, or how many events; empty
	// if without limit or chosen by events.
	Retention string `json:"retention,omitempty"`
	// Table is the steady size of the table; nil if it grows without limit.
	Table *Range `json:"table_bytes,omitempty"`
	// Yearly is by how much the table grows in a year, if events expire and windows of its rollup are kept forever; else nil.
	Yearly *Range `json:"growth_bytes_a_year,omitempty"`
}

// Read explains a method of the generated reader, for an example.
type Read struct {
	Method string   `json:"method"`
	Given  []string `json:"given"` // series values
	Doc    string   `json:"doc,omitempty"`
	Table  string   `json:"table"`
	// TableNamed reports whether the query names the table.
	TableNamed bool      `json:"table_named,omitempty"`
	Finds      string    `json:"finds"` // which rows
	Order      string    `json:"order"`
	From       string    `json:"from,omitempty"` // of the example, which is read at To
	To         string    `json:"to,omitempty"`
	Requests   []Request `json:"requests"`
	Expected   Work      `json:"expected"`
	Tier       *ReadTier `json:"tier,omitempty"` // set if the table has an infrequent access tier
	// EachSeries reports whether Expected is per series found.
	EachSeries bool   `json:"each_series,omitempty"`
	Scan       string `json:"scan,omitempty"` // why it may scan the whole table
	// Deletes describes the rows that the writer reads in each table to delete by the query,
	// if it can.
	Deletes []string `json:"deletes,omitempty"`
}

// Request is a request that a read sends.
type Request struct {
	Ranges  []RowRange `json:"ranges,omitempty"`
	Keys    []Bytes    `json:"keys,omitempty"`
	Reverse bool       `json:"reverse,omitempty"` // from the last row to the first
	Limit   int        `json:"limit,omitempty"`   // of rows
	Pages   bool       `json:"pages,omitempty"`   // whether the request is paginated by Limit
	// Filters are chained: a returned cell passes all of them.
	Filters []string `json:"filters"`
}

// RowRange is a half-open range of row keys.
type RowRange struct {
	Start Bytes `json:"start"`
	End   Bytes `json:"end"` // empty for the end of the table
}

// Work is what a read is expected to cost.
type Work struct {
	Requests int     `json:"requests"`
	Pages    int     `json:"rows_a_page,omitempty"` // of paginated requests
	Rows     float64 `json:"rows"`
	Cells    float64 `json:"cells"`
	Events   float64 `json:"events"`
	Walked   float64 `json:"rows_walked,omitempty"` // that the server scans but does not return
}

// Choice is a pattern and bucket width for the load of a table.
type Choice struct {
	Pattern string `json:"pattern"`
	Bucket  string `json:"bucket,omitempty"`
	Chosen  bool   `json:"chosen,omitempty"`
	// Findings are errors or, if there are none, warnings. A choice with errors is
	// impossible: its sizes are nil.
	Findings []Finding    `json:"findings,omitempty"`
	Size     *Size        `json:"size,omitempty"`
	Year     *Year        `json:"year,omitempty"`        // what a year of the load takes in storage
	Day      *Work        `json:"read_day,omitempty"`    // of one series
	Newest   *Work        `json:"read_newest,omitempty"` // likewise; a maximum
	Picture  []PictureRow `json:"picture,omitempty"`
	// PictureEvents is the number of events in the picture, and PictureLater the
	// number of those after the bucket of the first.
	PictureEvents int `json:"picture_events,omitempty"`
	PictureLater  int `json:"picture_events_later,omitempty"`
}

// Finding is a finding of a rule about a choice.
type Finding struct {
	Rule     string `json:"rule,omitempty"` // empty if the language does not allow such a table
	Severity string `json:"severity"`
	Message  string `json:"message"`
}

// PictureRow is a row of a picture, which contains a few events.
type PictureRow struct {
	Key     Bytes        `json:"key"`
	Columns []PictureCol `json:"columns"`
}

// PictureCol is the cells of a column, oldest first.
type PictureCol struct {
	Name   Bytes `json:"name"`
	Events []int `json:"events"` // the event of each cell, from 0
}

// Guidance says when to use a pattern.
type Guidance struct {
	Text   string `json:"text"`
	Source string `json:"source"`
}

// Excuse is a finding that the schema allows.
type Excuse struct {
	Rule   string `json:"rule"`
	Title  string `json:"title,omitempty"`
	Reason string `json:"reason"`
}
