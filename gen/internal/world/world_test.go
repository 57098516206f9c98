package world_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/btgen-dev/btgen/gen/internal/corpus"
	"github.com/btgen-dev/btgen/gen/internal/world"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// TestWorld plays scripts on schemas that are drawn from parts of others.
func TestWorld(t *testing.T) {
	folders := []string{"../../../schemas", "../../../golden/code", "../../../golden/rules", "../../../golden/breaking"}
	c, err := corpus.Load(folders[:testlong.Pick(1, len(folders))]...)
	if err != nil {
		t.Fatal(err)
	}
	b, err := storetest.StartAt(t.Context(), "127.0.0.1:0", world.ServerOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	w, err := world.New(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	w.Dir = t.TempDir()
	first, n := 0, testlong.Pick(20, 2000)
	if text := os.Getenv("BTGEN_WORLD"); text != "" {
		if _, err := fmt.Sscanf(text, "%d-%d", &first, &n); err != nil {
			t.Fatal(err)
		}
	}
	for i := first; i < n; i++ {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			random := rand.New(rand.NewPCG(2, uint64(i)))
			d := c.Draw(random, i%6)
			s := world.Script{Layout: d.Layout}
			for range 20 + random.IntN(60) {
				s.Steps = append(s.Steps, random.Uint64())
			}
			if err := w.Play(t.Context(), s); err != nil {
				_, err = w.Shrink(t.Context(), s, err)
				t.Errorf("%v\n%s", err, d.Text)
			}
		})
	}
	t.Log(w.Counts)
}
