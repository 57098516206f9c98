"use strict";
// element returns a new element with attributes and contents, which are inserted as text.
function element(name, attributes = {}, ...contents) {
  const svg = ["svg", "path", "circle"].includes(name);
  const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const key in attributes) e.setAttribute(key, attributes[key]);
  e.append(...contents);
  return e;
}

// swatch returns a line as that of a series.
const swatch = (series, colors) => element("svg", {viewBox: "0 0 26 12", "aria-hidden": true},
  element("path", {class: "line l" + series % colors + (series < colors ? "" : " dash"), d: "M1 6h24"}));

const number = v => Math.abs(v) >= 1e7 || v !== 0 && Math.abs(v) < 1e-4
  ? v.toExponential(5).replace(/\.?0+e/, "e").replace("e+", "e")
  : v.toLocaleString("en-US", {maximumSignificantDigits: Math.abs(v) >= 1e6 ? 7 : 6});
const middle = time => (time[0] + time[1]) / 2;

// nearest returns the index of the time that is nearest to another; -1 if there is none.
function nearest(times, time) {
  let low = 0, high = times.length;
  while (low < high) {
    const half = low + high >> 1;
    if (middle(times[half]) < time) low = half + 1; else high = half;
  }
  if (low > 0 && (low === times.length || time - middle(times[low - 1]) < middle(times[low]) - time)) low--;
  return times.length ? low : -1;
}

