package codec

// VersionsFamily returns the name of the family of a table of [Latest] that has the sums which tell whether an event was
// written with several values, given the name of that of the events.
func VersionsFamily(events string) string { return events + "-versions" }
