"use strict";
// The page has no state but that of its address: the schema, the series, the range, the time zone and the query. All text of schemas
// and events is inserted as text.
const $ = id => document.getElementById(id);
const colors = 6, searchPage = 50, few = 300;
let schemas = [], schema, listPages = [], following = null, running = 0, drawn = null;

const state = () => new URLSearchParams(location.hash.slice(1));
function go(change) {
  const s = state();
  for (const [key, value] of Object.entries(change)) {
    s.delete(key);
    for (const v of [value].flat()) if (v !== "") s.append(key, v);
  }
  location.hash = s;
}

// element returns a new element with attributes and contents.
function element(name, attributes = {}, ...contents) {
  const svg = ["svg", "path", "circle", "text", "line", "rect", "g"].includes(name);
  const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...contents);
  return e;
}

// api returns the answer to a request.
async function api(path, parameters = {}, signal) {
  const q = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) for (const v of [value].flat()) q.append(key, v);
  const response = await fetch("/api/" + path + (String(q) && "?" + q), {signal, headers: {"Content-Type": "application/json"}}).catch(e => { throw e.name === "AbortError" ? e : new Error("btgen-live serve does not answer: " + e.message); });
  const answer = await response.json();
  if (response.status === 401) $("login").hidden = false;
  if (!response.ok) throw new Error(answer.detail);
  return answer;
}
function guarded(f) {
  return async (...args) => {
    try { await f(...args); $("problem").hidden = true; } catch (e) { if (e.name === "AbortError") return; $("problem").textContent = e.message; $("problem").hidden = false; }
  };
}

const numeric = type => /^(u?int|float)/.test(type);
const drawable = () => schema.fields.filter(f => numeric(f.type) || f.type === "duration").map(f => f.name);
const valuesOf = row => schema.series.map(f => f.name + "=" + row[f.name]);
const selection = values => ({schema: schema.name, value: JSON.parse(values)});
const chosen = () => state().getAll("series").slice(0, colors);
const show = v => typeof v === "number" ? (Math.abs(v) >= 1e15 || v !== 0 && Math.abs(v) < 1e-4 ? Number(v.toPrecision(6)).toExponential() : v.toLocaleString("en-US", {maximumFractionDigits: 6}))
  : v === null || v === undefined ? "" : typeof v === "object" ? JSON.stringify(v) : String(v);
const iso = ms => new Date(ms).toISOString().replace(".000Z", "Z");

const units = {ns: 1e-9, us: 1e-6, "µs": 1e-6, "μs": 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600};
// seconds returns the seconds of a duration such as -1h30m; null for other texts.
function seconds(text) {
  if (!/^[-+]?(\d+(\.\d*)?(ns|us|µs|μs|ms|s|m|h))+$/.test(text)) return null;
  let sum = 0;
  for (const [, n, unit] of text.matchAll(/([\d.]+)(ns|us|µs|μs|ms|s|m|h)/g)) sum += n * units[unit];
  return text.startsWith("-") ? -sum : sum;
}
// showSeconds is the inverse of seconds, rounded to three digits of a second.
function showSeconds(n) {
  const s = Math.abs(n), sign = n < 0 ? "-" : "", h = Math.floor(s / 3600), m = Math.floor(s % 3600 / 60), rest = s % 60;
  if (s < 1) return s === 0 ? "0s" : sign + (s >= 1e-3 ? show(s * 1e3) + "ms" : s >= 1e-6 ? show(s * 1e6) + "µs" : show(s * 1e9) + "ns");
  return sign + (h ? h + "h" : "") + (m ? m + "m" : "") + (rest >= 5e-4 ? Number(rest.toFixed(3)) + "s" : "");
}
// numberOf returns what is drawn of a value: durations, and integers that JavaScript would round, are texts, and so are NaN and
// infinity, which are not drawn.
function numberOf(v) {
  if (typeof v !== "string") return typeof v === "number" ? v : null;
  return /^-?\d+$/.test(v) ? Number(v) : seconds(v);
}

