package lint

import (
	"slices"
	"sync"

	"github.com/btgen-dev/btgen/gen/diag"
)

// The pages that the rules come from.
const (
	timeSeriesPage  = "https://cloud.google.com/bigtable/docs/schema-design-time-series"
	designPage      = "https://cloud.google.com/bigtable/docs/schema-design"
	quotasPage      = "https://cloud.google.com/bigtable/quotas"
	collectionPage  = "https://cloud.google.com/bigtable/docs/garbage-collection"
	configuringPage = "https://cloud.google.com/bigtable/docs/configuring-garbage-collection"
	cellTTLPage     = "https://cloud.google.com/bigtable/docs/gc-cell-level"
	writesPage      = "https://cloud.google.com/bigtable/docs/writes"
	readsPage       = "https://cloud.google.com/bigtable/docs/reads"
	replicationPage = "https://cloud.google.com/bigtable/docs/replication-overview"
	judgement       = "our judgement"
)

// Rules returns all rules in the order of their ids. Nobody changes them.
func Rules() []Rule { return rules() }

// rules makes the rules when they are first asked for.
var rules = sync.OnceValue(func() []Rule {
	return slices.Concat(columnRules(), keyRules(), limitRules(), ttlRules())
})

// columnRules are the rules of columns and events.
func columnRules() []Rule {
	return []Rule{
		{
			ID: "C01", Severity: diag.Advice, Title: "many tiny cells where one value would do", Source: timeSeriesPage, check: tinyCells,
			Reason: "Bigtable stores the row key, the family, the column name and a timestamp with each cell. Around small numbers that is a multiple of the numbers themselves, and a reader takes as much time for a cell as for a whole event in one.",
			Fix:    "Use a serialized pattern if readers want whole events. Keep single cells where they want single fields.",
		},
		{
			ID: "C02", Severity: diag.Warning, Title: "long names in rows of many cells", Source: designPage, check: longNames,
			Reason: "The names of the family and the column are stored with every cell, and sent with many of them. Over 8 characters for a family or 16 for a column, in rows of over 1,000 cells, they show.",
			Fix:    "Use short names: family: m, column: t. A family cannot be renamed later.",
		},
		{
			ID: "C03", Severity: diag.Warning, Title: "columns of differing retention in one family", Source: collectionPage, By: ByDesign,
			Reason: "Garbage is collected by family: columns that should be kept for different times need families of their own.",
			Fix:    "The language gives a ttl to a family and not to a field: write families, and a family with each field.",
		},
		{
			ID: "C05", Severity: diag.Warning, Title: "new columns with values that hardly repeat", Source: timeSeriesPage, check: manyColumns,
			Reason: "With new columns the value is the column name. Floats, texts and times hardly repeat: every event adds a column, and a cell can be deleted only by naming its column.",
			Fix:    "Use bucket_new_cells, or whole numbers of few values.",
		},
		{
			ID: "C07", Severity: diag.Warning, Title: "an event in several rows", Source: writesPage, check: severalRows,
			Reason: "Bigtable changes one row as a whole, and no two rows. A writer that ends between two leaves a part of an event until it is written again, which is safe. In bucket_new_columns, WriteOptions.IfAbsent is refused (ErrSeveralRows) for the same reason.",
			Fix:    "Write again what failed. Use a pattern and tables with one row per event where readers must not see a part.",
		},
	}
}

