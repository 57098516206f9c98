// Package sample interprets a layout for people and for tests. It returns example
// events, the rows and keys in which the generated writer stores them, the requests of
// the generated reader, estimates of sizes and costs, and sentences that describe
// tables, families and queries. It makes no decisions: facts on which generated code
// depends are in package layout, or in the runtime that both use.
package sample
