const heading = () => document.querySelector("main h2");
shown.push(document.title, heading().textContent, document.querySelector(".state summary").textContent);
heading().scrollIntoView();
await until("scrolled", () => Math.abs(heading().getBoundingClientRect().top) < 2);
await act("mistake");
await until("errors", () => document.querySelector(".bad pre"));
shown.push(document.title, heading().textContent, document.querySelector(".old").textContent);
if (Math.abs(heading().getBoundingClientRect().top) > 2) faults.push("jumped to " + heading().getBoundingClientRect().top);
if (document.querySelector("img")) faults.push("an image");
scrollTo(0, 0);
INSPECT
await act("good");
await until("no errors", () => !document.querySelector(".bad"));
shown.push(document.title);
