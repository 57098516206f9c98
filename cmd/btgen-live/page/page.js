"use strict";
// The page has no state but that of its address: the schema, the series, the range, the time zone, the view and its query. All text of
// schemas and events is inserted as text. chart.js, which comes first, has element, swatch and follow.
const $ = id => document.getElementById(id);
const searchPage = 50, maxSeries = 12, shownCells = 500;
let schemas = [], schema;

const state = () => new URLSearchParams(location.hash.slice(1));
// changed returns the state with other values; an empty one is left out.
function changed(change) {
  const s = state();
  for (const [key, value] of Object.entries(change)) {
    s.delete(key);
    for (const v of [value].flat()) if (v !== "") s.append(key, v);
  }
  return "#" + s;
}
function go(change) { location.hash = changed(change); }
function become(change) { location.replace(changed(change)); } // no way back

// api returns the answer to a request.
const queryOf = parameters => String(new URLSearchParams(Object.entries(parameters).flatMap(([key, value]) => [value].flat().map(v => [key, v]))));
async function api(path, parameters = {}, signal) {
  const address = "/api/" + path + (queryOf(parameters) && "?" + queryOf(parameters));
  const response = await fetch(address, {signal, headers: {"Content-Type": "application/json"}})
    .catch(e => { throw e.name === "AbortError" ? e : new Error("btgen-live serve does not answer: " + e.message); });
  const answer = await response.json();
  if (response.status === 401) $("login").hidden = false;
  if (!response.ok) throw new Error(answer.detail);
  return answer;
}

function button(text, f, attributes = {}) {
  const b = element("button", {type: "button", ...attributes}, text);
  b.addEventListener("click", f);
  return b;
}

// show has a section show what load returns. Until then, what it shows is pale; after a failure, it says so and offers to try again.
// It reports whether it shows it.
const loading = {};
async function show(id, what, load) {
  const [status, body] = ["state", "body"].map(name => $(id).querySelector("." + name));
  loading[id]?.abort(); // an earlier one
  const {signal} = loading[id] = new AbortController();
  const say = (failed, ...contents) => { status.classList.toggle("failed", failed); status.replaceChildren(...contents); };
  body.classList.add("stale");
  setTimeout(() => { if (loading[id].signal === signal && body.classList.contains("stale") && !status.classList.contains("failed")) say(false, "Reading " + what + " …"); }, 200);
  try {
    const contents = await load(signal);
    if (signal.aborted) return false;
    body.replaceChildren(...contents);
    body.classList.remove("stale");
    say(false);
    return true;
  } catch (e) {
    if (signal.aborted) return false;
    say(true, what[0].toUpperCase() + what.slice(1) + " could not be read: " + e.message + (body.firstChild ? ". Below is what was read before." : ""), button("Try again", async () => { charted = {}; await show(id, what, load); check(); }));
    return false;
  }
}
const empty = (text, ...buttons) => [element("div", {class: "empty"}, text, ...buttons)];

// guarded returns a function that shows the errors of another at the top.
const guarded = f => async (...args) => {
  try { await f(...args); $("problem").hidden = true; } catch (e) { $("problem").textContent = e.message; $("problem").hidden = false; }
};

const numeric = type => /^(u?int|float)/.test(type);
const drawable = () => schema.fields.filter(f => numeric(f.type) || f.type === "duration").map(f => f.name);
const valuesOf = row => schema.series.map(f => f.name + "=" + row[f.name]);
const chosen = () => state().getAll("series").filter(v => v !== "none").slice(0, maxSeries);
const nameOf = values => JSON.parse(values).join(" ");
const selection = values => ({schema: schema.name, value: JSON.parse(values)});
const text = v => typeof v === "number" ? (Math.abs(v) >= 1e15 || v !== 0 && Math.abs(v) < 1e-4 ? Number(v.toPrecision(6)).toExponential() : v.toLocaleString("en-US", {maximumFractionDigits: 6}))
  : v === null || v === undefined ? "" : typeof v === "object" ? JSON.stringify(v) : String(v);

