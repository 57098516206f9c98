package codec

// Pointer returns a pointer to a copy of v.
func Pointer[T any](v T) *T { return &v }

// Clone returns a pointer to a copy of *v, or nil if v is nil.
func Clone[T any](v *T) *T {
	if v == nil {
		return nil
	}
	clone := *v
	return &clone
}