// keyRules are the rules of row keys and queries.
func keyRules() []Rule {
	return []Rule{
		{
			ID: "K01", Title: "the row key begins with time", Source: designPage, check: keyBeginsWithTime,
			Reason: "Rows are sorted by key. With the time first all writers write to the end of the table, which is one tablet on one node: the others do nothing, however many there are.",
			Fix:    "Begin with a series value of many values, and put the time after it.",
		},
		{
			ID: "K02", Severity: diag.Warning, Title: "the row key begins with a number that may be counted up", Source: designPage, check: sequentialID,
			Reason: "Ids that are handed out in order put all new series at one end of the table, on one node; reversed numbers do so at the other end.",
			Fix:    "Put another value first, or spread the series with a hash. Allow it where ids have no order.",
		},
		{
			ID: "K03", Severity: diag.Warning, Title: "few values before the time", Source: designPage, check: hotTail,
			Reason: "Each beginning of the key has one end at which it grows. With up to 10 beginnings, all writing goes to as many places, and a node more is no help. A declared load of up to 1,400 events a second, a tenth of what Google states for a node, does no harm.",
			Fix:    "Put a value with many values before the time, or a salt.",
		},
		{
			ID: "K04", Title: "an unpadded number where order matters", Source: timeSeriesPage, check: unpaddedLabel,
			Reason: "As bytes, week10 sorts before week2: a range of unpadded labels has the wrong buckets in it, or none.",
			Fix:    "Pad the label, as in week%04d. Google's own example has week1: allow the rule to write such keys, and buckets are read key by key.",
		},
		{
			ID: "K05", Title: "a segment of the key can contain the delimiter", Limit: true, Source: designPage, check: delimiterInSegment,
			Reason: "Two keys could not be told apart. A dash stands in regions and in dates.",
			Fix:    "Use a delimiter that no segment can contain, such as #. The generated writer refuses strings that contain it, or escapes them.",
		},
		{
			ID: "K06", Title: "a query that scans the whole table", Limit: true, Source: readsPage, query: fullScan, Instead: `write scan: "a nightly export" with the query`,
			Reason: "No row key begins with what the query gives, so that each call reads every row of the table and pays for it.",
			Fix:    "Add a table with a key for the query. Say scan: \"why\" with a query that may read all, such as a nightly export.",
		},
		{
			ID: "K08", Severity: diag.Warning, Title: "a salt so wide that the key is a hash", Source: designPage, query: hashedKey,
			Reason: "Every salt is a range of its own. With over 100, a query of several series is as many reads, and rows that belong together are nowhere near each other.",
			Fix:    "Use about as many salts as the instance will ever have nodes.",
		},
		{
			ID: "K09", Severity: diag.Warning, Title: "a query that reads all salts", Source: designPage, query: saltedQuery,
			Reason: "A query that does not give all values of the salt reads a range for each of its buckets. Where a value of the query has many values itself, a key that begins with it spreads the load without any of that.",
			Fix:    "Begin the key with a value of the query, or make the salt from values that queries give. Allow it where the values are few and hot.",
		},
		{
			ID: "K10", Severity: diag.Advice, Title: "the newest first in the table", Source: readsPage, check: newestFirst,
			Reason: "A reversed time makes the newest rows the first ones. Bigtable scans backwards as well, with some more work, so that one order in the table serves both.",
			Fix:    "Read with ReadOptions{NewestFirst: true}. Keep the reversed time where nearly all reads want the newest.",
		},
		{
			ID: "K13", Severity: diag.Warning, Title: "the key's time is coarser than the events", Source: timeSeriesPage, check: rateAbovePrecision,
			Reason: "Events of a series that have the same time have the same key or cell: the later one overwrites the other, or, in one WriteAll or batch, is refused (ErrDuplicate). It is an error where the key is coarser than time.precision. It is a warning where that is coarser than the declared rate, or, at parts of a second, so close to it that events which come at random share a time.",
			Fix:    "Use a finer time, or a tie-breaker: {sequence: true}.",
		},
		{
			ID: "K14", Title: "a bucket label that does not tell buckets apart", Limit: true, Source: timeSeriesPage, By: ByLanguage,
			Reason: "A label without its year, or an ISO week with the year of the calendar, names two buckets by one key: their events would be mixed.",
			Fix:    "Use the labels that the message names: iso_week for weeks, or a layout with the year.",
		},
		{
			ID: "K16", Severity: diag.Warning, Title: "a row key that people cannot read", Source: designPage, check: opaqueBytes,
			Reason: "Keys of readable text can be looked up in cbt and in the console, and are seen in Key Visualizer when something is hot. A key without a delimiter is binary.",
			Fix:    "Use a delimiter and leave the encodings out, unless the size of the keys is what counts.",
		},
		{
			ID: "K17", Severity: diag.Warning, Title: "numbers as text where order matters", Source: designPage, check: unsortedTies,
			Reason: "Segments after the time put events of one time in order. As text 10 comes before 9, and −1 before −2.",
			Fix:    "Pad the number, or use a binary form.",
		},
		{
			ID: "K18", Severity: diag.Warning, Title: "a query that leaves a segment before the time open", Source: readsPage, query: walksTimes,
			Reason: "The range of time is then a filter of cells: the server walks the rows of all times under what is known, and the reader waits and pays for that.",
			Fix:    "Add a table whose key has what the query gives before the time, and the rest after it.",
		},
	}
}

