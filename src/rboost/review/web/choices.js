// The buttons of an answer with the keys that are shown on them, and keys that wait for a row.

import { labelSearch } from "/labels.js";
import { at, labelName, make, makeButton, own } from "/words.js";

const MOST_BUTTONS = 10; // labels with a button each; more are searched in a list

let digits = []; // of each label, null where it has none
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

// Of many labels only the likeliest have digits, another one in every row: 1 is the likeliest, but
// for digits that are labels.
export function digitsOfRow(names, probable) {
  const free = [..."123456789"].filter((digit) => !names.includes(digit));
  const digits = names.map(() => null);
  for (const k of probable) digits[k] = /^[0-9]$/.test(names[k]) ? names[k] : free.shift() ?? null;
  return digits;
}

// Whether a digit says another label in every row, so that none can wait for a row.
export const isSearched = (about) => about.classes.length > MOST_BUTTONS;

const namesOf = (about) => about.classes.map((name) => name.text);

export const learnDigits = (about) => { digits = digitsOf(namesOf(about)); };

export const labelOfKey = (key) => labelOf.get(key);

// Labels with more than two classes, or where none is given, are chosen; else Keep and Change say it.
export const isChosen = (about, row) => about.classes.length > 2 || row.given === null;

function keysOf(label, isSuggested) {
  const keys = [];
  if (digits[label] !== null) keys.push(" ", make("kbd", digits[label]));
  if (isSuggested) keys.push(" ", make("kbd", "A"));
  return keys;
}

// What the model suggests: null where it is not shown, or where the label is likelier.
const suggestionOf = (opinion) => (opinion?.is_suggested ? opinion.suggested : null);

// `opinion` is null as long as the model's is not shown: nothing may give it away.
export function showChoices(about, row, opinion, choose) {
  if (isSearched(about)) digits = digitsOfRow(namesOf(about), opinion?.probable ?? []);
  const shown = isChosen(about, row) ? chosen(about, row, opinion, choose)
    : kept(about, row, suggestionOf(opinion));
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

function chosen(about, row, opinion, choose) {
  at("keep-text").textContent = "Keep";
  at("change-text").textContent = "Change";
  at("accept-key").hidden = true;
  const shown = isSearched(about) ? opinion?.probable ?? [] : about.classes.map((_, k) => k);
  const buttons = shown.map((k) => choice(about, row, k, k === suggestionOf(opinion), choose));
  const [list, field] = isSearched(about) ? labelSearch(about, row.given, choose) : ["", ""];
  at("choices").replaceChildren(list, ...buttons, field);
  at("choices").hidden = false;
  return shown;
}

export const focusChoices = () => (at("label-search") ?? at("choices").querySelector("button")).focus();

function choice(about, row, label, isSuggested, choose) {
  const button = makeButton(() => choose(label), own(labelName(about, label)), ...keysOf(label, isSuggested));
  const notes = [label === row.given ? "as given" : "", isSuggested ? "suggested" : ""].filter(Boolean);
  if (notes.length) button.append(" ", make("span", notes.join(", "), "note"));
  button.classList.toggle("suggested", isSuggested);
  return button;
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