// zone returns the time zone, in which the page shows times: that of the browser unless the address has one.
const zone = () => state().get("zone") || Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
const clocks = new Map();
// local returns a time of the API as clocks of the zone show it.
function local(time) {
  const ms = Date.parse(time), name = zone();
  if (!(ms > Date.parse("1000-01-01")) || !/T.*(Z|[+-]\d\d:\d\d)$/.test(time)) return time;
  if (!clocks.has(name)) clocks.set(name, new Intl.DateTimeFormat("sv-SE", {timeZone: name, dateStyle: "short", timeStyle: "medium"}));
  const show = ms => clocks.get(name).format(ms), twice = [-36e5, 36e5].some(by => show(ms + by) === show(ms)); // where clocks go back
  return show(ms) + (/\.\d+/.exec(time) || "") + (twice ? " " + new Intl.DateTimeFormat("en-US", {timeZone: name, timeZoneName: "short"}).formatToParts(ms).at(-1).value : "");
}
const timed = time => element("span", {class: "time", title: time}, local(time));

// costOf returns what answers took.
function costOf(cost) {
  const n = (key, what) => cost[key].toLocaleString("en-US") + " " + what + (cost[key] === 1 ? "" : "s");
  const [bytes, unit] = [[1e6, "MB"], [1e3, "kB"]].map(([size, unit]) => [(cost.bytes / size).toFixed(1), unit]).find(([v]) => v >= 1) || [cost.bytes, "bytes"];
  return [n("requests", "request"), n("rows", "row"), n("cells", "cell"), bytes + " " + unit].join(", ");
}

// table returns a table of rows, which are lists of contents; a narrow window shows each row as a list. A head is [name, class, title].
function table(heads, rows) {
  return element("div", {class: "scroll"}, element("table", {class: "rows"},
    element("thead", {}, element("tr", {}, ...heads.map(([name, kind, title]) => element("th", {class: kind || "", title: title || ""}, name)))),
    element("tbody", {}, ...rows.map(row => element("tr", {class: row.kind || ""}, ...row.map((v, i) => element("td", {class: heads[i][1] || "", "data-name": heads[i][0]}, v)))))));
}
// eventTable returns a table of events, with a button that shows the stored row of each.
function eventTable(columns, rows) {
  const heads = columns.map(c => [c.name + (c.unit ? " (" + c.unit + ")" : ""), numeric(c.type) && "num", c.doc]);
  return table([["row"], ...heads], rows.map(row => [
    button("⋯", () => go({tab: "row", of: JSON.stringify(valuesOf(row)), at: row.time, sequence: row.sequence ?? ""}), {"aria-label": "Show the stored row"}),
    ...columns.map(c => c.type === "timestamp" && row[c.name] ? timed(row[c.name]) : text(row[c.name]))]));
}

// typed returns the parameters of a search by the beginning of row keys, such as city=ber, or city=berlin sensor=1; null if keys
// do not begin like the text. A text without a name is of the first value.
function typed(text) {
  const leads = schema.leads, values = [];
  if (!leads.length) return null;
  if (!text.startsWith(leads[0].name + "=")) return leads[0].prefix ? {prefix: leads[0].name + "=" + text} : null;
  for (let i = 0; i < leads.length; i++) {
    const at = i + 1 < leads.length ? text.indexOf(" " + leads[i + 1].name + "=") : -1;
    if (at < 0) return leads[i].prefix ? {value: values, prefix: text} : i ? {value: values, search: text} : null;
    values.push(text.slice(0, at));
    text = text.slice(at + 1);
  }
}

// listSeries lists series. If the address has none, it draws the first one.
let listPages = [], following = null;
const listSeries = () => show("series", "the series", async signal => {
  const search = $("search").value, page = {schema: schema.name, limit: searchPage}, anywhere = {search};
  let asked = listPages.at(-1) || search && typed(search) || anywhere, answer = await api("series", {...page, ...asked}, signal);
  if (!listPages.length && asked !== anywhere && !answer.rows.length) answer = await api("series", {...page, ...(asked = anywhere)}, signal);
  if (signal.aborted) return [];
  following = answer.next && {...asked, page: answer.next};
  $("previous").disabled = !listPages.length;
  $("next").disabled = !following;
  if (!answer.rows.length) return empty(search ? "No series has this text in its values." : "No series has events yet. Write some, such as those of a file: btgen-live write " + schema.name + " events.csv");
  if (!state().has("series")) become({series: JSON.stringify(valuesOf(answer.rows[0]))});
  return [element("ul", {}, ...answer.rows.map(row => {
    const values = JSON.stringify(valuesOf(row)), box = element("input", {type: "checkbox", value: values});
    box.addEventListener("change", () => {
      const now = chosen().filter(v => v !== values);
      if (box.checked) now.push(values);
      go({series: now.length ? now : "none"});
    });
    return element("li", {}, element("label", {}, box, " ", valuesOf(row).join(" ")));
  }))];
});
// check checks the boxes of the chosen series.
function check() {
  const now = chosen();
  for (const box of $("series").querySelectorAll("input")) {
    box.checked = now.includes(box.value);
    box.disabled = !box.checked && now.length === maxSeries;
  }
  $("finder").querySelector("summary").textContent = "Series" + (now.length > 1 ? ": " + now.length + " chosen" : now.length ? ": " + nameOf(now[0]) : "");
}