// limitRules are Bigtable's limits.
func limitRules() []Rule {
	return []Rule{
		{
			ID: "L01", Title: "a row key over 4 KiB", Limit: true, Source: quotasPage, check: keySize,
			Reason: "Bigtable refuses empty row keys and those over 4 KiB. The rule looks at the fixed parts; the writer at each key.",
			Fix:    "Shorten it.",
		},
		{
			ID: "L02", Title: "a cell over 100 MiB", Source: quotasPage, check: cellSize,
			Reason: "Bigtable refuses a cell over 100 MiB and advises at most 10 MB, which is a warning. The rule looks at the declared value_bytes; the writer at each cell.",
			Fix:    "Store large values elsewhere, and here where they are.",
		},
		{
			ID: "L03", Title: "a row over 256 MB", Source: quotasPage, check: rowSize,
			Reason: "Bigtable cannot read a row over 256 MB and advises at most 100 MB. It is an error if the least that a row can have by the declared load is over 256 MB, and a warning if the most is over 100 MB, or the load is only assumed.",
			Fix:    "Make the bucket narrower.",
		},
		{
			ID: "L04", Title: "a column qualifier over 16 KiB", Limit: true, Source: quotasPage, check: qualifierSize,
			Reason: "Bigtable refuses it. Where data become qualifiers, the writer looks at each.",
			Fix:    "Shorten it.",
		},
		{
			ID: "L05", Title: "the name of a column family", Limit: true, Source: quotasPage, check: familyName,
			Reason: "It has up to 64 letters, digits, '-', '_' and '.'.",
			Fix:    "Rename it; short names are better, since they are stored with every cell.",
		},
		{
			ID: "L06", Severity: diag.Warning, Title: "over 100 column families in a table", Source: designPage, // see checkShared
			Reason: "Bigtable slows down with more. All schemas of a table count.",
			Fix:    "Use another table.",
		},
		{
			ID: "L07", Title: "a table id", Limit: true, Source: quotasPage, check: tableID,
			Reason: "It has up to 50 letters, digits, '-', '_' and '.', and does not begin with '-' or '.'. Set-up looks again, with the prefix.",
			Fix:    "Rename it.",
		},
		{
			ID: "L09", Title: "a garbage collection rule over 500 bytes", Limit: true, Source: quotasPage, check: gcRuleSize,
			Reason: "Bigtable refuses it.",
			Fix:    "Use fewer rules.",
		},
		{
			ID: "L10", Title: "an age below one second", Limit: true, Source: collectionPage, check: gcRuleAge,
			Reason: "Bigtable takes no less, and the fractions of longer ages are lost when a rule is read back.",
			Fix:    "Use whole seconds.",
		},
		{
			ID: "L11", Title: "over 100,000 mutations in a request", Limit: true, Source: quotasPage, By: ByDesign,
			Reason: "Bigtable refuses the request. Events of one row are written in one mutation as far as that goes.",
			Fix:    "Nothing is to be done: the generated writer cuts its requests.",
		},
		{
			ID: "L12", Title: "over 100 initial splits", Limit: true, Source: quotasPage, check: splitCount,
			Reason: "Bigtable refuses them. Set-up looks again, over all schemas of a table.",
			Fix:    "Leave some out: Bigtable splits a table by itself as it grows.",
		},
		{
			ID: "L13", Title: "a filter over 20 KB", Source: quotasPage, check: filterSize,
			Reason: "Bigtable refuses it. A read of some of the fields names their columns in its filter.",
			Fix:    "Shorten the column names, or store events as one value.",
		},
		{
			ID: "L14", Severity: diag.Warning, Title: "over 512 KiB of row keys in a read", Source: quotasPage, By: ByDesign,
			Reason: "Bigtable refuses the request.",
			Fix:    "Nothing is to be done: the generated reader sends such sets of rows in pieces.",
		},
		{
			ID: "L15", Severity: diag.Warning, Title: "over 100,000 cells in a row", Source: judgement, check: rowCells,
			Reason: "A row is read, filtered and compacted as a whole: very many cells make each of that slow long before the row is too large.",
			Fix:    "Make the bucket narrower.",
		},
	}
}

