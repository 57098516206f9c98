package codec

import (
	"fmt"
	"strconv"
)

// Enum lists the values of an enum type. Numbers and names are unique.
type Enum []EnumName

// EnumName is one value of an [Enum]. In protobuf encodings the number must fit an int32.
type EnumName struct {
	Number int64
	Name   string
}

// Name returns the name of the value n, and whether e contains n.
func (e Enum) Name(n int64) (string, bool) {
	for i := range e {
		if e[i].Number == n {
			return e[i].Name, true
		}
	}
	return "", false
}

// Number returns the number of the value named name, and whether e contains it.
func (e Enum) Number(name string) (int64, bool) {
	for i := range e {
		if e[i].Name == name {
			return e[i].Number, true
		}
	}
	return 0, false
}

// EnumString returns the name of n, or n in decimal if e does not contain it.
func EnumString(e Enum, n int64) string {
	if name, ok := e.Name(n); ok {
		return name
	}
	return strconv.FormatInt(n, 10)
}

// MarshalEnum returns the name of n. It returns an error that wraps [ErrEnum] if e does not contain n.
func MarshalEnum(e Enum, n int64) ([]byte, error) {
	name, ok := e.Name(n)
	if !ok {
		return nil, fmt.Errorf("%w: %d", ErrEnum, n)
	}
	return []byte(name), nil
}
