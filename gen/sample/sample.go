// Package sample interprets a layout for people and for tests: made-up events, the rows and
// keys that the generated writer stores them in, the requests that the generated reader
// sends for them, estimates of sizes and work, and sentences that describe tables, families
// and queries. It decides nothing: a fact that generated code depends on is in package
// layout, or in the runtime that both call.
package sample
