"use strict";
// Sorting and searching of the suspects. The page says everything without it.
(() => {
  const table = document.getElementById("suspects-table");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const words = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  const sort = (heading, direction) => {
    const place = heading.cellIndex;
    const isNumber = heading.dataset.sort === "number";
    const keys = new Map(rows.map((row) => {
      const cell = row.cells[place];
      return [row, isNumber ? Number(cell.dataset.value) : cell.textContent.trim()];
    }));
    const compare = isNumber ? (a, b) => a - b : words.compare;
    const sign = direction === "ascending" ? 1 : -1;
    rows.sort((a, b) => sign * compare(keys.get(a), keys.get(b)));
    body.append(...rows);
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", direction);
  };

  for (const heading of table.querySelectorAll("th[data-sort]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    const first = heading.dataset.sort === "number" ? "descending" : "ascending";
    const second = first === "ascending" ? "descending" : "ascending";
    button.addEventListener("click", () => {
      sort(heading, heading.getAttribute("aria-sort") === first ? second : first);
    });
  }

  const search = document.getElementById("search");
  const shown = document.getElementById("shown");
  const filter = () => {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const row of rows) {
      const text = texts.get(row);
      row.hidden = !wanted.every((word) => text.includes(word));
      if (!row.hidden) n += 1;
    }
    shown.textContent = `${n} of ${rows.length} shown`;
  };
  search.addEventListener("input", filter);
  document.getElementById("tools").hidden = false;
  filter();
})();
