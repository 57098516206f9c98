// Answers queries about Parquet files with DuckDB, on one thread: those on stdin. Prints the answers, and the CPU time of each
// query in microseconds, the median of a number of runs before. JSON both.
import { readFileSync } from "node:fs";
import duckdb, { DuckDBInstance } from "@duckdb/node-api";

const { parquet, queries, runs } = JSON.parse(readFileSync(0, "utf8"));
const out = { version: duckdb.version(), answers: {} };
const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
const connection = await instance.connect();
await connection.run(`CREATE VIEW cpu AS SELECT * FROM read_parquet('${parquet}')`);
for (const [name, sql] of Object.entries(queries)) {
  const took = [];
  for (let i = 0; i < runs; i++) {
    const before = process.cpuUsage();
    await connection.run(sql); // holds all rows of the answer, in DuckDB's vectors
    const spent = process.cpuUsage(before);
    took.push(spent.user + spent.system);
  }
  took.sort((a, b) => a - b);
  const reader = await connection.runAndReadAll(sql);
  out.answers[name] = { micros: took[runs >> 1], rows: reader.getRowsJson() };
}
connection.closeSync();
instance.closeSync();
console.log(JSON.stringify(out));
