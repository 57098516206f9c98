package lint

import (
	"cmp"
	"slices"
	"sync"

	"github.com/btgen-dev/btgen/gen/diag"
)

// The sources of the rules.
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
	judgment        = "our judgment"
)

// Rules returns all rules, sorted by ID. The slice is shared: callers must not modify it.
func Rules() []Rule { return rules() }

// rules builds the list on first use.
var rules = sync.OnceValue(func() []Rule {
	all := slices.Concat(columnRules(), changeRules(), keyRules(), limitRules(), ttlRules(), tierRules(), viewRules(), rollupRules())
	slices.SortFunc(all, func(a, b Rule) int { return cmp.Compare(a.ID, b.ID) })
	return all
})

// columnRules are the rules for columns and events.
func columnRules() []Rule {
	return []Rule{
		{
			ID: "C01", Severity: diag.Advice, Title: "many small cells per event", Source: timeSeriesPage, check: tinyCells,
			Reason: "Bigtable stores the row key, family, column name and timestamp with every cell. For small numbers this overhead is several times the size of the values, and reading one cell takes as long as reading a whole serialized event.",
			Fix:    "Use a serialized pattern if readers want whole events. Keep separate cells if they want single fields.",
		},
		{
			ID: "C02", Severity: diag.Warning, Title: "long names in rows with many cells", Source: designPage, check: longNames,
			Reason: "Family and column names are stored with every cell and sent with many of them. In rows of at least 1,000 cells, the rule reports family names over 8 characters and column names over 16.",
			Fix:    "Use short names, as in `family: m` and `column: t`. A family cannot be renamed later.",
		},
		{
			ID: "C03", Severity: diag.Warning, Title: "columns with different retention in one family", Source: collectionPage, By: ByDesign,
			Reason: "Bigtable collects garbage per family, so columns with different retention need different families.",
			Fix:    "The language sets `ttl` per family, not per field. Declare families, and assign each field to one.",
		},
		{
			ID: "C05", Severity: diag.Warning, Title: "new columns with values that rarely repeat", Source: timeSeriesPage, check: manyColumns,
			Reason: "With new columns, the value is the column name. Floats, strings and times rarely repeat, so every event adds a column, and deleting a cell requires naming its column.",
			Fix:    "Use bucket_new_cells, or integers with few distinct values.",
		},
		{
			ID: "C07", Severity: diag.Warning, Title: "one event in several rows", Source: writesPage, check: severalRows,
			Reason: "Bigtable writes a single row atomically, but not several. A writer that stops between two rows leaves a partial event until the event is written again, which is safe. For the same reason, bucket_new_columns does not support WriteOptions.IfAbsent (ErrSeveralRows).",
			Fix:    "Retry failed writes. Where readers must not see partial events, use a pattern with one row per event, and one table.",
		},
		{
			ID: "C08", Title: "columns that no field names", Limit: true, Source: judgment, By: ByLanguage,
			Reason: "The column of a value is that of its field or, in bucket_offsets, the time since the start of the bucket in steps of time.precision. The language cannot describe times of other forms in column names, such as those of OpenTSDB, which also puts several values into one cell, or columns per tag.",
			Fix:    "Read such columns with the Bigtable client, and write their events to a table of a schema.",
		},
	}
}

