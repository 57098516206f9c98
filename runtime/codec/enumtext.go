package codec

import (
	"fmt"
	"strconv"
)

// EnumString returns the name of n, or n in decimal if e does not contain it.
func EnumString(e Enum, n int64) string {
	if name, ok := e.Name(n); ok {
		return name
	}
	return strconv.FormatInt(n, 10)
}

// MarshalEnum returns the name of n. It returns an error that wraps [ErrEnum] if e does
// not contain n.
func MarshalEnum(e Enum, n int64) ([]byte, error) {
	name, ok := e.Name(n)
	if !ok {
		return nil, fmt.Errorf("%w: %d", ErrEnum, n)
	}
	return []byte(name), nil
}
