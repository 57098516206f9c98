package capacity

// Storage is a type of storage, with what one node of a cluster can do at most.
type Storage struct {
	Name string
	// Reads and Writes are rows of 1 KB per second, if a node does nothing else.
	Reads, Writes float64
	// Scan is the throughput of range reads in bytes per second, if a node does nothing else.
	Scan float64
	// Bytes is the storage capacity of a node.
	Bytes float64
}

// Types are the storage types, with figures that Google published as of November 2026, "under
// optimal conditions" and for rows of 1 KB. Infrequent access is the tier of an SSD cluster
// with tiered storage; its figures hold for reads of data in that tier.
//
// Sources:
// https://cloud.google.com/bigtable/docs/performance (throughput),
// https://cloud.google.com/bigtable/docs/choosing-ssd-hdd (capacity).
// Google counts storage in binary units: what it calls 5 TB are 5 TiB.
var Types = []Storage{
	{Name: "SSD", Reads: 17_000, Writes: 14_000, Scan: 220e6, Bytes: 5 * tib},
	{Name: "HDD", Reads: 500, Writes: 10_000, Scan: 180e6, Bytes: 16 * tib},
	{Name: "infrequent access", Reads: 100, Writes: 10_000, Scan: 36e6, Bytes: 32 * tib},
}

// tib is the unit of the capacity of nodes, in bytes.
const tib = 1 << 40

// Edition is an edition of Bigtable.
type Edition struct {
	Name string
	// Bytes is the storage capacity of a node in a cluster with an infrequent access tier. As much
	// of it can be on SSD as without the tier.
	Bytes float64
	// NodePrice is the name of the price of a node.
	NodePrice string
}

// Editions are those with an infrequent access tier, which is in preview.
//
// Source: https://cloud.google.com/bigtable/docs/tiered-storage, read on 2026-11-25.
var Editions = []Edition{{"Enterprise", 32 * tib, nodePrice}, {"Enterprise Plus", 64 * tib, "enterprise_plus_node_hour"}}

// nodePrice is the name of the price of a node in the Enterprise edition, of which clusters without a tier are.
const nodePrice = "node_hour"

// rowBytes is the size of the rows in these figures.
const rowBytes = 1000

// Target is how much of a node is to be used at most.
type Target struct {
	Name    string
	CPU     float64 // share of its throughput, from 0 to 1
	Storage float64 // share of its capacity
}

// Targets are Google's recommendations for clusters that must reply fast and for those that must
// only keep up, as of November 2026: 60% and 90% of the CPU. Autoscaling accepts CPU targets of 10
// to 80%, and storage targets of 2.5 to 5 TiB per SSD node and 8 to 16 TiB per HDD node, so half of
// a node, which is its default, and all of it. Google's advice for low latency is less than 60% of the storage.
//
// Sources:
// https://cloud.google.com/bigtable/docs/performance (CPU),
// https://cloud.google.com/bigtable/docs/reference/admin/rpc/google.bigtable.admin.v2#autoscalingtargets
// (the limits of autoscaling), read on 2026-11-23.
var Targets = []Target{
	{Name: "low latency", CPU: 0.6, Storage: 0.5},
	{Name: "throughput", CPU: 0.9, Storage: 1},
}

// Source is the address that users find the figures at.
const Source = "https://cloud.google.com/bigtable/docs/performance"
