package layout

// Required reports whether every event has the field, so that a stored event without it
// cannot be read.
func (f *Field) Required() bool { return !f.Optional && f.Default == nil }

// HasNoZero reports whether the zero value of the type is no value of the field, or is
// always stored, so that a serialized event without it lacks the field.
func (f *Field) HasNoZero() bool { return f.Type.Traits().NoZero }

// Floats is a set of floating-point numbers.
type Floats int

// The sets of floating-point numbers.
const (
	AllFloats    Floats = iota
	NoNaNs              // for tables that order or compare values
	FiniteFloats        // for JSON
)

// Floats returns the floating-point numbers that all tables can store.
func (l *Layout) Floats() Floats {
	switch {
	case l.Stores(JSONText):
		return FiniteFloats
	case l.HasMetrics():
		return NoNaNs
	}
	return AllFloats
}
