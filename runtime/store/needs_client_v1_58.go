package store

import "cloud.google.com/go/bigtable"

// The runtime needs version 1.58.0 of the client: earlier ones count a mutation as applied for
// which Bigtable returned no result, so that events would seem to be stored or deleted that are
// not. The client has no constant for its version; the field below does not exist in earlier ones.
// If it is undefined, update the client: go get cloud.google.com/go/bigtable@latest.
var _ = bigtable.TableAutomatedBackupPolicy{KeepHotDuration: nil}
