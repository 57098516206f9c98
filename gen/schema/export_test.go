package schema

import "github.com/google/go-cmp/cmp"

// What tests outside of the package need.
var (
	Update      = update
	Framed      = framed
	Hostile     = hostile
	NoPositions = cmp.Options{noPositions}
)
