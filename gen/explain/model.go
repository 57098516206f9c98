// Package explain says what the tables of a layout look like and what its reads
// ask for, for people. A [Document] is built once from the layouts: example rows
// and requests as the generated code writes and sends them, and what else could be
// made of the same load. Rendering it, as text, Markdown, HTML or JSON, decides
// nothing. No fact about a table is computed here that the layout does not have.
package explain

// Version is the version of the JSON form: fields may be added to it, but none is
// renamed or removed.
const Version = 1

// Document explains the schemas of a project.
type Document struct {
	Version int      `json:"btgen_explain"`
	Schemas []Schema `json:"schemas"`
}

// Schema explains one schema: its tables, and what its reader asks for.
type Schema struct {
	Name      string  `json:"name"`
	File      string  `json:"file"`
	Package   string  `json:"package"`
	Doc       string  `json:"doc,omitempty"`
	Precision string  `json:"precision"` // what event times are truncated to, such as 1m
	Load      Load    `json:"load"`
	Tables    []Table `json:"tables"`
	Reads     []Read  `json:"reads"`
}

// Load is the load that everything is counted with.
type Load struct {
	Series          int64   `json:"series"`
	EventsPerSecond float64 `json:"events_per_second"` // of a series
	ValueBytes      int64   `json:"value_bytes"`       // of a string, of bytes and of JSON
	// Assumed names what of it the schema does not declare, as expect has it.
	Assumed []string `json:"assumed,omitempty"`
}

// Bytes are bytes as Bigtable has them.
type Bytes struct {
	// Show is the bytes as they are, as Go quotes them where they cannot be
	// printed, or in hex after 0x where they are no text at all.
	Show string `json:"show"`
	Hex  string `json:"hex"`
}

// Range is two bounds of an estimate, in bytes.
type Range struct {
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// Table explains a table.
type Table struct {
	ID       string   `json:"id"`
	Doc      string   `json:"doc,omitempty"`
	Pattern  string   `json:"pattern"`
	Holds    string   `json:"holds"` // what a row and a cell hold, in words
	Key      Key      `json:"key"`
	Families []Family `json:"families"`
	Columns  []Column `json:"columns"`
	Events   []Event  `json:"example_events"`
	Rows     []Row    `json:"example_rows"`
	Size     Size     `json:"size"`
	Choices  []Choice `json:"choices"` // the pattern and bucket of the table first
	Guidance Guidance `json:"guidance"`
	Excused  []Excuse `json:"excused,omitempty"`
}

// Key explains the row key of a table.
type Key struct {
	Form      string    `json:"form"` // location#balloon_id#bucket
	Delimiter string    `json:"delimiter"`
	Example   Bytes     `json:"example"`
	Segments  []Segment `json:"segments"`
	Splits    []Bytes   `json:"splits,omitempty"`
	// SQL is how GoogleSQL reads the segments; empty if it does not.
	SQL []string `json:"sql,omitempty"`
}

// Segment is one part of the row key.
type Segment struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"` // series, metric, const, bucket, time, salt or sequence
	Means   string `json:"means"`
	Doc     string `json:"doc,omitempty"`
	Example Bytes  `json:"example"`
}

// Family explains a column family.
type Family struct {
	Name      string `json:"name"`
	Class     string `json:"class,omitempty"` // the TTL class of its events
	TTL       string `json:"ttl"`             // the strategy
	Timestamp string `json:"timestamp"`       // what it is, in words
	GC        string `json:"gc"`              // the rule, as cbt prints it
	Collected string `json:"collected"`       // what it takes, in words
	Read      string `json:"read"`            // what every read asks for, in words
}

// Column explains the columns of a field, or of an event.
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
	None  bool   `json:"none,omitempty"` // the event lacks it
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
	Event     int    `json:"event"` // index into the example events
}

