package schema

import (
	"regexp"

	"github.com/btgen-dev/btgen/gen/diag"
)

// Config is a parsed btgen.yaml. Entries that the file omits are empty.
type Config struct {
	Schemas []string    // files and folders, relative to the folder of btgen.yaml
	Out     string      // output folder, likewise
	Runtime string      // RuntimeModule or RuntimeVendored
	Prices  []Price     // for estimates of costs
	Beam    Value[bool] // whether to generate code for Apache Beam pipelines
	// Terraform and LogicalViews are whether to generate the tables for Terraform, and logical
	// views for GoogleSQL.
	Terraform, LogicalViews Value[bool]
	BigQuery                *BigQuery // external tables for BigQuery; nil for none
}

// BigQuery is where BigQuery reads tables from, and has its definitions of them.
type BigQuery struct {
	Pos        diag.Pos
	Dataset    string // of the external tables, optionally after a project and a dot
	Instance   string // of the tables in Bigtable, such as projects/p/instances/i
	AppProfile string // for reads; empty for the default of the instance
}

// Price is what a provider charges, in the user's currency.
type Price struct {
	Name   Value[string]  // one of PriceNames
	Amount Value[float64] // per unit in the name; not negative
}

// PriceNames lists the values of Price.Name. Storage is per GiB and month, in each cluster. A node costs more in the Enterprise
// Plus edition.
var PriceNames = []string{"node_hour", "enterprise_plus_node_hour", "ssd_gib_month", "hdd_gib_month", "infrequent_access_gib_month"}

// Values of Config.Runtime.
const (
	RuntimeModule   = "module"   // generated code imports the runtime from the module of btgen
	RuntimeVendored = "vendored" // the runtime is copied into the output folder
)

// ParseConfig parses a btgen.yaml. Its errors are those that [Parse] describes, and the
// Config is never nil.
func ParseConfig(name string, text []byte) (*Config, diag.List) {
	c := &Config{}
	w := &walker{file: name}
	if root := readYAML(w, text); root != nil {
		configBlock.read(w, root, c)
	}
	return c, w.list()
}

var configBlock = block[Config]{
	what: ConfigName,
	cases: func() []caseShape {
		return []caseShape{{"runtime", RuntimeVendored, []keyShape{{name: "beam", shape: never}}}}
	},
	check: func(w *walker, _ *node, c *Config) {
		if c.Beam.IsSet() && c.Runtime == RuntimeVendored {
			w.reject(c.Beam.Pos, "vendored-beam")
		}
	},
	keys: []key[Config]{
		versionKey[Config](),
		set("schemas", listOf("a list of paths", "write `schemas: [schemas]`", filled("a path")), func(c *Config) *[]string { return &c.Schemas }),
		set("out", filled("a path"), func(c *Config) *string { return &c.Out }),
		set("runtime", word("runtime", []string{RuntimeModule, RuntimeVendored}), func(c *Config) *string { return &c.Runtime }),
		set("prices", pricesForm, func(c *Config) *[]Price { return &c.Prices }),
		put("beam", boolean, func(c *Config) *Value[bool] { return &c.Beam }),
		put("terraform", boolean, func(c *Config) *Value[bool] { return &c.Terraform }),
		set("bigquery", pointer(record(bigQueryBlock)), func(c *Config) **BigQuery { return &c.BigQuery }),
		put("logical_views", boolean, func(c *Config) *Value[bool] { return &c.LogicalViews }),
	},
}

// projectSyntax is the syntax of the ID of a project.
const projectSyntax = `(?:[a-z][a-z0-9.-]*:)?[a-z][a-z0-9-]{4,28}[a-z0-9]`

// The forms of resources of Google Cloud.
var (
	instanceForm   = idForm("an instance", `^projects/`+projectSyntax+`/instances/[a-z][a-z0-9-]{0,62}$`, "is of the form projects/PROJECT/instances/INSTANCE", "instance: projects/my-project/instances/my-instance")
	appProfileForm = idForm("an app profile", `^[_A-Za-z0-9][-_.A-Za-z0-9]{0,49}$`, "is up to 50 letters, digits and _ - .", "app_profile: analytics")
)

var bigQueryBlock = block[BigQuery]{
	what:  "bigquery",
	begin: func(pos diag.Pos, b *BigQuery) { b.Pos = pos },
	keys: []key[BigQuery]{
		must(set("dataset", idForm("a dataset", `^((?:[a-z][a-z0-9.-]*:)?[a-z][a-z0-9-]{4,28}[a-z0-9]\.)?[A-Za-z0-9_]+$`, "is letters, digits and _, optionally after a project and a dot", "dataset: analytics"), func(b *BigQuery) *string { return &b.Dataset })),
		must(set("instance", instanceForm, func(b *BigQuery) *string { return &b.Instance })),
		set("app_profile", appProfileForm, func(b *BigQuery) *string { return &b.AppProfile }),
	},
}

// idForm returns the form of the ID of a resource of Google Cloud.
func idForm(what, syntax, rule, example string) form[string] {
	valid := regexp.MustCompile(syntax)
	return parsed(what, "write `"+example+"`", func(s string) (string, error) {
		if !valid.MatchString(s) {
			return "", newProblem("bad-id", quote(s), what, rule, example)
		}
		return s, nil
	}).like(func(s *shape) { s.syntax = []string{syntax} })
}

var pricesForm = named("a mapping from names to prices", "write `prices: {node_hour: 0.65}`", word("price", PriceNames),
	in(number(0, 1e6), func(p *Price) *Value[float64] { return &p.Amount }), func(p *Price) *Value[string] { return &p.Name })

// ConfigName is the file name of the configuration.
const ConfigName = "btgen.yaml"
