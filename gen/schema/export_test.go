package schema

import "github.com/google/go-cmp/cmp"

// Exports for tests in package schema_test.
var (
	Update      = update
	Hostile     = hostile
	NoPositions = cmp.Options{noPositions}
)