// follow has a chart in a figure show the values of all panels at the pointer or, after arrow keys, at the next time, and the buttons
// of a legend hide series. hidden has their names. Dragging over a range calls zoom with its ends, if it is given. It returns a
// function of the time at a share of the range, as RFC 3339.
function follow(figure, legend, data, hidden = new Set(), zoom) {
  const buttons = [...legend.querySelectorAll("button")], tip = figure.appendChild(element("div", {class: "tip", role: "status"}));
  let at = -1; // the time of the cursor, in units since the start
  let from = null; // where dragging began

  // drawn returns the drawing that is displayed, and the places of its panels.
  function drawn() {
    const svg = [...figure.querySelectorAll(":scope > svg")].find(svg => svg.getBoundingClientRect().width > 0), panels = [...svg.querySelectorAll(".plot")];
    return {svg, panels, boxes: panels.map(p => p.dataset.box.split(" ").map(Number)), names: [...svg.querySelectorAll(".name")].map(e => e.textContent)};
  }

  // zone returns the offset of a time: the last one that begins before it.
  const zone = time => data.zone.findLast(z => z[0] <= time) || data.zone[0];

  // clock formats a time as clocks show it that are ahead of UTC by some seconds.
  function clock(time, ahead) {
    const ns = BigInt(data.from) + BigInt(time) * BigInt(data.unit) + BigInt(ahead) * 1000000000n;
    let ms = ns / 1000000n, rest = ns % 1000000n;
    if (rest < 0n) { rest += 1000000n; ms--; }
    return new Date(Number(ms)).toISOString().replace("T", " ").replace("Z", "") + String(rest).padStart(6, "0");
  }
  const utc = share => clock(Math.round(share * data.length), 0).replace(" ", "T").replace(/\.?0+$/, "") + "Z";
  const show = time => clock(time, zone(time)[1]).slice(0, data.date);
  function period([from, to]) {
    const begin = show(from), name = data.zone.length > 1 ? " " + zone(from)[2] : "";
    if (from === to) return begin + name;
    const dates = data.date === 10; // the last day instead of the end
    const end = show(dates ? to - 1 : to);
    if (end === begin) return begin + name;
    return begin + " – " + (end.slice(0, 10) === begin.slice(0, 10) && !dates ? end.slice(11) : end) + name;
  }

  // visible returns the lines that are not hidden: their field, series and values.
  const isHidden = series => buttons[series] && hidden.has(buttons[series].textContent);
  const visible = () => data.fields.flatMap((lines, field) => lines.map((values, series) => ({field, series, values, times: data.times[values.t]}))
    .filter(l => l.times.length && !isHidden(l.series)));

  function clear() {
    at = -1;
    tip.textContent = "";
    figure.querySelectorAll(".cursor, .mark, .dragged").forEach(e => e.remove());
  }

  // select shows the values of the times that are nearest to a time, at a height. Those further away than slack are in a gap.
  function select(time, slack, height) {
    const found = visible().map(l => ({...l, i: nearest(l.times, time)}))
      .filter(l => { const t = l.times[l.i]; return t[0] - slack <= time && time <= t[1] + slack; });
    const {svg, panels, boxes, names} = drawn();
    clear();
    at = time;
    const near = found.reduce((a, b) => !a || Math.abs(middle(b.times[b.i]) - time) < Math.abs(middle(a.times[a.i]) - time) ? b : a, null);
    const x = (box, time) => box[0] + Math.min(Math.max(time / data.length, 0), 1) * box[2];
    panels.forEach((panel, i) => panel.append(element("path", {class: "cursor", d: `M${x(boxes[i], near ? middle(near.times[near.i]) : time)} ${boxes[i][1]}v${boxes[i][3]}`})));
    for (const l of found) {
      const [, top, , height, low, high] = boxes[l.field], v = l.values.m[l.i];
      const y = top + height - (v / 2 - low / 2) / (high / 2 - low / 2) * height;
      panels[l.field].append(element("circle", {class: "mark d" + l.series % data.colors, cx: x(boxes[l.field], middle(l.times[l.i])), cy: y, r: 4}));
    }
    tip.append(element("b", {}, near ? period(near.times[near.i]) : show(Math.round(time))), found.length ? values(found, names) : "no values");
    place(svg, x(boxes[0] || [0, 0, 0, 0], near ? middle(near.times[near.i]) : time), height);
  }

  // values returns a table with a row for each field, and a column for each series.
  function values(found, names) {
    const table = element("table"), series = [...new Set(found.map(l => l.series))];
    if (series.length > 1) table.append(element("tr", {}, element("td"), ...series.map(s => element("td", {class: "num"}, swatch(s, data.colors)))));
    names.forEach((name, field) => {
      const of = series.map(s => found.find(l => l.field === field && l.series === s));
      const row = element("tr", {}, element("td", {}, name), ...of.map(l => element("td", {class: "num"}, l ? number(l.values.m[l.i]) : "")));
      const [l] = of;
      if (of.length === 1 && l?.values.a && l.values.a[l.i] < l.values.b[l.i]) row.append(element("td", {class: "range"}, number(l.values.a[l.i]) + " … " + number(l.values.b[l.i])));
      if (of.some(l => l)) table.append(row);
    });
    return table;
  }

  // place puts the values beside the cursor, inside the chart.
  function place(svg, x, top) {
    const px = x * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width, most = figure.clientWidth - tip.offsetWidth;
    const left = px + 14 <= most ? px + 14 : px - 14 - tip.offsetWidth;
    tip.style.left = Math.max(0, Math.min(left, most)) + "px";
    tip.style.top = Math.max(0, Math.min(top, figure.clientHeight - tip.offsetHeight)) + "px";
  }

  // shareOf returns where the pointer is in the range, from 0 to 1, and how long 8 pixels are.
  function shareOf(event) {
    const {svg, boxes} = drawn(), area = svg.getBoundingClientRect();
    if (!boxes.length) return null;
    const [left, , width] = boxes[0], share = ((event.clientX - area.left) * svg.viewBox.baseVal.width / area.width - left) / width;
    return {share, within: Math.min(Math.max(share, 0), 1), slack: 8 / width * data.length, height: event.clientY - area.top + 16};
  }

  function move(event) {
    const p = shareOf(event);
    if (!p) return;
    if (from === null && (p.share < -0.02 || p.share > 1.02)) { clear(); return; }
    select(p.within * data.length, p.slack, p.height);
    if (from === null) return;
    const {panels, boxes} = drawn(), [a, b] = [from, p.within].sort((a, b) => a - b);
    panels.forEach((panel, i) => panel.append(element("path", {class: "dragged", d: `M${boxes[i][0] + a * boxes[i][2]} ${boxes[i][1]}h${(b - a) * boxes[i][2]}v${boxes[i][3]}h${(a - b) * boxes[i][2]}z`})));
  }
  const on = (type, f) => figure.addEventListener(type, f);
  on("pointermove", move);
  on("pointerdown", event => {
    const p = shareOf(event);
    if (zoom && p && !event.button) from = p.within;
    move(event);
  });
  on("pointerup", event => {
    const p = shareOf(event), begin = from;
    from = null;
    if (begin === null || !p || Math.abs(p.within - begin) < 0.01) return;
    zoom(...[begin, p.within].sort((a, b) => a - b).map(utc));
  });
  on("pointercancel", () => { from = null; clear(); });
  on("pointerleave", event => { if (event.pointerType === "mouse") { from = null; clear(); } });
  on("blur", clear);
  on("keydown", event => {
    const step = {ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -Infinity, End: Infinity}[event.key];
    if (event.key === "Escape") { from = null; clear(); }
    if (step === undefined) return;
    const times = visible().flatMap(l => l.times.map(middle)).sort((a, b) => a - b).filter((t, i, all) => t !== all[i - 1]);
    if (!times.length) return;
    event.preventDefault();
    const now = at < 0 ? (step > 0 ? -1 : times.length) : nearest(times.map(t => [t, t]), at);
    select(times[Math.max(0, Math.min(now + step, times.length - 1))], 0, 30);
  });
  const hide = () => buttons.forEach((button, series) => {
    button.setAttribute("aria-pressed", !isHidden(series));
    figure.querySelectorAll(".s" + series).forEach(e => e.classList.toggle("off", isHidden(series)));
  });
  buttons.forEach(button => button.addEventListener("click", () => {
    if (!hidden.delete(button.textContent)) hidden.add(button.textContent);
    hide();
    clear();
  }));
  hide();
  return utc;
}
