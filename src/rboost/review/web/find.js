// Finds a row by its name or by what stands in it.

import { Gone, Refused, ask } from "/talk.js";
import { at, count, labelName, make, makeButton, own } from "/words.js";

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
