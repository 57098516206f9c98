package cli

import (
	"fmt"
	goruntime "runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"

	"github.com/btgen-dev/btgen/runtime"
)

// NewVersion returns the command version, which prints the versions of the program and of
// Go, and the platform.
func NewVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s %s %s/%s\n",
				cmd.Root().Name(), Version(), goruntime.Version(), goruntime.GOOS, goruntime.GOARCH)
			return err
		},
	}
}

// ModuleVersion returns the module of the runtime at the version of the program, as an
// argument for go get.
func ModuleVersion() string {
	if v := Version(); semver.IsValid(v) && v != "v0.0.0" {
		return runtime.Module + "@" + v
	}
	return runtime.Module + "@latest" // built in a clone
}

// Version returns the version of the module that the program was built from, or "(devel)".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
