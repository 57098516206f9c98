package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
)

// planFile is a saved plan. Setup carries out exactly this plan, or nothing.
type planFile struct {
	Version  int    `json:"btgen_plan"`
	Project  string `json:"project"`
	Instance string `json:"instance"`
	Emulator bool   `json:"emulator,omitempty"` // whether it is for an emulator
	Prefix   string `json:"prefix,omitempty"`
	// Allow are the names of the changes that the plan allows.
	Allow []string `json:"allow,omitempty"`
	// Schemas are hashes of the tables in the schemas, by table ID without the prefix.
	Schemas map[string]string `json:"schemas"`
	// NoHistory is whether the plan does without the history of layouts.
	NoHistory bool `json:"no_history,omitempty"`
	// History has the newest recorded layouts, by table, family and number.
	History map[string]string `json:"history,omitempty"`
	// Changes are the changes, as printed.
	Changes []string `json:"changes"`
	// Unmanaged are tables and families that the schemas do not declare, as printed.
	Unmanaged []string `json:"unmanaged,omitempty"`
}

const (
	planVersion = 1
	maxPlanFile = 64 << 20 // bytes
)

// stalePlanError is the error for a saved plan that differs from the current one.
type stalePlanError struct {
	file    string
	reasons []string
}

// Error lists the reasons, and says what to do.
func (e *stalePlanError) Error() string {
	return fmt.Sprintf("nothing was changed: the plan in %s is out of date:\n%s\ncreate it again: btgen-live plan --save %s",
		words.Printable(e.file), strings.Join(e.reasons, "\n"), words.Shell(e.file))
}

// newPlanFile returns a plan without its changes, which note sets.
func newPlanFile(l *live, tables []store.Table) (*planFile, error) {
	f := &planFile{
		Version: planVersion, Project: l.project, Instance: l.instance, Emulator: os.Getenv(store.EmulatorVariable) != "",
		Prefix: l.options.TablePrefix, Allow: l.options.Allow, NoHistory: l.options.NoHistory,
	}
	var err error
	f.Schemas, err = hashes(tables)
	return f, err
}

// hashes returns a hash of each table, by its ID.
func hashes(tables []store.Table) (map[string]string, error) {
	parts := map[string][]string{} // several if schemas share a table
	for _, t := range tables {
		text, err := json.Marshal(t)
		if err != nil {
			return nil, err
		}
		parts[t.ID] = append(parts[t.ID], string(text))
	}
	out := map[string]string{}
	for id, texts := range parts {
		slices.Sort(texts)
		sum := sha256.Sum256([]byte(strings.Join(texts, "\n")))
		out[id] = hex.EncodeToString(sum[:])
	}
	return out, nil
}

// note sets the changes of the plan.
func (f *planFile) note(plan setup.Plan) {
	f.Changes, f.Unmanaged, f.History = []string{}, nil, map[string]string{}
	for _, r := range plan.Recorded {
		f.History[fmt.Sprintf("%s/%s/%d", r.Table, r.Family, r.Number)] = r.Layout
	}
	for _, c := range plan.Changes {
		f.Changes = append(f.Changes, c.String())
	}
	for _, s := range plan.Unmanaged {
		f.Unmanaged = append(f.Unmanaged, s.String())
	}
}

// save writes the file.
func (f *planFile) save(ctx context.Context, file string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(f); err != nil {
		return err
	}
	return cli.Write(ctx, file, b.Bytes())
}

// readPlanFile reads a saved plan.
func readPlanFile(file string) (*planFile, error) {
	text, err := cli.Read(file, maxPlanFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--plan %s: there is no such file: btgen-live plan --save %s writes it", words.Printable(file), words.Shell(file))
	}
	if err != nil {
		return nil, err
	}
	f := &planFile{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err = d.Decode(f)
	if _, more := d.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("unexpected text after the plan")
	}
	if err == nil && f.Version != planVersion {
		err = fmt.Errorf("its version is %d instead of %d", f.Version, planVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a plan of btgen-live plan --save: %w", words.Printable(file), err)
	}
	return f, nil
}

// other returns how the target and the schemas of a saved plan differ from the current ones.
func (f *planFile) other(now *planFile) []string {
	var reasons []string
	differ := func(what, planned, named string) {
		if planned != named {
			reasons = append(reasons, fmt.Sprintf("- it is for %s%s, not for %s", what, shown(planned), shown(named)))
		}
	}
	differ("project ", f.Project, now.Project)
	differ("instance ", f.Instance, now.Instance)
	differ("the prefix ", f.Prefix, now.Prefix)
	where := map[bool]string{true: "an emulator", false: "Cloud Bigtable"}
	differ("", where[f.Emulator], where[now.Emulator])
	ids := maps.Clone(f.Schemas)
	maps.Copy(ids, now.Schemas)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		planned, before := f.Schemas[id]
		said, after := now.Schemas[id]
		switch {
		case !after:
			reasons = append(reasons, "- the schemas no longer have table "+words.Printable(id))
		case !before:
			reasons = append(reasons, "- the schemas have the new table "+words.Printable(id))
		case planned != said:
			reasons = append(reasons, "- the schemas have changed table "+words.Printable(id))
		}
	}
	return reasons
}

// shown returns a name for a message.
func shown(name string) string {
	if name == "" {
		return "none"
	}
	return words.Printable(name)
}

// changed returns how the changes of a saved plan differ from the current ones.
func (f *planFile) changed(now *planFile) []string {
	var reasons []string
	list := func(what string, lines, without []string) {
		for _, line := range lines {
			if !slices.Contains(without, line) {
				reasons = append(reasons, "- "+what+": "+strings.ReplaceAll(line, "\n", "\n  "))
			}
		}
	}
	list("planned, but no longer needed", f.Changes, now.Changes)
	list("needed, but not planned", now.Changes, f.Changes)
	if !maps.Equal(f.History, now.History) {
		reasons = append(reasons, "- the history of layouts has changed")
	}
	list("existed when the plan was created", f.Unmanaged, now.Unmanaged)
	list("exists now", now.Unmanaged, f.Unmanaged)
	if reasons == nil && !slices.Equal(f.Changes, now.Changes) {
		reasons = append(reasons, "- the changes are in a different order")
	}
	return reasons
}

// confirm returns the Confirm function of setup, which rejects an outdated plan.
func (f *planFile) confirm(file string, now *planFile) func(setup.Plan) error {
	return func(plan setup.Plan) error {
		now.note(plan)
		if reasons := f.changed(now); reasons != nil {
			return &stalePlanError{file, reasons}
		}
		return nil
	}
}
