package codec

// Optional turns what a decoder returns into the value of an optional field.
func Optional[T any](v T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return &v, nil
}

// Pointer returns the value of an optional field that is present.
func Pointer[T any](v T) *T { return &v }

// Present makes an empty value of an optional field that is a slice differ
// from an absent one, which is nil.
func Present[T ~[]byte](v T, err error) (T, error) {
	if v == nil && err == nil {
		return T{}, nil
	}
	return v, err
}

// Clone returns a copy of the value of an optional field; nil if it is absent.
func Clone[T any](v *T) *T {
	if v == nil {
		return nil
	}
	clone := *v
	return &clone
}