// charted is the last answer with a chart: what was asked, and a promise. It also tells where ends of the range are that are open or
// relative to now.
let charted = {};
const rangeOf = () => ({from: state().get("from") || "", to: state().get("to") || "", zone: zone()});
function chart(again) {
  const body = $("chart").querySelector(".body"), width = Math.max(300, Math.min(body.clientWidth || charted.width || 960, 4000));
  const fields = state().getAll("fields").join(","), statistic = state().get("show") || "mean";
  const parameters = {schema: schema.name, series: chosen(), ...rangeOf(), ...(fields && {fields}), show: statistic};
  const key = queryOf(parameters);
  if (again || charted.key !== key || charted.width !== width && body.clientWidth) {
    charted.ended?.abort();
    const ended = new AbortController(), answer = api("chart", {...parameters, width}, ended.signal);
    answer.catch(() => { if (charted.answer === answer) charted = {}; });
    charted = {key, width, answer, ended};
  }
  return charted.answer;
}

// drawn returns a drawing, with a legend and the values at the pointer. Dragging zooms unless the chart is that of a query.
const hidden = new Set();
function drawing(answer, zooms) {
  const legend = element("ul", {class: "legend", "aria-label": "Series"}, ...answer.series.map((name, i) =>
    element("li", {}, element("button", {type: "button", title: "Hide or show"}, swatch(i, answer.data.colors), element("span", {}, name)))));
  const figure = element("figure", {tabindex: 0, role: "group", "aria-label": "Chart. " + answer.description + " Drag over a range to see it. The arrow keys show the values, and + and − zoom."});
  figure.append(new DOMParser().parseFromString(answer.drawing, "text/html").body.firstChild);
  const at = follow(figure, legend, answer.data, hidden, zooms && ((from, to) => go({from, to})));
  if (zooms) {
    move = (begin, end) => { if (at(begin) !== at(end)) go({from: at(begin), to: at(end)}); };
    figure.addEventListener("keydown", event => ({"+": () => move(0.25, 0.75), "-": () => move(-0.5, 1.5)})[event.key]?.());
    figure.addEventListener("dblclick", () => move(-0.5, 1.5));
  }
  const notes = answer.notes || [];
  return [legend, figure, ...(notes.length ? [element("ul", {class: "notes"}, ...notes.map(n => element("li", {}, n)))] : []),
    element("p", {class: "muted about"}, answer.times + ". " + (answer.about && answer.about + ". ") + costOf(answer.cost) + ".")];
}
let move = () => {}; // shows another range, by shares of that of the chart

// choices lets readers choose fields and a statistic.
function choices() {
  const now = state().getAll("fields"), boxes = drawable().map(name => {
    const box = element("input", {type: "checkbox", value: name});
    box.checked = !now.length || now.includes(name);
    box.addEventListener("change", () => go({fields: boxes.every(b => b.checked) ? "" : boxes.filter(b => b.checked).map(b => b.value)}));
    return box;
  });
  const statistic = element("select", {"aria-label": "Statistic"}, ...["mean", "min", "max", "first", "last", "count", "sum", "increase", "rate", ...new Set(schema.fields.flatMap(f => f.statistics || []))].map(s => element("option", {}, s)));
  statistic.value = state().get("show") || "mean";
  statistic.addEventListener("change", () => go({show: statistic.value === "mean" ? "" : statistic.value}));
  return element("details", {}, element("summary", {}, "Fields and statistic"), ...boxes.map(b => element("label", {}, b, " " + b.value)), statistic);
}

const none = () => empty(schema.series.length ? "Choose series to see them." : "The schema has no events yet.");
const showChart = again => show("chart", "the chart", async signal => {
  if (!chosen().length && schema.series.length) return none();
  if (!drawable().length) return empty("No field of the schema is a number or a duration.", button("Show events", () => go({tab: "events"})));
  const answer = await chart(again);
  if (signal.aborted) return [];
  for (const end of ["from", "to"]) if (answer[end]) $(end).placeholder = local(answer[end]);
  const open = $("chart").querySelector("details")?.open, more = choices();
  more.open = open;
  const contents = answer.drawing ? drawing(answer, true) : [];
  return [...(answer.values ? [] : await nothing(answer)), ...contents, more];
});