// zone returns the time zone, in which the page shows times.
const zone = () => state().get("zone") || "UTC";
const least = Date.parse("1000-01-01"), clocks = new Map();
// offset returns by how many milliseconds the clocks of the zone are ahead of UTC.
function offset(ms) {
  const name = zone();
  if (name === "UTC" || !(ms > least)) return 0;
  if (!clocks.has(name)) clocks.set(name, new Intl.DateTimeFormat("en-US", {timeZone: name, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric"}));
  const p = Object.fromEntries(clocks.get(name).formatToParts(ms).map(p => [p.type, Number(p.value)]));
  return Date.UTC(p.year, p.month - 1, p.day, p.hour, p.minute, p.second) - Math.floor(ms / 1e3) * 1e3;
}
// ofClock returns the time at which the clocks of the zone show what UTC shows at ms.
const ofClock = ms => ms - offset(ms - offset(ms));
const complete = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
// local returns a time of the API in the zone.
function local(text) {
  const ms = Date.parse(text);
  if (!complete.test(text) || !(ms > least) || zone() === "UTC" && text.endsWith("Z")) return text;
  const by = Math.round(offset(ms) / 6e4), two = n => String(Math.floor(n)).padStart(2, "0");
  return new Date(ms + offset(ms)).toISOString().slice(0, 19) + (/\.\d+/.exec(text) || "") +
    (zone() === "UTC" ? "Z" : (by < 0 ? "-" : "+") + two(Math.abs(by) / 60) + ":" + two(Math.abs(by) % 60));
}
// instant returns a typed time, as text and in milliseconds.
function instant(text) {
  if (complete.test(text)) return [text, Date.parse(text)];
  const ago = seconds(text);
  const ms = ago !== null && ago <= 0 ? Date.now() + ago * 1e3 :
    /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?)?$/.test(text) ? ofClock(Date.parse(text.length > 10 ? text.replace(" ", "T") + "Z" : text)) : NaN;
  if (Number.isNaN(ms)) throw new Error(text + ": want a date such as 2021-03-05, a time such as 2021-03-05 12:00 or 2021-03-05T12:00:00Z, or a duration before now such as -36h");
  return [iso(ms), ms];
}

// costOf returns what answers took.
function costOf(costs) {
  const sum = key => costs.reduce((n, c) => n + c[key], 0), n = (n, what) => n.toLocaleString("en-US") + " " + what + (n === 1 ? "" : "s");
  const [bytes, unit] = [[1e6, "MB"], [1e3, "kB"]].map(([size, unit]) => [(sum("bytes") / size).toFixed(1), unit]).find(([v]) => v >= 1) || [sum("bytes"), "bytes"];
  return [n(sum("requests"), "request"), n(sum("rows"), "row"), n(sum("cells"), "cell"), bytes + " " + unit].join(", ");
}

// table returns rows as a table, with a button that calls pick for each.
function table(answer, pick) {
  const head = (pick ? [element("th", {}, "row")] : []).concat(answer.columns.map(c => element("th", numeric(c.type) ? {class: "num"} : {}, c.name + (c.unit ? " (" + c.unit + ")" : ""))));
  const button = row => {
    const b = element("button", {type: "button", "aria-label": "Show the stored row"}, "⋯");
    b.addEventListener("click", guarded(() => pick(row)));
    return [element("td", {}, b)];
  };
  const body = answer.rows.map(row => element("tr", {}, ...(pick ? button(row) : []), ...answer.columns.map(c => element("td", numeric(c.type) ? {class: "num"} : {}, c.type === "timestamp" ? local(show(row[c.name])) : show(row[c.name])))));
  return element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
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

let listing = new AbortController();
async function listSeries() {
  listing.abort(); // an earlier search
  const {signal} = listing = new AbortController(), text = $("search").value, page = {schema: schema.name, limit: searchPage}, anywhere = {search: text};
  let asked = listPages.at(-1) || text && typed(text) || anywhere, answer = await api("series", {...page, ...asked}, signal);
  if (!listPages.length && asked !== anywhere && !answer.rows.length) answer = await api("series", {...page, ...(asked = anywhere)}, signal);
  following = answer.next && {...asked, page: answer.next};
  const selected = chosen();
  $("series").replaceChildren(...answer.rows.map(row => {
    const values = JSON.stringify(valuesOf(row)), box = element("input", {type: "checkbox"});
    box.checked = selected.includes(values);
    box.addEventListener("change", () => {
      const now = chosen().filter(v => v !== values);
      go({series: box.checked ? [...now, values] : now});
    });
    return element("li", {}, element("label", {}, box, " ", valuesOf(row).join(" ")));
  }));
  $("previous").disabled = !listPages.length;
  $("next").disabled = !following;
}

// extent returns the range of the events of series, in milliseconds.
async function extent(series) {
  const all = await Promise.all(series.map(v => api("range", {...selection(v), fields: drawable().join(",")}))), some = all.filter(a => a.from);
  return [Math.min(...some.map(a => Date.parse(a.from))), Math.max(...some.map(a => Date.parse(a.to)))];
}

// mark marks what does not show the range of the address, and says why. The elements that are not named show it.
const ofRange = ["chart", "values", "about", "events"];
let unread = false; // the last try to read the range failed
function mark(ids, text, ...more) {
  for (const id of ofRange) $(id).classList.toggle("stale", ids.includes(id));
  $("state").replaceChildren(text, ...more);
}

// draw shows the range of the address. What shows an earlier one is marked until this is read, also if that fails.
async function draw() {
  const run = ++running;
  unread = false;
  mark(ofRange, "Reading …");
  try {
    if (await drawRange(run)) mark([], "");
  } catch (e) {
    if (run !== running) throw new DOMException("another range is read", "AbortError");
    unread = true;
    const retry = element("button", {type: "button"}, "Retry");
    retry.addEventListener("click", follow);
    if (drawn && drawn.run === run) mark(["events"], "The events of the range could not be read. ", retry);
    else mark(ofRange, "This could not be read. " + (drawn ? "The chart and the events are those from before, of " + local(drawn.range.from) + " to " + local(drawn.range.to) + ". " : ""), retry);
    throw e;
  }
}

// empty shows that there is nothing to show.
function empty(about) {
  drawn = null;
  for (const id of ["chart", "values", "events", "newest"]) $(id).replaceChildren();
  $("about").textContent = about;
  $("more").hidden = true;
}

// drawRange draws the range of the address. It reports whether it did, and no other one was asked for meanwhile.
async function drawRange(run) {
  const series = chosen(), s = state();
  $("legend").replaceChildren(...series.map((v, i) => element("li", {}, element("span", {class: "swatch b" + i}), JSON.parse(v).join(" "))));
  $("from").value = local(s.get("from") || "");
  $("to").value = local(s.get("to") || "");
  if (!series.length || !drawable().length) {
    empty(series.length ? "No field of the schema is a number or a duration." : "Select series to draw them.");
    return true;
  }
  if (!s.get("from") || !s.get("to")) {
    const [from, to] = await extent(series);
    if (run !== running) return false;
    if (from === Infinity) { empty("No events."); return true; }
    go({from: iso(from), to: iso(to)});
    return false;
  }
  const [begin, from] = instant(s.get("from")), [end, to] = instant(s.get("to")), range = {from: begin, to: end};
  if (!(from < to)) throw new Error("The range is empty: " + s.get("from") + " is not before " + s.get("to") + ".");
  const width = Math.max(300, $("chart").clientWidth);
  const begun = performance.now(), clock = {zone: zone()};
  const answers = await Promise.all(series.map(v => api("windows", {...selection(v), ...range, ...clock, points: Math.min(800, Math.round(width / 2)), fields: drawable().join(","), statistics: "mean,min,max"})));
  let every = answers[0].every, lines = answers.map(a => a.rows.map(row => ({...row, from: Date.parse(row.start), to: Date.parse(row.end)})));
  let cost = answers.map(a => a.cost);
  const total = lines.flat().reduce((n, row) => n + row.events, 0);
  if (total > 0 && total <= few) {
    const events = await Promise.all(series.map(v => api("events", {...selection(v), ...range, limit: few, fields: drawable().join(",")})));
    cost = cost.concat(events.map(a => a.cost));
    // Of events that have expired, only a rollup has windows.
    if (events.reduce((n, a) => n + a.rows.length, 0) >= total) every = "";
    if (!every) lines = events.map(a => a.rows.map(row => ({...row, from: Date.parse(row.time), to: Date.parse(row.time)})));
  }
  if (run !== running) return false;
  drawn = {run, range, from, to, every, lines, width};
  $("chart").replaceChildren(...drawable().map(panel));
  $("values").textContent = "";
  mark(["events"], "Reading events …");
  const inexact = every ? lines.flat().filter(row => row.inexact === true).length : 0;
  $("about").textContent = (every ? "Means of " + every + ", with the range from minimum to maximum" : "Single events") + ": " + total.toLocaleString("en-US") +
    " events. " + (inexact ? inexact.toLocaleString("en-US") + (inexact === 1 ? " window is" : " windows are") + " inexact. " : "") + costOf(cost) + ", " + Math.round(performance.now() - begun) + " ms.";
  await listEvents("");
  return run === running;
}

const height = 190, left = 64, top_ = 26, bottom = 22;
const x = (ms, d = drawn) => left + (ms - d.from) / (d.to - d.from) * (d.width - left - 8);
const mean = (row, name) => row[name + "_mean"] ?? row[name];
const lowest = (row, name) => row[name + "_min"] ?? row[name];
const highest = (row, name) => row[name + "_max"] ?? row[name];

// steps returns round numbers in a range, or round durations.
function steps(low, high, most, duration) {
  const raw = (high - low) / most, power = 10 ** Math.floor(Math.log10(raw)), out = [];
  const unit = duration && raw > 1 && spans.map(s => s / 1e3).find(s => s >= raw) || [1, 2, 5, 10].find(n => n * power >= raw) * power;
  for (let i = Math.ceil(low / unit); i * unit <= high && out.length < 20; i++) out.push(i * unit + 0); // never -0
  return out;
}
const spans = [1e3, 1e4, 6e4, 3e5, 9e5, 36e5, 108e5, 216e5, 432e5, 864e5, 1728e5, 6048e5, 2592e6, 7776e6, 31536e6, 15768e7, 31536e7];
function timeSteps(from, to, most) {
  const span = spans.find(s => (to - from) / s <= most) || (to - from) / most, out = [];
  for (let clock = Math.ceil((from + offset(from)) / span) * span, n = 0; n < 20; clock += span, n++) {
    const t = ofClock(clock), text = iso(clock);
    if (t >= from && t < to) out.push([t, span >= 864e5 ? text.slice(0, 10) : span >= 6e4 ? text.slice(5, 16).replace("T", " ") : text.slice(11, 19)]);
  }
  return to - from < 2e3 ? [] : out;
}

// label returns the label of a line of the grid, as narrow as its place.
function label(text, y) {
  return element("text", {x: left - 6, y: y + 4, "text-anchor": "end", ...(text.length > 8 && {textLength: left - 8, lengthAdjust: "spacingAndGlyphs"})}, text);
}

// panel draws a field.
function panel(name) {
  const d = drawn, field = schema.fields.find(f => f.name === name);
  const all = d.lines.flat().filter(row => numberOf(mean(row, name)) !== null), duration = field.type === "duration";
  let low = Math.min(...all.map(r => numberOf(lowest(r, name)) ?? Infinity)), high = Math.max(...all.map(r => numberOf(highest(r, name)) ?? -Infinity));
  const svg = element("svg", {viewBox: `0 0 ${d.width} ${height}`, role: "img", "aria-label": name, "data-field": name});
  svg.append(element("text", {class: "name", x: left, y: 16}, name + (field.unit ? " (" + field.unit + ")" : "")));
  if (!all.length) { svg.append(element("text", {x: left, y: 60}, duration ? "no durations" : "no numbers")); return svg; }
  if (low === high) { low -= Math.abs(low) / 10 || 1; high += Math.abs(high) / 10 || 1; }
  const y = v => height - bottom - (v - low) / (high - low) * (height - top_ - bottom);
  for (const v of steps(low, high, 4, duration)) svg.append(element("line", {class: "grid", x1: left, x2: d.width - 8, y1: y(v), y2: y(v)}), label(duration ? showSeconds(v) : show(v), y(v)));
  for (const [t, text] of timeSteps(d.from, d.to, d.width / 110)) svg.append(element("text", {x: Math.min(Math.max(x(t), left + 20), d.width - 45), y: height - 5, "text-anchor": "middle"}, text));
  d.lines.forEach((rows, i) => {
    let line = "", up = [], down = [], bands = "", end = null;
    const close = () => { if (up.length) bands += "M" + up.concat(down.reverse()).join("L") + "Z"; up = []; down = []; };
    for (const row of rows) {
      const v = numberOf(mean(row, name));
      if (v === null) continue;
      const at = Math.min(Math.max(x((row.from + row.to) / 2), left), d.width - 8).toFixed(1);
      const gap = end === null || row.from > end;
      if (gap) close();
      if (d.every) line += (gap ? "M" : "L") + at + " " + y(v).toFixed(1);
      else svg.append(element("circle", {class: "c" + i, cx: at, cy: y(v), r: 2.5}));
      if (d.every && gap) line += "h0.1";
      up.push(at + " " + y(numberOf(highest(row, name)) ?? v).toFixed(1));
      down.push(at + " " + y(numberOf(lowest(row, name)) ?? v).toFixed(1));
      end = row.to;
    }
    close();
    if (d.every) svg.append(element("path", {class: "band c" + i, d: bands}), element("path", {class: "line c" + i, d: line, fill: "none", "stroke-linecap": "round"}));
  });
  return svg;
}

// at shows the values at a time.
function at(ms) {
  if (!drawn) return;
  const texts = [];
  drawn.lines.forEach((rows, i) => {
    const near = rows.reduce((a, b) => !a || Math.abs((b.from + b.to) / 2 - ms) < Math.abs((a.from + a.to) / 2 - ms) ? b : a, null);
    if (!near) return;
    const period = near.from === near.to ? local(near.time) : near.start + " – " + near.end;
    texts.push(element("span", {class: "swatch b" + i}), period + "  " + drawable().filter(n => mean(near, n) !== null).map(n => n + " " + show(mean(near, n)) +
      (lowest(near, n) !== highest(near, n) ? " (" + show(lowest(near, n)) + " … " + show(highest(near, n)) + ")" : "")).join(", "), element("br"));
  });
  $("values").replaceChildren(...texts);
  for (const svg of $("chart").children) {
    svg.querySelector(".cursor")?.remove();
    svg.append(element("line", {class: "cursor", x1: x(ms), x2: x(ms), y1: top_, y2: height - bottom}));
  }
}
function timeOf(event) {
  const area = $("chart").getBoundingClientRect(), px = (event.clientX - area.left) / area.width * drawn.width;
  return drawn.from + Math.min(Math.max((px - left) / (drawn.width - left - 8), 0), 1) * (drawn.to - drawn.from);
}
function range(from, to) {
  if (to - from >= 1) go({from: iso(Math.floor(from)), to: iso(Math.ceil(to))});
}
function move(by, factor) {
  if (!drawn) return;
  const length = drawn.to - drawn.from, middle = (drawn.from + drawn.to) / 2 + by * length;
  range(middle - length * factor / 2, middle + length * factor / 2);
}

let newestRun = 0;
async function listNewest() {
  const run = ++newestRun;
  $("newest").classList.add("stale"); // until there is an answer
  const answers = await Promise.all(chosen().map(v => api("latest", selection(v))));
  if (run !== newestRun) return;
  $("newest").classList.remove("stale");
  if (answers.length) $("newest").replaceChildren(table({columns: answers[0].columns, rows: answers.flatMap(a => a.rows)}));
}
let eventRows = [], pages = [];
async function listEvents(more) {
  const series = chosen(), run = running;
  if (!more) { eventRows = []; pages = series.map(() => ""); }
  let columns = [];
  for (const [i, v] of series.entries()) {
    if (pages[i] === null) continue;
    const answer = await api("events", {...selection(v), ...drawn.range, limit: 50, ...(pages[i] && {page: pages[i]})});
    if (run !== running) return;
    columns = answer.columns;
    pages[i] = answer.next || null;
    eventRows.push(...answer.rows);
  }
  if (columns.length) $("events").replaceChildren(table({columns, rows: eventRows}, showRow));
  $("more").hidden = pages.every(p => p === null);
}

// age returns how long ago a time was, or in how long it will be.
function age(time) {
  const ms = Date.now() - Date.parse(time), s = Math.abs(ms) / 1000;
  const [n, unit] = [[31557600, "y"], [86400, "d"], [3600, "h"], [60, "m"], [1, "s"]].map(([n, u]) => [s / n, u]).find(([n]) => n >= 1) || [s, "s"];
  return (ms < 0 ? "in " : "") + n.toFixed(n < 10 ? 1 : 0) + unit + (ms < 0 ? "" : " ago");
}

// showRow shows the row in which an event is stored, with all its cells.
async function showRow(event) {
  const answer = await api("row", {schema: schema.name, value: valuesOf(event), time: event.time, ...(event.sequence && {sequence: event.sequence})});
  $("row").replaceChildren(element("h2", {}, "Stored row of " + local(event.time)), ...answer.rows.flatMap(row => {
    const parts = row.parts.map(p => element("span", {}, element("small", {}, p.name), element("b", {}, p.text)));
    const head = ["column", "timestamp", "age", "value", "stored", "bytes", "expires"].map(h => element("th", h === "bytes" ? {class: "num"} : {}, h));
    const cells = row.cells.slice(0, 500).map(c => element("tr", c.live ? {} : {class: "expired"}, ...[c.column, local(c.timestamp), age(c.timestamp), (c.time && local(c.time) + ": ") + c.means, c.value].map(t => element("td", {}, t)),
      element("td", {class: "num"}, show(c.bytes)), element("td", {}, c.expires ? local(c.expires) + " (" + age(c.expires) + ")" : c.live ? "" : "expired")));
    return [element("p", {}, "Table " + row.table + ", " + show(row.cells.length) + " cells. " + row.families.map(f => f.family + ": " + f.rule).join("; ")),
      element("div", {class: "key"}, ...parts.flatMap((p, i) => i && row.delimiter ? [element("span", {}, row.delimiter), p] : [p])),
      element("div", {class: "scroll"}, element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...cells)))];
  }));
  $("row").scrollIntoView({block: "nearest"});
}

// forms shows a form for each query. Each has a function that reads again, if that is wanted.
let refreshes = [], asked = "";
const question = () => JSON.stringify([schema.name, zone(), ...["query", "given", "newest", "live"].map(name => state().getAll(name))]);
function forms() {
  refreshes = [];
  asked = question();
  $("queries").replaceChildren(...(schema.queries.length ? [element("h2", {}, "Queries")] : []), ...schema.queries.flatMap(q => {
    const result = element("div", {class: "scroll"}), about = element("p", {class: "muted"});
    const inputs = q.inputs.map(i => element("input", {"aria-label": q.name + " " + i.name, placeholder: i.form === "range" ? "from..to" : i.form}));
    const newest = element("input", {type: "checkbox"}), live = element("input", {type: "checkbox"});
    const form = element("form", {}, ...q.inputs.map((i, n) => element("label", {}, i.name + " ", inputs[n])), element("label", {}, newest, " newest of each series"), element("label", {}, live, " every 5 seconds"), element("button", {}, "Read"));
    let run = 0;
    const read = async () => {
      const now = ++run, range = drawn && !newest.checked ? drawn.range : {}, value = q.inputs.flatMap((i, n) => (i.many ? inputs[n].value.split(",") : [inputs[n].value]).map(v => i.name + "=" + v));
      const answer = await api(newest.checked ? "latest" : "events", {schema: schema.name, query: q.name, value, limit: 100, ...range});
      if (now !== run) return;
      result.replaceChildren(table(answer));
      about.textContent = answer.rows.length + " events" + (answer.next || answer.more ? " of more" : "") + ", " + costOf([answer.cost]) + ".";
    };
    form.addEventListener("submit", guarded(async event => {
      event.preventDefault();
      const s = state();
      for (const name of ["query", "given", "newest", "live"]) s.delete(name);
      s.append("query", q.name);
      for (const i of inputs) s.append("given", i.value);
      if (newest.checked) s.append("newest", "1");
      if (live.checked) s.append("live", "1");
      history.replaceState(null, "", "#" + s); // nothing else changes
      asked = question();
      await read();
    }));
    live.addEventListener("change", () => form.requestSubmit());
    refreshes.push(Object.assign(read, {wanted: () => live.checked}));
    if (state().get("query") === q.name && state().getAll("given").length === inputs.length) {
      state().getAll("given").forEach((v, n) => { inputs[n].value = v; });
      newest.checked = state().has("newest");
      live.checked = state().has("live");
      guarded(read)();
    }
    return [element("h3", {}, q.name), element("p", {class: "muted"}, q.doc || ""), form, result, about];
  }));
}

// showAddress shows what the address says.
async function showAddress() {
  if (!schemas.length) return; // not yet
  const name = state().get("schema");
  const now = schemas.find(s => s.name === name) || schemas[0];
  if (now !== schema) {
    schema = now;
    listPages = [];
    $("search").value = "";
    $("schema").value = schema.name;
    $("doc").textContent = schema.doc || "";
    document.title = schema.name + " on Bigtable";
  }
  $("zone").value = zone();
  try { await Promise.all([listSeries(), draw(), listNewest()]); } finally {
    if (asked !== question()) forms();
  }
}
const follow = guarded(showAddress);

const on = (id, type, f) => $(id).addEventListener(type, f);
on("schema", "change", () => { location.hash = new URLSearchParams({schema: $("schema").value, ...(zone() !== "UTC" && {zone: zone()})}); });
on("search", "input", guarded(async () => { listPages = []; await listSeries(); }));
on("previous", "click", guarded(async () => { listPages.pop(); await listSeries(); }));
on("next", "click", guarded(async () => {
  if (following) listPages.push(following);
  following = null; // until there is an answer
  await listSeries();
}));
on("range", "submit", event => { event.preventDefault(); go({from: $("from").value.trim(), to: $("to").value.trim()}); });
on("all", "click", () => go({from: "", to: ""}));
on("earlier", "click", () => move(-0.5, 1));
on("later", "click", () => move(0.5, 1));
on("in", "click", () => move(0, 0.25));
on("out", "click", () => move(0, 4));
on("more", "click", guarded(() => listEvents("more")));
let begin = null;
on("chart", "pointermove", event => { if (drawn) at(timeOf(event)); });
on("chart", "pointerdown", event => { if (drawn) begin = timeOf(event); });
on("chart", "pointerup", event => {
  if (!drawn || begin === null) return;
  const end = timeOf(event), from = Math.min(begin, end), to = Math.max(begin, end);
  begin = null;
  if (to - from > (drawn.to - drawn.from) / 100) range(from, to);
});
on("chart", "keydown", event => {
  const step = {ArrowLeft: [-0.25, 1], ArrowRight: [0.25, 1], "+": [0, 0.5], "-": [0, 2]}[event.key];
  if (step) { event.preventDefault(); move(...step); }
});
on("zone", "change", guarded(async () => {
  const name = $("zone").value.trim() || "UTC";
  try { new Intl.DateTimeFormat("en-US", {timeZone: name}); } catch { throw new Error(name + ": no such time zone; write a name such as Europe/Berlin or UTC"); }
  go({zone: name === "UTC" ? "" : name});
}));
let refreshing = false;
setInterval(async () => {
  const wanted = refreshes.filter(r => r.wanted()).concat($("refresh").checked && schema ? [unread ? showAddress : listNewest] : []);
  if (refreshing || document.hidden || !wanted.length) return;
  refreshing = true;
  await guarded(() => Promise.all(wanted.map(f => f())))();
  refreshing = false;
}, 5000);
const start = guarded(async () => {
  schemas = await api("schemas");
  $("schema").replaceChildren(...schemas.map(s => element("option", {}, s.name)));
  if (!schemas.length) throw new Error("There are no schemas.");
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
$("zones").replaceChildren(...["UTC", Intl.DateTimeFormat().resolvedOptions().timeZone, ...Intl.supportedValuesOf("timeZone")].map(name => element("option", {value: name})));
addEventListener("hashchange", follow);
start();
