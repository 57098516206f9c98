location.hash = "schema=Event&tab=events&series=" + encodeURIComponent('["city=berlin","sensor=1"]');
await until("the form", () => !$("login").hidden && $("problem").textContent.includes("token"));
$("token").value = "wrong"; $("login").requestSubmit();
await until("refused", () => $("problem").textContent === "the token is wrong");
if (document.cookie) faults.push("scripts see the cookie " + document.cookie);
$("token").value = "a-token-of-this-test"; $("login").requestSubmit();
await until("events", () => $("events").querySelectorAll("tbody tr").length === 48);
if (document.cookie || location.href.includes("token") || $("token").value || !$("login").hidden || !$("problem").hidden) faults.push("the token is left: " + document.cookie + location.href + $("problem").textContent);
shown.push((await fetch("/api/schemas")).status);
