package wire

import (
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

func TestShortVarint(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 100_000 {
		v := random.Uint64() >> (i % 64)
		b := protowire.AppendVarint(nil, v)
		got, n := shortVarint(append(b, 0xff, 0, 0x80, 0x7f, 0xff, 1, 2, 3))
		switch {
		case len(b) > 8 && n != 0:
			t.Fatalf("%x is %d in %d bytes", b, got, n)
		case len(b) <= 8 && (got != v || n != len(b)):
			t.Fatalf("%x is %d in %d bytes, want %d", b, got, n, v)
		}
	}
}

func TestSameName(t *testing.T) {
	names := []string{"", "a", "b", "aa", "ab", "ba", "bb", "aaaaaaaaaaaaaaaaa", "aaaaaaaabaaaaaaaa"}
	for _, a := range names {
		for _, b := range names {
			if sameName([]byte(a), []byte(b)) != (a == b) {
				t.Errorf("%q and %q", a, b)
			}
		}
	}
}
