package storetest

// Present returns a pointer to value, for an optional field.
func Present[T any](value T) *T { return &value }
