"use strict";
// Pages of long tables; sorting and searching of the suspects. Without it every row is there.
(() => {
  const SIZE = 20; // rows on a page

  // Shows rows of a table page by page; what it returns does so for other rows.
  const paged = (table, status) => {
    const all = Array.from(table.tBodies[0].rows);
    const bar = document.createElement("div");
    const place = status ?? document.createElement("span");
    bar.className = "pages";
    place.setAttribute("role", "status");
    let found = all;
    let page = 0;
    const show = () => {
      const first = page * SIZE;
      const seen = new Set(found.slice(first, first + SIZE));
      for (const row of all) row.hidden = !seen.has(row);
      const of = found.length < all.length ? `${found.length} found` : `${all.length}`;
      place.textContent = found.length ? `${first + 1} to ${first + seen.size} of ${of}` : "none found";
      bar.hidden = found.length <= SIZE;
      back.disabled = page === 0;
      next.disabled = first + SIZE >= found.length;
    };
    const button = (name, step) => {
      const made = document.createElement("button");
      made.type = "button";
      made.textContent = name;
      made.addEventListener("click", () => {
        page += step;
        show();
        table.scrollIntoView();
      });
      return made;
    };
    const back = button("Previous", -1);
    const next = button("Next", 1);
    bar.append(back, next);
    if (!status) bar.append(place);
    table.after(bar);
    const turn = (rows) => {
      found = rows;
      page = 0;
      show();
    };
    turn(all);
    return turn;
  };

  for (const table of document.querySelectorAll("table.paged:not(#suspects-table)")) paged(table);
  const table = document.getElementById("suspects-table");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const words = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const search = document.getElementById("search");
  const turn = paged(table, document.getElementById("shown"));

  const filter = () => {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    turn(rows.filter((row) => wanted.every((word) => texts.get(row).includes(word))));
  };

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
    filter();
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

  search.addEventListener("input", filter);
  document.getElementById("tools").hidden = false;
})();
