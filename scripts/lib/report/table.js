// Tables are sorted by a click on a header, or Enter on it: ascending, descending, as they came. Cells carry what they are sorted by.
"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const asTheyCame = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const next = { null: "ascending", ascending: "descending", descending: null }[head.getAttribute("aria-sort")];
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    if (next) head.setAttribute("aria-sort", next);
    body.append(...(next ? sorted(asTheyCame, column, next === "ascending" ? 1 : -1) : asTheyCame));
  }));
}

// Numbers by size, before words; cells without a value last, whichever way.
function sorted(rows, column, sign) {
  const keyed = rows.map((row) => {
    const text = row.cells[column].dataset.value;
    const number = text.trim() === "" ? NaN : Number(text);
    return { row, text, number, rank: text === "" ? 2 : Number.isNaN(number) ? 1 : 0 };
  });
  keyed.sort((a, b) => {
    if (a.rank === 2 || b.rank === 2) return a.rank === b.rank ? 0 : a.rank - b.rank;
    if (a.rank !== b.rank) return sign * (a.rank - b.rank);
    return sign * (a.rank === 0 ? a.number - b.number : a.text.localeCompare(b.text, "en", { numeric: true }));
  });
  return keyed.map((entry) => entry.row);
}

// A link to a run opens what it leads to.
function openTarget() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target || target.tagName !== "DETAILS") return;
  for (let outer = target; outer; outer = outer.parentElement.closest("details")) outer.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", openTarget);
openTarget();

// Light, dark, or as the system has it.
const button = document.getElementById("theme");
const names = { "": "as the system has them", light: "light", dark: "dark" };
function show(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  button.setAttribute("aria-label", "Colours: " + names[theme]);
  button.title = button.getAttribute("aria-label");
  button.textContent = { "": "◐", light: "☀", dark: "☾" }[theme];
}
function remembered() {
  try { return localStorage.getItem("fedhive-theme") || ""; } catch { return ""; }
}
show(remembered() in names ? remembered() : "");
button.addEventListener("click", () => {
  const next = { "": "light", light: "dark", dark: "" }[document.documentElement.dataset.theme || ""];
  show(next);
  try { localStorage.setItem("fedhive-theme", next); } catch { /* a page from a file may not remember */ }
});
