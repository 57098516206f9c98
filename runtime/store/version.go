package store

// IsAtLeastVersion1 exists in every runtime that has what generated code of version 1
// needs. Generated code refers to the constant of the version that it needs, so that code
// which is newer than the runtime in go.mod does not compile, and the compiler's message
// names the version. Then update the runtime: go get github.com/btgen-dev/btgen@latest.
const IsAtLeastVersion1 = true