// nothing says that a range has no values, and which one has.
async function nothing(answer) {
  const {from, to} = rangeOf();
  if (!from && !to) return empty("The series have no values of these fields.");
  const rows = (await Promise.all(chosen().map(v => api("latest", selection(v))))).flatMap(a => a.rows), last = rows.map(r => r.time).sort().at(-1);
  if (!last) return empty("The series have no events.");
  const length = Date.parse(answer.to) - Date.parse(answer.from), end = Date.parse(last) + 1000, at = ms => new Date(ms).toISOString();
  return empty("There are no values in this range. The newest event is of " + local(last) + ".", button("Show all", () => go({from: "", to: ""})),
    ...(length > 0 ? [button("Show the range before it", () => go({from: at(end - length), to: at(end)}))] : []));
}

// showEvents shows events of the range, the newest first, in pages.
const showEvents = again => show("events", "the events", async signal => {
  if (!chosen().length && schema.series.length) return none();
  let range = rangeOf();
  if (drawable().length && (range.from || range.to)) { // all pages are of one range
    const {from, to} = await chart(again);
    if (from) range = {...range, from, to};
  }
  const series = chosen(), pages = series.map(() => ""), rows = series.map(() => []), out = element("div");
  let columns = [];
  const read = async () => {
    const answers = await Promise.all(series.map((v, i) => pages[i] === null ? null : api("events", {...selection(v), ...range, order: "newest", limit: 50, ...(pages[i] && {page: pages[i]})}, signal)));
    answers.forEach((answer, i) => {
      if (!answer) return;
      columns = answer.columns;
      pages[i] = answer.next || null;
      rows[i].push(...answer.rows);
    });
    const more = button("More", async () => {
      more.disabled = true;
      try { await read(); } catch (e) { more.disabled = false; more.after(element("p", {class: "state failed"}, "More events could not be read: " + e.message)); }
    }, {class: "more"});
    const all = rows.flat();
    out.replaceChildren(...(all.length ? [eventTable(columns, all)] : empty("There are no events in this range.", button("Show all", () => go({from: "", to: ""})))), ...(pages.some(p => p !== null) ? [more] : []));
  };
  await read();
  return [out];
});

const showNewest = () => show("newest", "the newest events", async signal => {
  if (!chosen().length && schema.series.length) return none();
  const answers = await Promise.all(chosen().map(v => api("latest", selection(v), signal)));
  const rows = answers.flatMap(a => a.rows);
  return rows.length ? [eventTable(answers[0].columns, rows)] : empty("The series have no events, or all have expired.");
});

// age returns how long ago a time was, or in how long it will be.
function age(time) {
  const ms = Date.now() - Date.parse(time), s = Math.abs(ms) / 1000;
  const [n, unit] = [[31557600, "y"], [86400, "d"], [3600, "h"], [60, "m"], [1, "s"]].map(([n, u]) => [s / n, u]).find(([n]) => n >= 1) || [s, "s"];
  return (ms < 0 ? "in " : "") + n.toFixed(n < 10 ? 1 : 0) + unit + (ms < 0 ? "" : " ago");
}

// showRow shows the row in which an event is stored, with all its cells: that of the address, or the newest one.
const showRow = () => show("row", "the stored row", async signal => {
  let of = state().get("of"), time = state().get("at"), sequence = state().get("sequence");
  if (!time) {
    if (!chosen().length && schema.series.length) return none();
    const {rows: [newest]} = await api("latest", selection(of = chosen()[0] || "[]"), signal);
    if (!newest) return empty("The series has no events, or all have expired.");
    ({time, sequence} = newest);
  }
  const answer = await api("row", {...selection(of), time, ...(sequence && {sequence})}, signal);
  const same = c => Date.parse(c.time || c.timestamp) === Date.parse(time);
  return [element("h3", {}, "The event of ", timed(time), " of " + nameOf(of)), ...answer.rows.flatMap(row => [
    element("p", {class: "muted"}, "Table " + row.table + ", " + text(row.cells.length) + (row.cells.length === 1 ? " cell" : " cells") + ". Garbage collection: " + row.families.map(f => f.family + ": " + f.rule).join("; ")),
    ...keyOf(row),
    row.cells.length ? table([["column", "code"], ["timestamp"], ["age"], ["value"], ["stored", "code"], ["bytes", "num"], ["expires"]], row.cells.filter(same).concat(row.cells.filter(c => !same(c))).slice(0, shownCells).map(c => Object.assign([
      c.column, timed(c.timestamp), age(c.timestamp), (c.time ? local(c.time) + ": " : "") + c.means, c.value, text(c.bytes), c.expires ? local(c.expires) + " (" + age(c.expires) + ")" : c.live ? "" : "expired"],
      {kind: c.live ? same(c) && "this" : "expired"}))) : element("p", {}, "The row has no cells."),
    ...(row.cells.length > shownCells ? [element("p", {class: "muted"}, text(row.cells.length - shownCells) + " more cells are not shown.")] : [])])];
});
// keyOf draws a row key with its segments, and what each means.
function keyOf(row) {
  const key = row.parts.flatMap((p, i) => [element("span", {class: "segment" + i % 5}, p.text), ...(i + 1 < row.parts.length && !p.joined && row.delimiter ? [row.delimiter] : [])]);
  return [element("p", {class: "key"}, element("b", {}, ...key)), ...row.parts.map((p, i) => element("div", {class: "key segment" + i % 5}, p.name + " " + p.text + ": " + p.means))];
}

