// Package prose describes the tables, families and queries of a layout in sentences, for comments
// and explanations.
package prose