// Size is estimates under the load. Compression is not counted.
type Size struct {
	KeyBytes      int64   `json:"key_bytes"`
	RowsPerEvent  int64   `json:"rows_per_event"`
	CellsPerEvent int64   `json:"cells_per_event"`
	EventsPerRow  float64 `json:"events_per_row"` // of a full bucket
	CellsPerRow   float64 `json:"cells_per_row"`
	Cell          float64 `json:"cell_value_bytes"` // the largest value
	Event         Range   `json:"event_bytes"`
	Row           Range   `json:"row_bytes"`
	Day           Range   `json:"day_bytes"` // of all series
	// Retention is how long data stay, without what collection takes; empty if
	// for ever, or as events say.
	Retention string `json:"retention,omitempty"`
	// Table is the size that the table stays at; nil if it grows for ever.
	Table *Range `json:"table_bytes,omitempty"`
}

// Read explains a method of the generated reader, for an example.
type Read struct {
	Method string   `json:"method"`
	Given  []string `json:"given"` // series values
	Doc    string   `json:"doc,omitempty"`
	Table  string   `json:"table"`
	// TableNamed says that the schema names the table.
	TableNamed bool      `json:"table_named,omitempty"`
	Finds      string    `json:"finds"` // which rows, in words
	Order      string    `json:"order"`
	From       string    `json:"from,omitempty"` // of the example, which is read at its end
	To         string    `json:"to,omitempty"`
	Requests   []Request `json:"requests"`
	Expected   Work      `json:"expected"`
	// EachSeries says that what is expected counts for each series that it finds.
	EachSeries bool   `json:"each_series,omitempty"`
	Scan       string `json:"scan,omitempty"` // why it may read the whole table
}

// Request is a request that a read sends.
type Request struct {
	Ranges  []RowRange `json:"ranges,omitempty"`
	Keys    []Bytes    `json:"keys,omitempty"`
	Reverse bool       `json:"reverse,omitempty"` // from the last row to the first
	Limit   int        `json:"limit,omitempty"`   // of rows
	Pages   bool       `json:"pages,omitempty"`   // sent again for the rows that follow, until there are none
	// Filters are in words: each cell that comes back passes all of them.
	Filters []string `json:"filters"`
}

// RowRange is a range of row keys, the end without.
type RowRange struct {
	Start Bytes `json:"start"`
	End   Bytes `json:"end"` // empty for the end of the table
}

// Work is what a read is expected to get.
type Work struct {
	Requests int     `json:"requests"`
	Pages    int     `json:"rows_a_page,omitempty"` // of requests that are sent again for the rows that follow
	Rows     float64 `json:"rows"`
	Cells    float64 `json:"cells"`
	Events   float64 `json:"events"`
	Walked   float64 `json:"rows_walked,omitempty"` // that the server looks at and does not send
}

// Choice is what a pattern and a bucket make of the load of a table.
type Choice struct {
	Pattern string `json:"pattern"`
	Bucket  string `json:"bucket,omitempty"`
	Chosen  bool   `json:"chosen,omitempty"`
	// Findings are what keeps it from being used or else, what speaks against it.
	// Of a choice that cannot be, the sizes are nil.
	Findings []Finding    `json:"findings,omitempty"`
	Size     *Size        `json:"size,omitempty"`
	Day      *Work        `json:"read_day,omitempty"`    // of one series
	Newest   *Work        `json:"read_newest,omitempty"` // likewise, at most
	Picture  []PictureRow `json:"picture,omitempty"`
	// PictureEvents is how many events are in the picture, of which PictureLater are
	// after the bucket of the first.
	PictureEvents int `json:"picture_events,omitempty"`
	PictureLater  int `json:"picture_events_later,omitempty"`
}

// Finding is what a rule says of a choice.
type Finding struct {
	Rule     string `json:"rule,omitempty"` // empty where the language has no such table
	Severity string `json:"severity"`
	Message  string `json:"message"`
}

// PictureRow is a row with a few events of two buckets in it.
type PictureRow struct {
	Key     Bytes        `json:"key"`
	Columns []PictureCol `json:"columns"`
}

// PictureCol is the cells of a column, the oldest first.
type PictureCol struct {
	Name   Bytes `json:"name"`
	Events []int `json:"events"` // which event each cell is of, from 0
}

// Guidance is when to use a pattern.
type Guidance struct {
	Text   string `json:"text"`
	Source string `json:"source"`
}

// Excuse is a rule that the schema allows a table to break.
type Excuse struct {
	Rule   string `json:"rule"`
	Title  string `json:"title,omitempty"`
	Reason string `json:"reason"`
}