// showQueries shows a form for each query, and the result of the one in the address.
let formed = "";
const question = () => JSON.stringify([schema.name, ...["query", "given", "as"].map(name => state().getAll(name))]);
function showQueries() {
  const s = state(), now = s.get("query");
  if (formed === question()) return result(); // the focus stays
  formed = question();
  const forms = schema.queries.map(q => {
    const given = now === q.name ? s.getAll("given") : [];
    const inputs = q.inputs.map((i, n) => element("input", {"aria-label": q.name + " " + i.name, placeholder: (i.form === "range" ? "from..to" : i.form) + (i.many ? ", …" : ""), value: (given[n] || "").trim()}));
    const as = element("select", {"aria-label": q.name + " as"}, ...["events", "newest of each series", "chart"].map(name => element("option", {}, name)));
    as.value = now === q.name && s.get("as") || "events";
    const form = element("form", {}, ...q.inputs.map((i, n) => element("label", {}, i.name + " ", inputs[n])), as, element("button", {}, "Read"));
    form.addEventListener("submit", event => {
      event.preventDefault();
      const before = location.hash;
      go({query: q.name, given: inputs.map(i => i.value || " "), as: as.value});
      formed = question();
      if (location.hash === before) result();
    });
    return [element("h3", {}, q.name), element("p", {class: "muted"}, q.doc || ""), form];
  });
  $("forms").replaceChildren(...(forms.length ? forms.flat() : empty("The schema has no queries. Name those that your programs need below queries: in the schema, such as ByCity: {by: [city]}.")));
  return result();
}
const result = () => show("queries", "the result", async signal => {
  const s = state(), q = schema.queries.find(q => q.name === s.get("query")), as = s.get("as") || "events";
  if (!q) return schema.queries.length ? empty("Fill in a form, and press Read.") : [];
  const given = s.getAll("given").map(v => v.trim()), value = q.inputs.flatMap((i, n) => (i.many ? given[n].split(",") : [given[n]]).map(v => i.name + "=" + v));
  const of = {schema: schema.name, query: q.name, value};
  if (as === "chart") {
    const answer = await api("chart", {...of, ...rangeOf(), width: Math.max(300, $("queries").clientWidth)}, signal);
    return answer.values ? drawing(answer, false) : empty("The query finds no values in the range.");
  }
  const answer = as === "events" ? await api("events", {...of, limit: 100, ...rangeOf()}, signal) : await api("latest", {...of, limit: 100}, signal);
  return [...(answer.rows.length ? [eventTable(answer.columns, answer.rows)] : empty("The query finds no events" + (as === "events" ? " in the range." : "."))),
    element("p", {class: "muted about"}, text(answer.rows.length) + " events" + (answer.next || answer.more ? " of more" : "") + ", " + costOf(answer.cost) + ".")];
});

const views = {chart: ["Chart", showChart], events: ["Events", showEvents], newest: ["Newest", showNewest], row: ["Stored row", showRow], queries: ["Queries", showQueries]};
const view = () => views[state().get("tab")] ? state().get("tab") : "chart";
const presets = [["1 h", "-1h"], ["6 h", "-6h"], ["1 d", "-1d"], ["7 d", "-7d"], ["30 d", "-30d"], ["1 y", "-365d"], ["All", ""]];

