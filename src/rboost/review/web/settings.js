// What a person has chosen: order, filter, name and whether the model's opinion comes at once.
// The browser remembers it, but for the filter.

import { Gone, Refused, tell } from "/talk.js";
import { at, labelName } from "/words.js";

export const reviewer = () => at("reviewer").value.trim();
export const isOpinionHidden = () => at("hide-opinion").checked;

// How a row is asked for.
export const person = () => ({ reviewer: reviewer(), ...(isOpinionHidden() ? {} : { opinion: "1" }) });

// Part of the model's opinion; while that is hidden, nothing is filtered by them.
const OPINIONS = ["suggested", "fit"];

// The filters that are set, by what they filter.
const filters = () => Object.fromEntries(["given", ...(isOpinionHidden() ? [] : OPINIONS)]
  .map((name) => [name, at(`${name}-filter`).value]).filter(([, value]) => value !== ""));

const isFiltered = () => Object.keys(filters()).length > 0;

// Says why no row is left.
export function showEnd() {
  const isSecond = at("order").value === "second";
  at("row-title").textContent = isSecond || isFiltered() ? "No such row is left" : "Nothing is left to check";
  at("finished-text").textContent = isSecond
    ? "There is no row that others have answered and you have not. Choose another order to go on."
    : isFiltered() ? "Every row that the filter lets through has an answer."
      : at("reviewer").disabled ? "Every row has an answer, or is on another reviewer’s page; reload later for what comes back."
      : "Every row has an answer. Download checked.csv, or end rboost review in the terminal.";
  at("all-rows").hidden = !isFiltered();
}

// How the next rows are asked for.
export function wishes() {
  return { order: at("order").value, ...person(), ...filters() };
}

async function showLink() {
  at("link-state").textContent = "";
  try {
    at("link-text").value = (await tell("/api/link", {})).url;
    at("link").showModal();
    at("link-text").select();
    await navigator.clipboard.writeText(at("link-text").value);
    at("link-state").textContent = "Copied.";
  } catch (error) {
    if (error instanceof Gone || error instanceof Refused) at("link-text").value = "";
    at("link-state").textContent = at("link-text").value ? "Copy it from here." : error.message;
    if (!at("link").open) at("link").showModal();
  }
}

function restore() {
  at("hide-opinion").checked = localStorage.getItem("hide-opinion") === "1";
  at("order").value = localStorage.getItem("order") || "mixed";
  if (at("order").value === "") at("order").value = "mixed";
  at("reviewer").value = localStorage.getItem("reviewer") || "";
  for (const name of OPINIONS) at(`${name}-filter`).disabled = isOpinionHidden();
}

// Keys are answers again once something is chosen or written. Who goes through a list by arrows is
// not yet done, and a text that changed is being left already.
function returnToRow() {
  const back = () => at("row-title").focus({ preventScroll: true });
  for (const control of document.querySelectorAll("#settings select, #settings input, #note")) {
    let isByMouse = false;
    control.addEventListener("mousedown", () => { isByMouse = true; });
    control.addEventListener("keydown", (event) => {
      isByMouse = false;
      if (event.key !== "Escape" && (event.key !== "Enter" || event.shiftKey)) return;
      event.preventDefault();
      back();
    });
    const isText = control.matches("textarea, [type=text]");
    control.addEventListener("change", () => isByMouse && !isText && back());
  }
}

// `changedOrder` is called when other rows are wanted, `changedView` when the same row is to be
// shown in another way.
export function startSettings(about, changedOrder, changedView) {
  about.classes.forEach((_, k) => {
    for (const id of ["given-filter", "suggested-filter"]) at(id).append(new Option(labelName(about, k), k));
  });
  restore();
  if (about.reviewer !== null) { // the server knows whose page this is, whatever it says
    at("reviewer").value = about.reviewer;
    at("reviewer").disabled = true;
    at("link-text-title").textContent = `This address opens your page once, in another browser. It answers as ${about.reviewer}:`;
  }
  const wide = window.matchMedia("(min-width: 60rem)");
  at("settings").open = wide.matches;
  wide.onchange = () => { at("settings").open = wide.matches; };
  at("order").onchange = () => {
    localStorage.setItem("order", at("order").value);
    changedOrder();
  };
  const selects = ["given", ...OPINIONS].map((name) => at(`${name}-filter`));
  for (const select of selects) select.onchange = changedOrder;
  at("all-rows").onclick = () => {
    for (const select of selects) select.value = "";
    changedOrder();
  };
  at("hide-opinion").onchange = () => {
    localStorage.setItem("hide-opinion", isOpinionHidden() ? "1" : "0");
    for (const name of OPINIONS) at(`${name}-filter`).disabled = isOpinionHidden();
    changedView();
  };
  at("reviewer").onchange = () => {
    localStorage.setItem("reviewer", reviewer());
    changedView();
  };
  returnToRow();
  at("link-button").onclick = showLink;
}
