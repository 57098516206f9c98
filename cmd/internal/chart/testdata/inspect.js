// Finds the faults of a page, and what it shows: the values at the pointer, those two keys later, and the number of lines
// after the last series is hidden.
const chart = document.getElementById("chart"), tip = chart.querySelector(".tip"), buttons = [...document.querySelectorAll(".legend button")];
const svg = [...chart.querySelectorAll(":scope > svg")].find(svg => svg.getBoundingClientRect().width > 0), area = svg.getBoundingClientRect();
for (const text of svg.querySelectorAll("text")) {
  const box = text.getBBox(), view = svg.viewBox.baseVal;
  if (box.x < -0.5 || box.x + box.width > view.width + 0.5 || box.y + box.height > view.height + 0.5) faults.push("cut off: " + text.textContent);
}
const labels = [...svg.querySelectorAll("text")].map(t => [t.getBoundingClientRect(), t.textContent]);
for (const [i, [a, first]] of labels.entries()) for (const [b, second] of labels.slice(0, i))
  if (a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom) faults.push("overlap: " + first + ", " + second);
if (document.documentElement.scrollWidth > window.innerWidth) faults.push("wider than the window");
const show = () => {
  const box = tip.getBoundingClientRect();
  if (box.left < -0.5 || box.right > window.innerWidth + 0.5) faults.push("values beside the window");
  shown.push([...tip.querySelectorAll("b, td:not(.range)")].map(e => e.textContent).join(" | ") || tip.textContent);
};
chart.dispatchEvent(new PointerEvent("pointermove", {clientX: area.left + area.width / 3, clientY: area.top + 60}));
show();
for (const key of ["Home", "ArrowRight"]) chart.dispatchEvent(new KeyboardEvent("keydown", {key}));
show();
buttons.at(-1)?.click();
shown.push(svg.querySelectorAll("path.line:not(.off)").length + " lines");
