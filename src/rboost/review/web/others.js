// Other rows: found by their name or by what stands in them, or like the one on the page, to be
// answered together.

import { columnsOf, showCell } from "/row.js";
import { Gone, Refused, ask, need } from "/talk.js";
import { at, count, labelName, make, makeButton, own, percent } from "/words.js";

const MOST = 12; // similar rows that are listed
const PAUSE = 150; // ms without a further letter, before the server is asked

let timer = 0;
let wanted = ""; // what the list is of, or will be

export const openFind = () => {
  at("find").showModal();
  at("find-text").select();
};

function found(about, each, open) {
  const button = makeButton(() => {
    at("find").close();
    open(each.row);
  }, own(each.id), " (", own(labelName(about, each.given)), ")");
  if (each.column && each.snippet !== each.id) {
    const words = make("span", null, "quiet");
    words.append(own(each.column), ": ", own(each.snippet));
    button.append(make("br"), words);
  }
  const item = make("li");
  item.append(button);
  return item;
}

async function search(about, open) {
  const text = at("find-text").value.trim();
  wanted = text;
  let reply = { found: [], total: 0 };
  let words = "";
  try {
    if (text !== "") reply = await ask("/api/find", { text });
    if (text !== "") words = reply.total > reply.found.length
      ? `The first ${reply.found.length} of ${count(reply.total, "row")}.` : `${count(reply.total, "row")} found.`;
  } catch (error) {
    if (!(error instanceof Gone || error instanceof Refused)) throw error;
    words = error.message;
  }
  if (wanted !== text) return; // a later question is under way
  at("find-count").textContent = words;
  at("found").replaceChildren(...reply.found.map((each) => found(about, each, open)));
}

export function startFind(about, open) {
  const again = () => {
    clearTimeout(timer);
    return search(about, open);
  };
  at("find-text").oninput = () => {
    clearTimeout(timer);
    timer = setTimeout(again, PAUSE);
  };
  at("find-text").onkeydown = async (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    await again();
    at("found").querySelector("button")?.click();
  };
  at("find-button").onclick = openFind;
}

const boxes = () => [...at("similar-rows").querySelectorAll("tbody input")];

const chosen = () => boxes().filter((box) => box.checked).map((box) => Number(box.value));

function countChosen() {
  at("similar-count").textContent = `${count(chosen().length, "row")} chosen.`;
  const others = boxes().slice(1);
  at("similar-all").checked = others.length > 0 && others.every((box) => box.checked);
  at("similar-all").disabled = others.length === 0;
}

function line(about, each, isFirst, isOpinionShown) {
  const tr = make("tr");
  const box = make("input");
  box.type = "checkbox";
  box.value = each.row;
  box.checked = isFirst;
  box.disabled = isFirst; // it is what the others are compared with
  box.onchange = countChosen;
  const label = make("label");
  label.append(box, " ", own(each.id));
  const name = make("th");
  name.scope = "row";
  name.append(label);
  const wrong = isOpinionShown ? each.opinion.probability_wrong : null;
  if (wrong !== null) name.append(make("div", `wrong: ${percent(wrong)}`, "quiet"));
  tr.append(name);
  for (const k of columnsOf(about)) tr.append(showCell(about, make("td"), each.row, k, each.values[k]));
  return tr;
}

function head(about) {
  const tr = make("tr");
  tr.append(make("th", "Row"), ...columnsOf(about).map((k) => make("th", about.columns[k])));
  for (const cell of tr.children) cell.scope = "col";
  return tr;
}

// Shows the row and those like it; the next answer is for those that are chosen.
export async function openSimilar(about, row, isOpinionShown) {
  at("similar-title").replaceChildren("Rows like ", own(row.id), ", labelled ", own(labelName(about, row.given)));
  const table = at("similar-rows");
  table.tHead.replaceChildren(head(about));
  table.tBodies[0].replaceChildren(line(about, row, true, isOpinionShown));
  at("similar-none").hidden = true;
  countChosen();
  at("similar-bar").append(at("bar-of-answers")); // the same buttons decide here
  at("similar").showModal();
  let rows = [];
  try {
    const opinion = isOpinionShown ? "1" : "0";
    rows = (await need(() => ask("/api/similar", { row: row.row, count: MOST, opinion }))).rows;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
  }
  if (!at("similar").open || Number(boxes()[0].value) !== row.row) return; // closed meanwhile
  table.tBodies[0].append(...rows.map((each) => line(about, each, false, isOpinionShown)));
  at("similar-none").hidden = rows.length > 0;
  countChosen();
  at("similar-all").focus();
}

export const isDeciding = () => at("similar").open;

// Closes the list, and returns the rows that were chosen.
export function decide() {
  const rows = chosen();
  at("similar").close();
  return rows;
}

at("similar").onclose = () => document.body.append(at("bar-of-answers"));

at("similar-all").onchange = () => {
  for (const box of boxes().slice(1)) box.checked = at("similar-all").checked;
  countChosen();
};
