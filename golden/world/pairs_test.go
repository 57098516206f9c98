package world_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/emit"
	"github.com/btgen-dev/btgen/golden/corpus"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/golden/world"
)

var update = flag.Bool("update", false, "write the table of pairs")

const (
	path   = "testdata/pairs.txt"
	header = `# Which settings of the schema language stand together, as go test ./golden/world -update writes it.
# The n-th sign of a line is about the n-th setting: + in schemas or golden/code, o drawn, . never drawn,
# blank if it is no pair.
`
	covered, drawn, never = '+', 'o', '.'
)

// TestPairs compares the table of pairs with the language and the examples. A new setting enters the table only by -update,
// which draws each of its pairs, compiles and plays them. From then on the nightly run does.
func TestPairs(t *testing.T) {
	c := load(t, 2)
	text, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	signs, known := parse(text)
	examples := c.Pairs()
	if *update {
		draw(t, c.AllPairs(), examples, signs, known)
	}
	for _, p := range c.AllPairs() {
		switch {
		case examples[p]:
			signs[p] = covered
		case signs[p] == covered:
			signs[p] = drawn
		}
	}
	want := format(c, signs)
	if *update && !t.Failed() {
		must(t, os.WriteFile(path, want, 0o666))
	} else if !bytes.Equal(text, want) {
		t.Errorf("%s is stale: with -update, the pairs of new settings are played, and it is written", path)
	}
}

// draw draws, compiles and plays the pairs of settings that the table does not know, and in a long run those that were never
// drawn, too.
func draw(t *testing.T, all []corpus.Pair, examples map[corpus.Pair]bool, signs map[corpus.Pair]byte, known map[string]bool) {
	c, p, has := load(t, len(folders)), newPlayer(t), map[string]bool{}
	for i, pair := range all {
		if sign := signs[pair]; sign == 0 || sign == never && testlong.Enabled() {
			signs[pair] = never
			if d, pairs, ok := c.DrawPair(rand.New(rand.NewPCG(3, uint64(i))), pair, 100); ok {
				p.play(t, d, uint64(i))
				for _, also := range pairs {
					signs[also] = drawn
				}
			}
		}
		if examples[pair] || signs[pair] != never {
			has[pair.A], has[pair.B] = true, true
		}
	}
	for _, s := range c.Settings() {
		if !has[s] && !known[s] && len(known) > 0 {
			t.Errorf("no schema has %s: add it to a case in golden/code", s)
		}
	}
	p.vet(t)
}

// parse returns the signs of a table, and its settings.
func parse(text []byte) (signs map[corpus.Pair]byte, known map[string]bool) {
	signs, known = map[corpus.Pair]byte{}, map[string]bool{}
	var settings []string
	for line := range strings.Lines(string(text)) {
		setting, of, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if setting == "#" || !ok {
			continue
		}
		of = strings.TrimLeft(of, " ")[1:] // what it begins with
		for i, s := range settings {
			if i < len(of) && of[i] != ' ' {
				signs[corpus.Pair{A: s, B: setting}] = of[i]
			}
		}
		settings, known[setting] = append(settings, setting), true
	}
	return signs, known
}

