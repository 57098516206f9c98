for (const [tab, text] of Object.entries({chart: "Choose series to see them.", events: "Choose series", newest: "Choose series", row: "Choose series", queries: "The schema has no queries."})) {
  go({tab});
  await until(tab, () => !$(tab).hidden && $(tab).textContent.includes(text));
}
$("finder").open = true;
await until("no series", () => $("series").textContent.includes("No series has events yet. Write some, such as those of a file: btgen-live write Event events.csv"));
if (!$("problem").hidden) faults.push($("problem").textContent);
