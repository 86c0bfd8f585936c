// The buttons of an answer with the keys that are shown on them, and keys that wait for a row.

import { at, labelName, make, makeButton, own } from "/words.js";

let digits = [];
let labelOf = new Map(); // digits that are on the buttons now, and the labels they say

// A label that is a digit is its own key. Of the digits that are left, a label takes the one that
// it begins with, and then the others go round; who gets none has no key. It is the same for every
// row, so that a key never means another label than the one it was shown with.
export function digitsOf(names) {
  const digits = names.map((name, k) => (/^[0-9]$/.test(name) && names.indexOf(name) === k ? name : null));
  const free = new Set([..."1234567890"].filter((digit) => !names.includes(digit)));
  const give = (k, digit) => {
    if (digits[k] === null && free.delete(digit)) digits[k] = digit;
  };
  names.forEach((name, k) => give(k, name[0]));
  names.forEach((_, k) => give(k, free.values().next().value));
  return digits;
}

export const learnDigits = (about) => { digits = digitsOf(about.classes.map((name) => name.text)); };

export const labelOfKey = (key) => labelOf.get(key);

// Labels with more than two classes, or where none is given, are chosen; else Keep and Change say it.
export const isChosen = (about, row) => about.classes.length > 2 || row.given === null;

function keysOf(label, isSuggested) {
  const keys = [];
  if (digits[label] !== null) keys.push(" ", make("kbd", digits[label]));
  if (isSuggested) keys.push(" ", make("kbd", "A"));
  return keys;
}

// `suggested` is null as long as the model's opinion is not shown: nothing may give it away.
export function showChoices(about, row, suggested, choose) {
  const shown = isChosen(about, row) ? chosen(about, row, suggested, choose) : kept(about, row, suggested);
  labelOf = new Map(shown.filter((k) => digits[k] !== null).map((k) => [digits[k], k]));
}

// Two classes: the digits are on Keep and Change, and only those that are labels themselves.
function kept(about, row, suggested) {
  at("choices").hidden = true;
  at("choices").replaceChildren();
  const withDigit = [row.given, 1 - row.given].filter((k) => digits[k] === about.classes[k].text);
  const keys = (k) => (withDigit.includes(k) ? keysOf(k, false) : []);
  at("keep-text").replaceChildren("Keep", ...keys(row.given));
  const isSuggested = suggested === 1 - row.given;
  at("change-text").replaceChildren("Change to ", own(labelName(about, 1 - row.given)), ...keys(1 - row.given));
  at("accept-key").hidden = !isSuggested;
  return withDigit;
}

function chosen(about, row, suggested, choose) {
  at("keep-text").textContent = "Keep";
  at("change-text").textContent = "Change";
  at("accept-key").hidden = true;
  const labels = about.classes.map((_, k) => k);
  const shown = labels.filter((k) => digits[k] !== null || k === suggested);
  const buttons = shown.map((k) => choice(about, row, k, k === suggested, choose));
  at("choices").replaceChildren(...buttons);
  const others = labels.filter((k) => !shown.includes(k));
  if (others.length) at("choices").append(otherLabels(about, others, choose));
  at("choices").hidden = false;
  return shown;
}

function choice(about, row, label, isSuggested, choose) {
  const button = makeButton(() => choose(label), own(labelName(about, label)), ...keysOf(label, isSuggested));
  const notes = [label === row.given ? "as given" : "", isSuggested ? "suggested" : ""].filter(Boolean);
  if (notes.length) button.append(" ", make("span", notes.join(", "), "note"));
  button.classList.toggle("suggested", isSuggested);
  return button;
}

function otherLabels(about, labels, choose) {
  const select = make("select");
  select.setAttribute("aria-label", "Other labels");
  select.append(new Option("other labels …", ""));
  for (const k of labels) select.append(new Option(labelName(about, k), k));
  select.onchange = () => select.value !== "" && choose(Number(select.value));
  return select;
}

// Keys in the order in which they were pressed. While there is no row on the page they are kept,
// and the rows that come then take them, one after the other.
export class Keys {
  #kept = [];

  #isGiving = false;

  constructor(isReady, act) {
    this.isReady = isReady;
    this.act = act;
  }

  press(key) {
    this.#kept.push(key);
    this.give();
  }

  // Acts on what is kept, as far as there are rows; `act` may bring the next one.
  give() {
    if (this.#isGiving) return;
    this.#isGiving = true;
    try {
      while (this.#kept.length && this.isReady()) this.act(this.#kept.shift());
    } finally {
      this.#isGiving = false;
    }
  }

  has(key) {
    return this.#kept.some((each) => each.toLowerCase() === key);
  }

  // The keys that nobody has acted on; they are forgotten.
  takeAll() {
    return this.#kept.splice(0);
  }
}
