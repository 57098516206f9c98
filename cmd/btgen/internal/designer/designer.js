"use strict";
// Waits for the next version of the page, and replaces the parts that may differ. Nodes are taken out of a parsed document,
// in which no script runs.
const pause = ms => new Promise(done => setTimeout(done, ms));
const part = (page, name) => page.querySelector("body > " + name);

function draw(text) {
  const next = new DOMParser().parseFromString(text, "text/html");
  const open = [...document.querySelectorAll(".state details")].map(d => d.open);
  const top = part(document, "main").getBoundingClientRect().top;
  for (const name of [".state", "main"]) {
    const now = part(document, name), then = part(next, name);
    if (!now.isEqualNode(then)) now.replaceWith(document.adoptNode(then));
  }
  document.querySelectorAll(".state details").forEach((d, i) => { if (open[i] === false) d.open = false; });
  if (top < 0) scrollBy(0, part(document, "main").getBoundingClientRect().top - top); // findings grow above what is read
  document.title = next.title;
  document.body.dataset.version = next.body.dataset.version;
}

async function follow() {
  for (;;) {
    try {
      const answer = await fetch("/next?after=" + encodeURIComponent(document.body.dataset.version));
      if (answer.status === 200) draw(await answer.text());
      else if (answer.status !== 204) throw new Error(answer.status);
    } catch {
      document.querySelector(".state .status").textContent = "The server does not answer. This page may be outdated.";
      await pause(1000);
    }
  }
}
follow();