// ttlRules are the rules of garbage collection.
func ttlRules() []Rule {
	return []Rule{
		{
			ID: "T01", Title: "no garbage collection rule", Limit: true, Source: collectionPage, check: noGCRule,
			Reason: "Bigtable keeps every cell of such a family for ever, and nobody remembers whether that was meant.",
			Fix:    "Give every family a ttl, or say ttl: {keep: forever}.",
		},
		{
			ID: "T02", Title: "max versions below the cells of a bucket", Source: timeSeriesPage, check: fewVersions,
			Reason: "With new cells, the events of a bucket are versions of one column: what is over the limit is lost, however new it is.",
			Fix:    "Use max_age, or all_of with a max_age, or a narrower bucket.",
		},
		{
			ID: "T03", Title: "max versions on new columns", Source: timeSeriesPage, check: versionsOnNewColumns,
			Reason: "The value is the column. One that comes again is a version of the older event, and deletes it.",
			Fix:    "Use max_age.",
		},
		{
			ID: "T04", Title: "one-second expiration where cells are timed by their events", Limit: true, Source: cellTTLPage, check: stamped("T04"),
			Reason: "The timestamp of a cell would be its expiry: events would lose their time and their order, and those that expire together would overwrite each other.",
			Fix:    "Use bucket_offsets, which has the time in the qualifier, ttl classes, or a pattern with a row per event.",
		},
		{
			ID: "T05", Title: "default expiration where cells are timed by their events", Limit: true, Source: cellTTLPage, check: stamped("T05"),
			Reason: "As with T04: the timestamp of a cell cannot be the event's time and say when it ends.",
			Fix:    "Use bucket_offsets, ttl classes, or a pattern with a row per event.",
		},
		{
			ID: "T06", Title: "an existing family whose timestamps would mean something else", Source: cellTTLPage, By: BySetup,
			Reason: "Under one-second expiration the data that a family has are garbage at once; the other way round, expired data come back.",
			Fix:    "Use a new family.",
		},
		{
			ID: "T07", Title: "an age from the writing where cells are timed by events", Limit: true, Source: collectionPage, check: stamped("T07"),
			Reason: "Bigtable counts the age of a cell from its timestamp, which is the event's time.",
			Fix:    "Let the age run from the event, or use a pattern with a row per event.",
		},
		{
			ID: "T08", Severity: diag.Warning, Title: "a rule that never collects", Source: judgement, check: neverCollects,
			Reason: "A limit of versions that no column of a row can reach keeps everything for ever.",
			Fix:    "Add an age with any_of, or say ttl: {keep: forever}.",
		},
		{
			ID: "T09", Severity: diag.Warning, Title: "a shorter age than the table has", Source: configuringPage, By: BySetup,
			Reason: "Data that were kept are deleted, a short while after the rule was changed.",
			Fix:    "Allow the change by its name, if that is meant.",
		},
		{
			ID: "T10", Severity: diag.Warning, Title: "a change that replicated tables refuse", Source: configuringPage, By: BySetup,
			Reason: "On replicated tables Bigtable raises an age by at most 90 days at a time, and does not drop an age rule.",
			Fix:    "Raise it in steps.",
		},
		{
			ID: "T11", Severity: diag.Warning, Title: "versions on a replicated instance", Source: replicationPage, check: replicatedVersions,
			Reason: "Each cluster collects by what it has received: for a while they keep different versions of what several of them are written.",
			Fix:    "Use max_age. The rule looks at expect: {clusters: 2}.",
		},
		{
			ID: "T12", Title: "an event past its time to live", Limit: true, Source: cellTTLPage, By: ByWriter,
			Reason: "It would be garbage at once, without a word.",
			Fix:    "The writer refuses it with ErrExpired.",
		},
		{
			ID: "T13", Title: "a counter or a server timestamp where timestamps are expiries", Limit: true, Source: cellTTLPage, By: ByDesign,
			Reason: "ReadModifyWrite and the server timestamp stamp a cell with the current time. Under one-second expiration that is its expiry: the cell is garbage when it is written.",
			Fix:    "Generated code never uses them. Other programs that write to such a family must set each timestamp to the expiry.",
		},
		{
			ID: "T14", Severity: diag.Warning, Title: "events come later than their age allows", Source: judgement, check: lateEvents,
			Reason: "What is older than its age when it arrives is refused by the writer, for it would be garbage at once.",
			Fix:    "Use a longer age. The rule looks at expect: {lateness: 2h}.",
		},
		{
			ID: "T15", Severity: diag.Warning, Title: "a time to live shorter than the bucket", Source: judgement, check: shortLived,
			Reason: "A row goes on growing until its bucket ends, and what has expired stays in it until it is collected, which takes up to a week: readers wait for the server to pass over it. The rule looks at the family that lives shortest, and at buckets of more than twice its time.",
			Fix:    "Use a bucket about as wide as the time to live.",
		},
		{
			ID: "T17", Severity: diag.Advice, Title: "the storage that the table will take", Source: collectionPage, check: plannedStorage,
			Reason: "Garbage collection takes up to a week: expired data are stored, and paid for, until then. The rule looks at expect: {series: 5800, rate: 1/m}.",
			Fix:    "Plan for the retention and seven days more.",
		},
	}
}
