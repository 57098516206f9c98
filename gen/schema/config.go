package schema

import "github.com/btgen-dev/btgen/gen/diag"

// Config is what btgen.yaml says: where the schemas are and where their code goes.
type Config struct {
	Schemas []string // files and folders; empty where the file does not say
	Out     string   // empty where the file does not say
	Runtime string   // RuntimeModule or RuntimeVendored; empty where the file does not say
}

// What btgen.yaml says of the runtime.
const (
	RuntimeModule   = "module"   // generated code imports the runtime from the module of btgen
	RuntimeVendored = "vendored" // the runtime is copied into the output folder
)

// ParseConfig reads a btgen.yaml, as Parse reads a schema.
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
	keys: []key[Config]{
		must(key[Config]{
			name: "btgen", doc: "the version of the language: " + Version, shape: versionForm.shape,
			read: func(w *walker, n *node, _ *Config) { versionForm.read(w, n) },
		}),
		set("schemas", "the files and folders that the schemas are in", listOf("a list of paths", "write `schemas: [schemas]`", filled("a path")), func(c *Config) *[]string { return &c.Schemas }).
			also("Paths are relative to the folder of btgen.yaml. The default is [schemas]."),
		set("out", "the folder of the generated code", filled("a path"), func(c *Config) *string { return &c.Out }).
			also("The default is generated."),
		set("runtime", "how generated code gets its runtime", word("runtime", []string{RuntimeModule, RuntimeVendored}, map[string]string{"copy": RuntimeVendored, "copied": RuntimeVendored, "vendor": RuntimeVendored, "internal": RuntimeVendored, "import": RuntimeModule, "imported": RuntimeModule}), func(c *Config) *string { return &c.Runtime }).
			also("The default is module: it is imported, and go.mod requires github.com/btgen-dev/btgen. With vendored it is copied to the folder internal of out."),
	},
}

// ConfigName is the name of the file that ParseConfig reads.
const ConfigName = "btgen.yaml"
