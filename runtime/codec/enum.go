package codec

// Enum lists the values of an enum type. Numbers and names are unique.
type Enum []EnumName

// EnumName is one value of an [Enum]. In protobuf encodings the number must fit an
// int32.
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