// keyRules are the rules for row keys and queries.
func keyRules() []Rule {
	return []Rule{
		{
			ID: "K01", Title: "the row key begins with time", Source: designPage, check: keyBeginsWithTime,
			Reason: "Rows are sorted by key. If keys begin with the time, all writes go to the end of the table: one tablet on one node. More nodes do not help.",
			Fix:    "Begin with a high-cardinality series value, and put the time after it.",
		},
		{
			ID: "K02", Severity: diag.Warning, Title: "the row key begins with a number that may be sequential", Source: designPage, check: sequentialID,
			Reason: "Sequential IDs put all new series at one end of the table, on one node. Reversed numbers put them at the other end. Numbers of which all are in use do not: those padded to fewer values than twice the expected series (more at over 140,000 writes a second), and those with a cardinality below the expected series.",
			Fix:    "Put another value first, or begin with a salt. Or store the digits of the IDs in reverse order, as strings of a fixed length, as Google advises (read on 2026-11-28): 004711 becomes 117400. Allow the rule if the IDs are not assigned in order.",
		},
		{
			ID: "K03", Severity: diag.Warning, Title: "hotspot: few key prefixes before the time", Source: designPage, check: hotTail,
			Reason: "Each key prefix grows at one end. With up to 10 prefixes, at most 10 nodes share all writes, and more nodes do not help. Declared loads of up to 1,400 writes a second, a tenth of Google's figure for one node, are not reported. Over 14,000 writes a second per prefix always are. If series have skew, the busiest one counts too.",
			Fix:    "Put a high-cardinality value before the time, or begin with a salt.",
		},
		{
			ID: "K04", Title: "an unpadded number in a bucket label", Source: timeSeriesPage, check: unpaddedLabel,
			Reason: "Keys sort as bytes: week10 comes before week2. A range of unpadded labels contains the wrong buckets, or none.",
			Fix:    "Pad the number, as in week%04d. To keep unpadded labels, like week1 in Google's example, allow the rule: readers then read each bucket by its key.",
		},
		{
			ID: "K05", Title: "a key segment that can contain the delimiter", Limit: true, Source: designPage, check: delimiterInSegment,
			Reason: "Row keys would be ambiguous. Dashes, for example, occur in region names and in dates.",
			Fix:    "Use a delimiter that no segment can contain, such as #. The generated writer refuses strings that contain it, or escapes them.",
		},
		{
			ID: "K06", Title: "a query that scans the whole table", Limit: true, Source: readsPage, query: fullScan, HowToAllow: `write scan: "a nightly export" in the query`,
			Reason: "No row key begins with the values that the query gives, so every call reads every row of the table.",
			Fix:    "Add a table whose key begins with those values. For queries that may read everything, such as a nightly export, write `scan: \"why\"`.",
		},
		{
			ID: "K08", Severity: diag.Warning, Title: "a salt with over 100 values", Source: designPage, query: hashedKey,
			Reason: "Each salt bucket is a separate key range. With over 100, a query across series takes over 100 reads, and the key is in effect a hash: neighboring rows are unrelated.",
			Fix:    "Use about as many salt buckets as the instance will ever have nodes.",
		},
		{
			ID: "K09", Severity: diag.Warning, Title: "a query that reads all salt buckets", Source: designPage, query: saltedQuery,
			Reason: "A query that does not give every value in the salt reads one range per salt bucket. If one of the query's values has high cardinality, a key that begins with it spreads the load without a salt.",
			Fix:    "Begin the key with a value of the query, or compute the salt from values that queries give. Allow the rule if those values are few and hot.",
		},
		{
			ID: "K10", Severity: diag.Advice, Title: "a reversed time in the row key", Source: readsPage, check: newestFirst,
			Reason: "A reversed time sorts the newest rows first. Bigtable can also scan in reverse, at some extra cost, so ascending times serve both orders.",
			Fix:    "Read with `ReadOptions{NewestFirst: true}`. Keep the reversed time if nearly all reads want the newest events first.",
		},
		{
			ID: "K13", Severity: diag.Warning, Title: "a time in the key that is coarser than the events", Source: timeSeriesPage, check: rateAbovePrecision,
			Reason: "Events of a series with equal times share a key or cell: the later one overwrites the earlier one, or is refused with ErrDuplicate within one WriteAll or batch. It is an error if the key is coarser than time.precision. It is a warning if the declared rate is over one event per time.precision, or over one in ten for precisions below a second, where events at random times often collide.",
			Fix:    "Use a finer time, or a tie-breaker: `{sequence: true}`.",
		},
		{
			ID: "K14", Title: "an ambiguous bucket label", Limit: true, Source: timeSeriesPage, By: ByLanguage,
			Reason: "A label without a year, or an ISO week with the calendar year, gives two buckets the same key: their events would be mixed.",
			Fix:    "Use a label that the message proposes: iso_week for weeks, or a layout with the year.",
		},
		{
			ID: "K16", Severity: diag.Warning, Title: "a row key that is not human-readable", Source: designPage, check: opaqueBytes,
			Reason: "Text keys can be looked up in cbt and the console, and recognized in Key Visualizer when there is a hotspot. Keys without a delimiter are binary.",
			Fix:    "Use a delimiter and omit the encodings, unless the size of the keys matters most.",
		},
		{
			ID: "K17", Severity: diag.Warning, Title: "unpadded numbers after the time", Source: designPage, check: unsortedTies,
			Reason: "Segments after the time order the events with equal times. As text, 10 sorts before 9, and −1 before −2.",
			Fix:    "Pad the number, or use a binary encoding.",
		},
		{
			ID: "K18", Severity: diag.Warning, Title: "a query that omits a segment before the time", Source: readsPage, query: walksTimes,
			Reason: "The time range is then applied as a cell filter: the server reads the rows of all times under the known prefix, and the caller waits.",
			Fix:    "Add a table whose key has the values that the query gives before the time, and the rest after it.",
		},
		{
			ID: "K19", Severity: diag.Warning, Title: "a time that ends in 2038 or 2106", Source: judgment, check: shortTime,
			Reason: "A signed number of 32 bits can count the seconds until 2038-01-19, an unsigned one until 2106-02-07. Bigtable has no later rows for such a key: the writer refuses the events with ErrTimeRange.",
			Fix:    "Use binary_s or another format of 8 bytes. Allow the rule for a table that other programs write, and change its layout in time.",
		},
		{
			ID: "K20", Title: "a joined segment whose end cannot be found", Limit: true, Source: judgment, By: ByLanguage,
			Reason: "With `joined: true`, the next segment follows directly. A reader finds the end of a segment of variable width only by counting the bytes after it, so all of them must have a fixed width, and the time must be among them.",
			Fix:    "Give the following segments a fixed width, or remove `joined` if the key has a delimiter there.",
		},
		{
			ID: "K21", Title: "a row that grows without limit", Source: quotasPage, check: endlessRow,
			Reason: "With `bucket: none`, a row keeps all events of a series. Without a limit in its `ttl`, it grows beyond 256 MB, and Bigtable can then no longer read it.",
			Fix:    "Limit the age or the number of versions, or end the key with a bucket. Allow the rule for an existing table if its series end before their rows are large.",
		},
		{
			ID: "K22", Title: "a key without the time that the pattern needs", Limit: true, Source: judgment, By: ByLanguage,
			Reason: "An event has a time. If the key does not contain it, the timestamps of the cells must be the times of the events, as in `bucket: none` with `bucket_new_cells` or `bucket_serialized`. Its rows contain events of all times, so no layout of such a table can begin or end at a time. A row without any time is a record, not a time series.",
			Fix:    "Use `bucket: none` if the cell timestamps are event times, for example of the last update; otherwise, add the time to the key of a new table. btgen cannot describe tables of plain records: read them with the Bigtable client.",
		},
		{
			ID: "K23", Title: "a salt of another hash function", Limit: true, Source: judgment, By: ByLanguage,
			Reason: "To find the rows of a series, a reader computes their salt. It knows one hash function, which the manual describes, and cannot compute the salts of other programs.",
			Fix:    "Describe the salt as a series value, which callers compute: `series: {salt: int32, …}` and the segment `{name: salt, pad: 2}`. Queries without it read the whole table.",
		},
		{
			ID: "K24", Title: "a time in the key that does not sort, or is not in UTC", Limit: true, Source: judgment, By: ByLanguage,
			Reason: "A time range must be a row range. Days before months, names of months, numbers without padding, and little-endian numbers do not sort; local times also repeat an hour each year, so that their events cannot be told apart.",
			Fix:    "Write events to a new table with a time in UTC that begins with the year, or a number. To read an existing table whose cell timestamps are event times, describe the time in the key as a string of the series, and use `bucket: none`.",
		},
		{
			ID: "K25", Title: "a table with pattern latest that could differ from a search", Limit: true, Source: judgment, By: ByLanguage,
			Reason: "Latest, LatestMany and LatestOnly return from such a table what a search of the events would find. Therefore, a schema has one such table, beside a table with all events that reads use; event times are whole milliseconds, without a sequence or pattern bucket_new_columns, so that one event has a time; rows live no longer than events, with one family, one layout, and a time to live that no event specifies; and row keys can contain all series that those of the other tables can.",
			Fix:    "Use `max_age`, at most that of the other tables, with `max_versions: 1` where the instance permits it. Leave the table out if events have classes or expire at times of their own. Write the segments of the key as in the other tables, with the same delimiter.",
		},
		{
			ID: "K26", Severity: diag.Warning, Title: "over 10 writes a second to the row of a series", Source: designPage, check: hotState,
			Reason: "A row of pattern latest gets all writes of its series, and keeps a version of each until garbage collection, which can take a week. Bigtable serves a row from one node.",
			Fix:    "Write with a Batcher or WriteAll, which send only the newest event of each series of a batch, and allow the rule.",
		},
		{
			ID: "K27", Title: "a layout by time that is equal to the one before it", Limit: true, Source: judgment, check: equalLayouts,
			Reason: "Nothing begins at its since: it stores events as the layout before it does. Setup does not record such a layout.",
			Fix:    "Remove the entry of before and, if it was the only one, since.",
		},
		{
			ID: "K29", Title: "a sequence in one table and not in another", Limit: true, Source: judgment, By: ByLanguage,
			Reason: "An event is the same event in every table of its schema. Without the sequence, a table has one place for all events of an instant: the last one written overwrites the others, reads that the table serves miss them, and deleting one deletes what is stored of another.",
			Fix:    "Add `{sequence: true}` to the keys of all tables, after the time: of tables with a row per event, and of `bucket_offsets`. Other patterns cannot store it; replace such a table. A table with data begins a new layout, with `since` and `before`.",
		},
	}
}