// format returns a table. A pair of which it has no sign was not tried.
func format(c *corpus.Corpus, signs map[corpus.Pair]byte) []byte {
	pair := map[corpus.Pair]bool{}
	for _, p := range c.AllPairs() {
		pair[p] = true
	}
	var b strings.Builder
	b.WriteString(header)
	for i, s := range c.Settings() {
		line := fmt.Sprintf("%-44s |", s)
		for _, other := range c.Settings()[:i] {
			switch p := (corpus.Pair{A: other, B: s}); {
			case !pair[p]:
				line += " "
			case signs[p] == 0:
				line += "?"
			default:
				line += string(signs[p])
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return []byte(b.String())
}

// TestTogether checks what a pair is: settings of one table, and patterns of two.
func TestTogether(t *testing.T) {
	dir := t.TempDir()
	text := `{btgen: v1, package: p, name: E, series: {host: string}, time: {precision: 1s}, fields: {v: int64}, tables: {
  a: {pattern: single_unserialized, key: {delimiter: "#", segments: [host, time]}, family: m, ttl: {max_age: 1d}, splits: [h]},
  b: {pattern: bucket_new_cells, key: {delimiter: "#", segments: [host, bucket]}, bucket: 1h, family: m, ttl: {max_age: 1d}, draft: true}}}`
	must(t, os.WriteFile(filepath.Join(dir, "e.yaml"), []byte(text), 0o666))
	c, err := corpus.Load(dir)
	must(t, err)
	got := c.Pairs()
	for pair, want := range map[corpus.Pair]bool{
		{A: "tables.*.draft=true", B: "tables.*.splits"}:                                    false,
		{A: "tables.*.bucket", B: "tables.*.draft=true"}:                                    true,
		{A: "tables.*.pattern=bucket_new_cells", B: "tables.*.pattern=single_unserialized"}: true,
		{A: "fields.*.type=int64", B: "tables.*.pattern=bucket_new_cells"}:                  true,
	} {
		if got[pair] != want {
			t.Errorf("%v: %v", pair, got[pair])
		}
	}
}

// TestPlayedPairs draws a schema for each pair that can stand together, unless one that was played has it, and plays it. In a long run
// it also compiles the code.
func TestPlayedPairs(t *testing.T) {
	c := load(t, testlong.Pick(2, len(folders)))
	text, err := os.ReadFile(path)
	must(t, err)
	signs, _ := parse(text)
	all, p, seed := slices.Clone(c.AllPairs()), newPlayer(t), testlong.Pick(1, rand.Uint64())
	random := rand.New(rand.NewPCG(4, seed))
	t.Logf("seed %d", seed)
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	played, missed, n := map[corpus.Pair]bool{}, 0, 0
	for _, pair := range all {
		if signs[pair] == never || played[pair] || n == 1 && !testlong.Enabled() {
			continue
		}
		d, pairs, ok := c.DrawPair(random, pair, testlong.Pick(10, 300))
		if !ok {
			missed++
			continue
		}
		n++
		for _, also := range pairs {
			played[also] = true
		}
		p.play(t, d, random.Uint64())
	}
	t.Logf("%d schemas with %d pairs; %d pairs were not drawn this time; %v", n, len(played), missed, p.world.Counts)
	if n < testlong.Pick(1, 4) {
		t.Errorf("only %d schemas", n)
	}
	if testlong.Enabled() {
		p.vet(t)
	}
}

// player plays schemas, and keeps their code to be compiled.
type player struct {
	world *world.World
	dir   string
	n     int
}

// newPlayer starts a server.
func newPlayer(t *testing.T) *player {
	t.Helper()
	return &player{world.Start(t), testlong.Scratch(t), 0}
}

// play plays a short script, and generates the code.
func (p *player) play(t *testing.T, d corpus.Drawn, seed uint64) {
	random := rand.New(rand.NewPCG(5, seed))
	s := world.Script{Layout: d.Layout}
	for range 25 {
		s.Steps = append(s.Steps, random.Uint64())
	}
	p.world.CheckScript(t, s, fmt.Appendf(nil, "seed %d\n%s", seed, d.Text))
	p.n++
	folder := fmt.Sprint("p", p.n)
	r, err := gen.Generate([]gen.Input{{Name: "schema.yaml", Text: d.Text}}, emit.Target{ImportPath: module + filepath.ToSlash(p.dir) + "/" + folder})
	if err != nil {
		t.Errorf("%v\n%s", err, d.Text)
	}
	for _, f := range r.Files {
		tests := strings.HasSuffix(f.Path, "_test.go") || strings.Contains(f.Path, "test/")
		if filepath.Ext(f.Path) != ".go" || tests && p.n%10 > 0 { // to vet others needs to compile all of the package
			continue
		}
		file := filepath.Join(p.dir, folder, filepath.FromSlash(f.Path))
		must(t, os.MkdirAll(filepath.Dir(file), 0o777))
		must(t, os.WriteFile(file, f.Content, 0o666))
	}
}

// vet compiles the code of all schemas.
func (p *player) vet(t *testing.T) {
	if p.n == 0 {
		return
	}
	if out, err := exec.Command("go", "vet", "./"+filepath.ToSlash(p.dir)+"/...").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
