package btgen
import (
_ "cloud.google.com/go/bigtable"
_ "cloud.google.com/go/bigtable/bttest"
_ "github.com/dave/jennifer/jen"
_ "gopkg.in/yaml.v3"
_ "github.com/google/go-cmp/cmp"
_ "github.com/spf13/cobra"
_ "pgregory.net/rapid"
_ "github.com/rogpeppe/go-internal/testscript"
_ "github.com/rogpeppe/go-internal/diff"
_ "golang.org/x/mod/modfile"
_ "golang.org/x/tools/txtar"
_ "github.com/bufbuild/protocompile"
_ "google.golang.org/protobuf/types/dynamicpb"
_ "google.golang.org/protobuf/encoding/protowire"
_ "google.golang.org/grpc"
)
