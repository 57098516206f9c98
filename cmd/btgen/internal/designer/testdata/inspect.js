// Finds the faults of a page: truncated text in a drawing, a page that is wider than its window, and text with little
// contrast. WCAG 2.1 requires a contrast of 4.5 for text (success criterion 1.4.3).
for (const text of document.querySelectorAll("svg text")) {
  const box = text.getBBox(), view = text.ownerSVGElement.viewBox.baseVal;
  if (box.x < -0.5 || box.y < -0.5 || box.x + box.width > view.width + 0.5 || box.y + box.height > view.height + 0.5)
    faults.push("cut off: " + text.textContent);
}
for (const box of document.querySelectorAll(".panel, .beside > section" + (window.innerWidth > 1200 ? ", .scroll" : "")))
  if (box.scrollWidth > box.clientWidth + 1) faults.push("wider than its column, " + box.scrollWidth + " of " + box.clientWidth + " pixels: " + box.textContent.trim().slice(0, 40));
if (document.documentElement.scrollWidth > window.innerWidth)
  faults.push("a page of " + document.documentElement.scrollWidth + " pixels in a window of " + window.innerWidth);
const style = getComputedStyle(document.documentElement);
function luminance(name) {
  const n = parseInt(style.getPropertyValue(name).trim().slice(1), 16);
  const [r, g, b] = [n >> 16, n >> 8 & 255, n & 255].map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
for (const [text, behind] of [["fg", "bg"], ["fg", "card"], ["muted", "bg"], ["muted", "card"], ["good", "card"], ["bad", "bg"], ["warn", "bg"],
    ...[0, 1, 2, 3, 4].map(i => ["s" + i, "bg"])]) {
  const [light, dark] = [luminance("--" + text), luminance("--" + behind)].sort((a, b) => b - a);
  const contrast = (light + 0.05) / (dark + 0.05);
  if (!(contrast >= 4.5)) faults.push("contrast of " + text + " on " + behind + ": " + contrast);
}
