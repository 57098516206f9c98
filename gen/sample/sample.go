// Package sample returns examples for people and for tests: events, the rows and keys in which
// the generated writer stores them, and the requests of the generated reader. It makes no
// decisions: facts on which generated code depends are in package layout, or in the runtime that
// both use.
package sample
