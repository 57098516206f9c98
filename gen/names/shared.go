package names

import "slices"

// SharedName is a name that every generated package takes over from the runtime, so that
// users can name it.
type SharedName struct {
	Kind string // "type", "const" or "var"
	Name string
	From string // the package: "store" or "codec"
	Doc  string
}

// ClientOptions is the function that every generated package declares.
const ClientOptions = "ClientOptions"

// Shared returns the names that every generated package takes over: what users of generated
// code must be able to name.
func Shared() []SharedName { return slices.Clone(shared) }

// shared is the result of Shared.
var shared = []SharedName{
	{"type", "Client", "store", "Client opens tables; a *bigtable.Client is one."},
	{"type", "Admin", "store", "Admin creates tables; a *bigtable.AdminClient is one."},
	{"type", "Options", "store", "Options say how writers, readers and the set-up work."},
	{"type", "Field", "store", "Field is a field of an event, for ReadOptions."},
	{"type", "ReadOptions", "store", "ReadOptions say how events are read."},
	{"type", "WriteOptions", "store", "WriteOptions say how events are written."},
	{"type", "Hooks", "store", "Hooks trace every operation."},
	{"type", "Operation", "store", "Operation is what hooks are told of."},
	{"type", "Plan", "store", "Plan is what the set-up did or would do."},
	{"type", "Stray", "store", "Stray is a live table, or a part of one, that the schemas do not know."},
	{"type", "ChangeKind", "store", "ChangeKind says what a Change changes."},
	{"type", "Change", "store", "Change is one thing that the set-up did or would do."},
	{"type", "WriteError", "store", "WriteError names each event that was not written, and why."},
	{"type", "Failure", "store", "Failure is one event of a WriteError."},
	{"type", "Outcome", "store", "Outcome is what is known of a Failure."},
	{"type", "DuplicateError", "store", "DuplicateError names two events that differ and would be stored in the same place."},
	{"type", "BatcherOptions", "store", "BatcherOptions say when a batcher sends what it has gathered."},
	{"type", "BatchError", "store", "BatchError says what a batcher has not written."},
	{"type", "DecodeError", "store", "DecodeError says which stored cell does not decode."},
	{"type", "RefusedError", "store", "RefusedError lists the changes that the set-up refuses unless they are allowed."},
	{"type", "VerifyError", "store", "VerifyError says that tables are not as the set-up left them."},
	{"type", "DraftError", "store", "DraftError says which tables are drafts, which only an emulator stores."},
	{"type", "InstanceError", "store", "InstanceError says that the instance of the tables does not exist."},
	{"type", "TableError", "store", "TableError says why a table cannot be made."},
	{"type", "MissingTableError", "store", "MissingTableError says that Bigtable does not find a table or its column families."},
	{"type", "RangeError", "store", "RangeError says that the range of time of a read ends before it begins, or has no end."},
	{"type", "FieldError", "codec", "FieldError says which part of an event was refused, and why."},
	{"type", "UUID", "codec", "UUID is a universally unique identifier."},
	{"const", "Refused", "store", "Refused events were not sent."},
	{"const", "Failed", "store", "Failed events were refused by the server."},
	{"const", "Unknown", "store", "Unknown events may be stored or not; writing them again is safe."},
	{"const", "Exists", "store", "Exists says that an event is stored already: WriteOptions.IfAbsent."},
	{"var", "ErrDuplicate", "store", "ErrDuplicate: another event of the call has the same series and time, and other values."},
	{"var", "ErrExists", "store", "ErrExists: the event is stored already."},
	{"var", "ErrSeveralRows", "store", "ErrSeveralRows: an event of several rows cannot be written if it is absent."},
	{"var", "ErrNotFound", "store", "ErrNotFound: the series has no event that is alive."},
	{"var", "ErrOrder", "store", "ErrOrder: a query cannot yield its events in the order of time."},
	{"var", "ErrNoField", "store", "ErrNoField: ReadOptions.Fields names a field that the table does not have."},
	{"var", "ErrClosed", "store", "ErrClosed: the batcher is closed."},
	{"var", "ErrEmpty", "codec", "ErrEmpty: a segment of the row key is empty."},
	{"var", "ErrDelimiter", "codec", "ErrDelimiter: a segment of the row key contains the delimiter."},
	{"var", "ErrRange", "codec", "ErrRange: a value does not fit the form of its segment of the row key, or a range of time ends before it begins."},
	{"var", "ErrKeySchema", "codec", "ErrKeySchema: a value does not fit the row key schema of the table."},
	{"var", "ErrKeyTooLong", "codec", "ErrKeyTooLong: the row key is over 4 KiB."},
	{"var", "ErrKey", "codec", "ErrKey: a row key is not of the table's form."},
	{"var", "ErrValue", "codec", "ErrValue: a stored value does not decode."},
	{"var", "ErrMissing", "codec", "ErrMissing: a stored event lacks a field."},
	{"var", "ErrNaN", "codec", "ErrNaN: a number that the table has no form for."},
	{"var", "ErrTimeRange", "codec", "ErrTimeRange: a time that the table cannot hold."},
	{"var", "ErrUTF8", "codec", "ErrUTF8: a string that is not UTF-8."},
	{"var", "ErrEnum", "codec", "ErrEnum: not a value of the enum."},
	{"var", "ErrJSON", "codec", "ErrJSON: not valid JSON."},
	{"var", "ErrTooLarge", "codec", "ErrTooLarge: a cell over Bigtable's limits."},
	{"var", "ErrExpired", "codec", "ErrExpired: the event is past its time to live."},
	{"var", "ErrNoExpiry", "codec", "ErrNoExpiry: the event does not say when it expires."},
	{"var", "ErrClass", "codec", "ErrClass: the event has no TTL class, or an unknown one."},
	{"var", "ErrNoValue", "codec", "ErrNoValue: the event carries nothing."},
}

// newPackage returns the scope of a generated package, with what all of them declare.
func newPackage() *scope {
	s := newScope()
	every := origin{what: "what every generated package declares"}
	s.taken[ClientOptions] = every
	for _, name := range shared {
		s.taken[name.Name] = every
	}
	return s
}
