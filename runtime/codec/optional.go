package codec

// Optional converts the result of a decoder to the value of an optional field.
func Optional[T any](v T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return &v, nil
}

// Pointer returns a pointer to a copy of v.
func Pointer[T any](v T) *T { return &v }

// Present converts the result of a decoder to the value of an optional slice field,
// where an empty value is not nil, because nil means absent.
func Present[T ~[]byte](v T, err error) (T, error) {
	if v == nil && err == nil {
		return T{}, nil
	}
	return v, err
}

// Clone returns a pointer to a copy of *v, or nil if v is nil.
func Clone[T any](v *T) *T {
	if v == nil {
		return nil
	}
	clone := *v
	return &clone
}
