package codec

// Enum lists the values of an enumerated type. Numbers and names are unique.
type Enum []EnumName

// EnumName is one value of an [Enum]. A number that is stored as protobuf is an
// int32, as protobuf's enums are.
type EnumName struct {
	Number int64
	Name   string
}

// Name returns the name of the value n, and whether there is one.
func (e Enum) Name(n int64) (string, bool) {
	for i := range e {
		if e[i].Number == n {
			return e[i].Name, true
		}
	}
	return "", false
}

// Number returns the value called name, and whether there is one.
func (e Enum) Number(name string) (int64, bool) {
	for i := range e {
		if e[i].Name == name {
			return e[i].Number, true
		}
	}
	return 0, false
}
