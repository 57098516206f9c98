package wire_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// randomRow returns a row of few columns with short and long cells, some of them in
// pieces, or part of a row and a reset.
func randomRow(random *rand.Rand, key string) (chunks []*chunk, whole bool) {
	text := func() []byte {
		b := make([]byte, []int{0, 1, 8, 100, 127, 128, 300}[random.IntN(7)])
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	cells := 1 + random.IntN(30)
	for i := range cells {
		c := &chunk{TimestampMicros: random.Int64() >> random.IntN(64), Value: text()}
		if i == 0 {
			c = first(key, "f", "q", c.TimestampMicros, string(c.Value))
		}
		switch random.IntN(4) {
		case 0:
			c.Qualifier = wrapperspb.Bytes(fmt.Append(nil, "column", random.IntN(3)))
		case 1:
			if i > 0 && random.IntN(4) == 0 {
				c.FamilyName, c.Qualifier = wrapperspb.String(fmt.Sprint("f", random.IntN(2))), wrapperspb.Bytes(nil)
			}
		}
		chunks = append(chunks, c)
		for pieces := random.IntN(8) - 4; pieces > 0; pieces-- {
			chunks[len(chunks)-1].ValueSize = 2400
			chunks = append(chunks, &chunk{Value: text()})
		}
	}
	last := chunks[len(chunks)-1]
	if whole = random.IntN(4) > 0; whole {
		last.RowStatus = commit
		return chunks, true
	}
	return append(chunks, &chunk{RowStatus: reset}), false
}

// TestAnySplit reads the same rows in one response and in responses that begin and end
// anywhere.
func TestAnySplit(t *testing.T) {
	ordinary, decoded := cannedClient(t), cannedClient(t, wire.DialOption())
	for seed := range testlong.Pick(uint64(50), 300) {
		random := rand.New(rand.NewPCG(seed, 1))
		var chunks []*chunk
		for n, whole := 0, false; n < 8; {
			var row []*chunk
			if row, whole = randomRow(random, fmt.Sprint("row", n)); whole {
				n++
			}
			chunks = append(chunks, row...)
		}
		want := readCanned(ordinary, response(t, chunks...))
		if len(want.rows) != 8 || want.err != nil {
			t.Fatal(want)
		}
		same(t, want, readCanned(decoded, response(t, chunks...)))
		var messages [][]byte
		for rest := chunks; len(rest) > 0; {
			n := min(len(rest), random.IntN(1+len(rest)/[]int{1, 4, 16}[random.IntN(3)]))
			messages = append(messages, response(t, rest[:n]...))
			rest = rest[n:]
		}
		same(t, want, readCanned(decoded, messages...))
		if t.Failed() {
			t.Fatal("seed ", seed)
		}
	}
}
