package store

// IsAtLeastVersion1 asserts at compile time that the runtime supports generated code of
// version 1. Generated code refers to the constant of the version that it requires, so
// it does not compile with an older runtime, and the compiler's message names the
// version. In that case, update the runtime: go get github.com/btgen-dev/btgen@latest.
const IsAtLeastVersion1 = true