// limitRules are the rules for Bigtable's limits.
func limitRules() []Rule {
	return []Rule{
		{
			ID: "L01", Title: "a row key over 4 KiB", Limit: true, Source: quotasPage, check: keySize,
			Reason: "Bigtable rejects empty row keys and row keys over 4 KiB. The rule checks the fixed parts and keys of example values; the writer checks every key.",
			Fix:    "Shorten the key.",
		},
		{
			ID: "L02", Title: "a cell over 100 MiB", Source: quotasPage, check: cellSize,
			Reason: "Bigtable rejects cells over 100 MiB. It recommends at most 10 MB; a larger estimate is a warning. The rule checks the declared value_bytes; the writer checks every cell.",
			Fix:    "Store large values elsewhere, and only their locations in Bigtable.",
		},
		{
			ID: "L03", Title: "a row over 256 MB", Source: quotasPage, check: rowSize,
			Reason: "Bigtable cannot read rows over 256 MB and recommends at most 100 MB. It is an error if the lower estimate for a declared load is over 256 MB. It is a warning if the load is assumed, or if the upper estimate is over 100 MB, and advice over 50 MB.",
			Fix:    "Use a narrower bucket.",
		},
		{
			ID: "L04", Title: "a column qualifier over 16 KiB", Limit: true, Source: quotasPage, check: qualifierSize,
			Reason: "Bigtable rejects it. Where data becomes qualifiers, the writer checks each one.",
			Fix:    "Shorten it.",
		},
		{
			ID: "L05", Title: "an invalid column family name", Limit: true, Source: quotasPage, check: familyName,
			Reason: "Names have up to 64 letters, digits, '-', '_' and '.'.",
			Fix:    "Rename it. Short names are better, since the name is stored with every cell.",
		},
		{
			ID: "L06", Severity: diag.Warning, Title: "over 100 column families in a table", Source: designPage, shared: manyFamilies,
			Reason: "More families slow Bigtable down. The families of all schemas that share the table count.",
			Fix:    "Move some families to another table.",
		},
		{
			ID: "L07", Title: "an invalid table ID", Limit: true, Source: quotasPage, check: tableID,
			Reason: "Table IDs have up to 50 letters, digits, '-', '_' and '.', and do not begin with '-' or '.'. Setup checks again, including the prefix.",
			Fix:    "Rename it.",
		},
		{
			ID: "L09", Title: "a garbage collection rule over 500 bytes", Limit: true, Source: quotasPage, check: gcRuleSize,
			Reason: "Bigtable rejects it.",
			Fix:    "Use fewer rules.",
		},
		{
			ID: "L10", Title: "an age that is not in whole seconds", Limit: true, Source: collectionPage, check: gcRuleAge,
			Reason: "Bigtable takes an age of a millisecond, but its Go client reads ages in whole seconds. Programs, setup among them, would see another age than the schema's, below a second none.",
			Fix:    "Use whole seconds.",
		},
		{
			ID: "L11", Title: "over 100,000 mutations in a request", Limit: true, Source: quotasPage, By: ByDesign,
			Reason: "Bigtable rejects the request. The generated writer combines the events of a row into one mutation, up to the limit.",
			Fix:    "Nothing: the generated writer splits its requests.",
		},
		{
			ID: "L12", Title: "over 100 initial splits", Limit: true, Source: quotasPage, check: splitCount,
			Reason: "Bigtable rejects them. Setup checks again, across all schemas that share the table.",
			Fix:    "Remove some: Bigtable splits tables automatically as they grow.",
		},
		{
			ID: "L13", Title: "a filter over 20 KB", Source: quotasPage, check: filterSize,
			Reason: "Bigtable rejects it. To read some of the fields, the reader names their columns in a filter.",
			Fix:    "Shorten the column names, or store events as one value.",
		},
		{
			ID: "L14", Severity: diag.Warning, Title: "over 512 KiB of row keys in a read", Source: quotasPage, By: ByDesign,
			Reason: "Bigtable rejects the request.",
			Fix:    "Nothing: the generated reader splits its requests.",
		},
		{
			ID: "L15", Severity: diag.Warning, Title: "over 100,000 cells in a row", Source: judgment, check: rowCells,
			Reason: "Bigtable reads, filters and compacts a row as a whole. Very many cells make all of these slow long before the row is too large.",
			Fix:    "Use a narrower bucket.",
		},
	}
}