// showAddress shows what the address says.
async function showAddress() {
  if (!schemas.length) return; // not yet
  const now = schemas.find(s => s.name === state().get("schema")) || schemas[0];
  if (now !== schema) {
    schema = now;
    charted = {};
    move = () => {};
    $("schema").value = schema.name;
    $("doc").textContent = schema.doc || "";
    document.title = schema.name + " on Bigtable";
    for (const id of ["series", ...Object.keys(views)]) { loading[id]?.abort(); $(id).querySelector(".body").replaceChildren(); }
    listPages = null;
  }
  const {from, to} = rangeOf();
  $("zone").value = zone();
  for (const end of ["from", "to"]) {
    $(end).value = local(rangeOf()[end]);
    $(end).placeholder = "2021-03-05 12:00, or -7d"; // until a chart tells that of the events
  }
  $("presets").replaceChildren(...presets.map(([name, since]) => button(name, () => go({from: since, to: since && "0s"}), {"aria-pressed": from === since && to === (since && "0s")})));
  $("live").checked = state().has("live");
  $("tabs").replaceChildren(...Object.entries(views).map(([id, [name]]) => button(name, () => go({tab: id === "chart" ? "" : id, of: "", at: "", sequence: ""}), view() === id ? {"aria-current": "page"} : {})));
  for (const id of Object.keys(views)) if ($(id).hidden = view() !== id) loading[id]?.abort();
  if (!listPages || !state().has("series")) {
    listPages = [];
    $("search").value = "";
    if (!await listSeries() && (schema !== now || !state().has("series"))) return; // which says why
  }
  check();
  await views[view()][1]();
}

const on = (id, type, f) => $(id).addEventListener(type, f);
on("schema", "change", () => { location.hash = new URLSearchParams({schema: $("schema").value, ...(state().has("zone") && {zone: zone()})}); });
on("search", "input", async () => { listPages = []; if (await listSeries()) check(); });
on("previous", "click", async () => { listPages.pop(); if (await listSeries()) check(); });
on("next", "click", async () => {
  if (following) listPages.push(following);
  following = null; // until there is an answer
  if (await listSeries()) check();
});
on("range", "submit", event => {
  event.preventDefault();
  const s = state(), typed = end => { const now = $(end).value.trim(); return now === local(s.get(end) || "") ? s.get(end) || "" : now; };
  go({from: typed("from"), to: typed("to"), zone: zone()}); // dates are of this zone for others, too
});
on("earlier", "click", () => move(-0.5, 0.5));
on("later", "click", () => move(0.5, 1.5));
on("in", "click", () => move(0.25, 0.75));
on("out", "click", () => move(-0.5, 1.5));
on("live", "change", () => go({live: $("live").checked ? "1" : ""}));
on("zone", "change", guarded(async () => {
  const name = $("zone").value.trim();
  try { if (name) new Intl.DateTimeFormat("en-US", {timeZone: name}); } catch { throw new Error(name + ": no such time zone; write a name such as Europe/Berlin or UTC"); }
  go({zone: name});
}));
let refreshing = false;
setInterval(async () => {
  if (refreshing || document.hidden || !schema || !state().has("live")) return;
  refreshing = true;
  await (view() === "queries" ? result() : views[view()][1](true));
  refreshing = false;
}, 5000);
let resized;
addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(() => { if (schema && view() === "chart" && $("chart").querySelector("figure")) showChart(); }, 300);
});
const start = guarded(async () => {
  schemas = await api("schemas");
  $("schema").replaceChildren(...schemas.map(s => element("option", {}, s.name)));
  if (!schemas.length) throw new Error("There are no schemas: run btgen-live serve with the folder of your schemas.");
  if (!state().has("schema")) {
    const first = await api("open").catch(() => ({})); // other requests say what is wrong
    if (first.schema) {
      schema = schemas.find(s => s.name === first.schema);
      become({schema: first.schema, series: JSON.stringify(valuesOf(first.series))});
      schema = undefined;
    }
  }
  await showAddress();
});
on("login", "submit", guarded(async event => {
  event.preventDefault();
  const response = await fetch("/login", {method: "POST", body: $("token").value});
  if (!response.ok) throw new Error((await response.json()).detail);
  $("token").value = "";
  $("login").hidden = true;
  await start();
}));
$("zones").replaceChildren(...["UTC", ...Intl.supportedValuesOf("timeZone")].map(name => element("option", {value: name})));
$("finder").open = innerWidth > 700;
addEventListener("hashchange", showAddress);
start();
