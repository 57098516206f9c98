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
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/store"
)

// planFile is a plan that was saved, so that just that is carried out, or nothing.
type planFile struct {
	Version  int    `json:"btgen_plan"`
	Project  string `json:"project"`
	Instance string `json:"instance"`
	Emulator bool   `json:"emulator,omitempty"` // it is of an emulator, not of the service
	Prefix   string `json:"prefix,omitempty"`
	// Allow is what was allowed when the plan was made.
	Allow []string `json:"allow,omitempty"`
	// Schemas are the tables as the schemas have them: a hash of each, by its id without
	// the prefix.
	Schemas map[string]string `json:"schemas"`
	// Changes are the plan as it is printed: what becomes of what.
	Changes []string `json:"changes"`
	// Strays are what the tables have besides.
	Strays []string `json:"strays,omitempty"`
}

const (
	planVersion = 1
	maxPlanFile = 64 << 20 // bytes
)

// stalePlanError says that a saved plan is not the one that there would be now.
type stalePlanError struct {
	file    string
	reasons []string
}

// Error lists the reasons, and says what to do.
func (e *stalePlanError) Error() string {
	return fmt.Sprintf("nothing was changed: %s is not the plan for what there is now:\n%s\nmake it again: btgen-live plan --save %[1]s",
		words.Printable(e.file), strings.Join(e.reasons, "\n"))
}

// newPlanFile returns what is known of a plan before the instance is read.
func newPlanFile(l *live, tables []store.Table) (*planFile, error) {
	f := &planFile{
		Version: planVersion, Project: l.project, Instance: l.instance, Emulator: os.Getenv(emulatorVariable) != "",
		Prefix: l.options.TablePrefix, Allow: l.options.Allow,
	}
	var err error
	f.Schemas, err = hashes(tables)
	return f, err
}

// hashes returns a hash of each table, by its id.
func hashes(tables []store.Table) (map[string]string, error) {
	parts := map[string][]string{} // a table that several schemas share has several
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

// note sets what the plan does.
func (f *planFile) note(plan store.Plan) {
	f.Changes, f.Strays = []string{}, nil
	for _, c := range plan.Changes {
		f.Changes = append(f.Changes, c.String())
	}
	for _, s := range plan.Strays {
		f.Strays = append(f.Strays, s.String())
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

// readPlanFile reads a plan that was saved.
func readPlanFile(file string) (*planFile, error) {
	text, err := cli.Read(file, maxPlanFile)
	if err != nil {
		return nil, err
	}
	f := &planFile{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err = d.Decode(f)
	if _, more := d.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("text follows it")
	}
	if err == nil && f.Version != planVersion {
		err = fmt.Errorf("it is of version %d, and this is version %d", f.Version, planVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is no plan that btgen-live plan --save has written: %w", words.Printable(file), err)
	}
	return f, nil
}

// other says in which way a plan is not one for what is to be set up now.
func (f *planFile) other(now *planFile) []string {
	var reasons []string
	differ := func(what, planned, named string) {
		if planned != named {
			reasons = append(reasons, fmt.Sprintf("- it is for %s%s, and not for %s", what, shown(planned), shown(named)))
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
			reasons = append(reasons, "- the schemas have no table "+words.Printable(id)+" any more")
		case !before:
			reasons = append(reasons, "- the schemas have a new table "+words.Printable(id))
		case planned != said:
			reasons = append(reasons, "- the schemas say otherwise of table "+words.Printable(id))
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

// changed says what there is to do now that was not planned, and the other way round.
func (f *planFile) changed(now *planFile) []string {
	var reasons []string
	list := func(what string, lines, without []string) {
		for _, line := range lines {
			if !slices.Contains(without, line) {
				reasons = append(reasons, "- "+what+": "+strings.ReplaceAll(line, "\n", "\n  "))
			}
		}
	}
	list("planned, and no longer to be done", f.Changes, now.Changes)
	list("to be done, and not planned", now.Changes, f.Changes)
	list("was there when the plan was made", f.Strays, now.Strays)
	list("is there now", now.Strays, f.Strays)
	if reasons == nil && !slices.Equal(f.Changes, now.Changes) {
		reasons = append(reasons, "- the changes have another order")
	}
	return reasons
}

// confirm returns what the set-up asks before it changes anything.
func (f *planFile) confirm(file string, now *planFile) func(store.Plan) error {
	return func(plan store.Plan) error {
		now.note(plan)
		if reasons := f.changed(now); reasons != nil {
			return &stalePlanError{file, reasons}
		}
		return nil
	}
}