// ttlRules are the rules for garbage collection.
func ttlRules() []Rule {
	return []Rule{
		{
			ID: "T01", Title: "no garbage collection rule", Limit: true, Source: collectionPage, check: noGCRule,
			Reason: "Without a `ttl`, Bigtable keeps every cell of the family forever, and nobody remembers whether that was intended.",
			Fix:    "Give every family a `ttl`, or write `ttl: {keep: forever}`.",
		},
		{
			ID: "T02", Title: "max_versions below the number of cells in a bucket", Source: timeSeriesPage, check: fewVersions,
			Reason: "With new cells, the events of a bucket are versions of one column: events beyond the limit are deleted, however new they are.",
			Fix:    "Use max_age, all_of with a max_age, or a narrower bucket.",
		},
		{
			ID: "T03", Title: "max_versions on new columns", Source: timeSeriesPage, check: versionsOnNewColumns,
			Reason: "The value is the column name. An event with the same value is a new version of that column, and deletes the older event.",
			Fix:    "Use max_age.",
		},
		{
			ID: "T04", Title: "one-second expiration where cell timestamps are event times", Limit: true, Source: cellTTLPage, check: timestampConflict("T04"),
			Reason: "The timestamp of a cell would be its expiry: events would lose their time and order, and events that expire together would overwrite each other.",
			Fix:    "Use bucket_offsets, which stores the time in the qualifier, TTL classes, or a pattern with one row per event.",
		},
		{
			ID: "T05", Title: "default expiration where cell timestamps are event times", Limit: true, Source: cellTTLPage, check: timestampConflict("T05"),
			Reason: "As with T04, a cell timestamp cannot be both the event time and the expiry.",
			Fix:    "Use bucket_offsets, TTL classes, or a pattern with one row per event.",
		},
		{
			ID: "T06", Title: "an existing family whose timestamps would change meaning", Source: cellTTLPage, By: BySetup,
			Reason: "Under one-second expiration, existing data is garbage at once. In the other direction, expired data comes back.",
			Fix:    "Use a new family.",
		},
		{
			ID: "T07", Title: "an age from the write time where cell timestamps are event times", Limit: true, Source: collectionPage, check: timestampConflict("T07"),
			Reason: "Bigtable measures the age of a cell from its timestamp, which is the event time.",
			Fix:    "Measure the age from the event time, or use a pattern with one row per event.",
		},
		{
			ID: "T08", Severity: diag.Warning, Title: "a garbage collection rule that never applies", Source: judgment, check: neverCollects,
			Reason: "A version limit that no column of a row can reach keeps all data forever.",
			Fix:    "Add an age with `any_of`, or write `ttl: {keep: forever}`.",
		},
		{
			ID: "T09", Severity: diag.Warning, Title: "a shorter age than the live table has", Source: configuringPage, By: BySetup,
			Reason: "Bigtable deletes data between the two ages shortly after the change.",
			Fix:    "If intended, allow the change by its name.",
		},
		{
			ID: "T10", Severity: diag.Warning, Title: "a change that replicated tables reject", Source: configuringPage, By: BySetup,
			Reason: "On replicated tables, Bigtable raises an age by at most 90 days at a time, and does not remove an age rule, unless the request says to ignore this: clusters may have collected different cells, and differ until these are collected everywhere.",
			Fix:    "Raise the age in steps, or allow `ignore_warnings` by the name in the plan.",
		},
		{
			ID: "T11", Severity: diag.Warning, Title: "version limits on a replicated instance", Source: replicationPage, check: replicatedVersions,
			Reason: "Deletions by max_versions are replicated like writes, and take CPU on all clusters. Those by age are not: each cluster makes its own.",
			Fix:    "Use max_age. The rule reads `expect: {clusters: 2}`.",
		},
		{
			ID: "T12", Title: "an event past its time to live", Limit: true, Source: cellTTLPage, By: ByWriter,
			Reason: "Garbage collection would delete it at once, silently.",
			Fix:    "The writer refuses it with ErrExpired.",
		},
		{
			ID: "T13", Title: "a counter or a server timestamp where timestamps are expiries", Limit: true, Source: cellTTLPage, By: ByDesign,
			Reason: "ReadModifyWrite and server timestamps set the timestamp of a cell to the current time. Under one-second expiration that is its expiry: the cell is garbage as soon as it is written.",
			Fix:    "Generated code never uses them. Other programs that write to such a family must set each timestamp to the expiry.",
		},
		{
			ID: "T14", Severity: diag.Warning, Title: "events that arrive after their time to live", Source: judgment, check: lateEvents,
			Reason: "The writer refuses events that are older than their age on arrival, because garbage collection would delete them at once.",
			Fix:    "Use a longer age. The rule reads `expect: {lateness: 2h}`.",
		},
		{
			ID: "T15", Severity: diag.Warning, Title: "a time to live shorter than the bucket", Source: judgment, check: shortLived,
			Reason: "A row grows until its bucket ends, and expired cells stay in it until they are garbage-collected, which takes up to a week: reads wait while the server skips them. The rule reports buckets of more than twice the shortest time to live among the families.",
			Fix:    "Use a bucket about as wide as the time to live.",
		},
		{
			ID: "T17", Severity: diag.Advice, Title: "the expected storage of the table", Source: collectionPage, check: plannedStorage,
			Reason: "Garbage collection takes up to a week: expired data is stored, and billed, until then. The rule reads `expect: {series: 5800, rate: 1/m}`.",
			Fix:    "Plan for the retention plus seven days.",
		},
	}
}
