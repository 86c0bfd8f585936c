// One row as it is seen: its values, those of similar rows, and what the model thinks.

import { fileOf } from "/talk.js";
import { at, count, decision, labelName, make, makeButton, named, own, percent } from "/words.js";

// Texts that are longer, in characters or lines, are folded.
const LONG = 280;
const LINES = 6;
// So much of a value is enough where it is the same in every row.
const SHORT = 60;

// The columns in the order in which they are shown: texts first.
export function columnsOf(about) {
  const places = [...about.columns.keys()];
  const isText = (k) => about.kinds[k] === "text";
  return [...places.filter(isText), ...places.filter((k) => !isText(k))];
}

// A date with a time of day in parts between which a narrow column may break it; else the text.
// The day itself is broken on a telephone alone.
const MOMENT = /^(\d{4}-)(\d\d-)(\d\d ?)(?:(T?\d\d:\d\d)(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?)?$/;
const inParts = (parts) => parts.flatMap((part) => [make("wbr"), part]).slice(1);
function breakable(text) {
  const found = MOMENT.exec(text);
  if (!found) return [text];
  const day = make("span", null, "date");
  day.append(...inParts(found.slice(1, 4)));
  return inParts([day, ...found.slice(4).filter(Boolean)]);
}

// A cell as text; parts of it speak for one of two labels.
function fill(element, cell, parts) {
  element.dir = "auto";
  if (cell === null) {
    element.append(make("span", "missing", "missing"));
    return element;
  }
  if (parts) element.append(...parts.map(([text, side]) => (side ? make("mark", text, side) : text)));
  else element.append(...breakable(cell.text));
  if (cell.length) element.append(make("span", `… (${cell.length} characters)`, "cut"));
  return element;
}


// A text that can be unfolded where it is long.
function readable(cell, parts) {
  const block = fill(make("div", null, "text"), cell, parts);
  const isLong = cell !== null && (cell.text.length > LONG || cell.text.split("\n").length > LINES);
  if (!isLong) return [block];
  block.classList.add("folded");
  const button = makeButton(() => {
    const isFolded = block.classList.toggle("folded");
    button.textContent = isFolded ? "Show all" : "Show less";
    button.setAttribute("aria-expanded", String(!isFolded));
  }, "Show all");
  button.setAttribute("aria-expanded", "false");
  return [block, button];
}

// The picture that a cell names, and its path for those who do not see it.
function picture(row, column, cell) {
  const image = make("img");
  image.alt = cell.text;
  const fail = () => image.replaceWith(make("span", "no picture: ", "missing"));
  image.onerror = fail;
  image.onload = () => URL.revokeObjectURL(image.src);
  fileOf("/api/image", { row, column }).then((address) => { image.src = address; }, fail);
  const path = fill(make("div", null, "quiet"), cell);
  return [image, path];
}

export function showCell(about, element, row, column, cell, parts) {
  if (about.kinds[column] === "image" && cell !== null) element.append(...picture(row, column, cell));
  else element.append(...readable(cell, parts));
  return element;
}

const isLarge = (kind) => kind !== "short";

// Texts and pictures of this row stand above the table, where there is room for them.
function showLarge(about, row) {
  const texts = row.opinion ? row.opinion.texts : {};
  const parts = columnsOf(about).filter((k) => isLarge(about.kinds[k])).map((k) => {
    const part = make("section");
    const title = make("h3", about.columns[k]);
    title.dir = "auto";
    part.append(title);
    return showCell(about, part, row.row, k, row.values[k], texts[k]);
  });
  at("large").replaceChildren(...parts);
}

// This row and those like it, the most similar first.
function headOf(about, neighbours) {
  const head = make("tr");
  head.append(make("th", "Column"), make("th", "This row"));
  neighbours.forEach((other, k) => {
    const cell = make("th");
    const word = other.is_checked ? "checked as " : "labelled ";
    cell.append("Row ", own(other.id), make("br"), make("span", word, "beside"));
    cell.append(own(labelName(about, other.label)));
    if (k === 0) cell.append(make("br"), make("span", "most similar", "quiet"));
    head.append(cell);
  });
  for (const cell of head.children) cell.scope = "col";
  return head;
}

export function showValues(about, row) {
  const neighbours = row.neighbours || [];
  const marked = (row.opinion ? row.opinion.reasons : []).map((reason) => reason.column);
  const speaks = (k) => marked.includes(about.columns[k]);
  showLarge(about, row);
  const body = make("tbody");
  const varying = columnsOf(about).filter((k) => !about.constant.includes(k));
  // Texts, then reasons, then all others.
  const rank = (k) => (about.kinds[k] === "text" ? 0 : speaks(k) ? 1 : 2);
  varying.sort((a, b) => rank(a) - rank(b)).forEach((k) => {
    const isAbove = isLarge(about.kinds[k]);
    if (isAbove && !neighbours.length) return;
    const line = make("tr");
    if (speaks(k)) line.classList.add("speaks");
    const name = make("th");
    name.append(named(about.columns[k]));
    name.scope = "row";
    name.dir = "auto";
    line.append(name);
    const first = make("td");
    line.append(isAbove ? make("td", "above", "quiet") : showCell(about, first, row.row, k, row.values[k]));
    for (const other of neighbours) line.append(showCell(about, make("td"), other.row, k, other.values[k]));
    body.append(line);
  });
  const top = make("thead");
  top.append(headOf(about, neighbours));
  at("values").replaceChildren(top, body);
  at("no-neighbours").hidden = row.pending || row.neighbours !== undefined;
  showConstant(about, row);
}

// Columns with the same value in every row say nothing, and are folded away.
function showConstant(about, row) {
  at("constant").hidden = !about.constant.length;
  at("constant-title").textContent = `${count(about.constant.length, "column")} with the same value in every row`;
  const cells = about.constant.flatMap((k) => [
    ", ", own(about.columns[k]), " = ", own(row.values[k] === null ? "missing" : shortened(row.values[k].text))]);
  at("constant-values").replaceChildren(...cells.slice(1));
}

// What a row was picked for.
const WHY = {
  random: "a random check. One row in five is drawn at random: they count wrong labels without any model.",
  suspicious: "its label is among the most suspicious.",
  design: "its answer says most about the noise of the labels.",
  informative: "its true label is among the least certain.",
  second: "a second opinion. Somebody else has answered it.",
  again: "a second look at an answer.",
};

export function showQuestion(about, row) {
  at("row-title").replaceChildren(about.id_name === "row" ? "Row " : own(about.id_name), " ", own(row.id));
  at("given-word").replaceChildren("Its ", own(about.label_name), " is ");
  at("given").textContent = labelName(about, row.given);
  at("why").textContent = row.why ? `Why this row: ${WHY[row.why]}` : "";
  at("present").replaceChildren();
  if (row.present) at("present").append("Your answer so far: ", ...decision(about, row.present), ". ");
  const isHidden = about.is_blind && row.votes === undefined;
  at("votes").replaceChildren(
    ...(isHidden ? ["What annotators said is shown once you have answered."] : votesInWords(about, row.votes || [])));
  for (const other of row.others || []) {
    at("present").append(own(other.reviewer || "somebody"), " said: ", ...decision(about, other), ". ");
  }
}

// What annotators said, who said the same together.
export function votesInWords(about, votes) {
  const words = [];
  for (const label of new Set(votes.map((vote) => vote.label))) {
    const names = votes.filter((vote) => vote.label === label).flatMap((vote) => [", ", own(vote.annotator.text)]);
    words.push(words.length ? "; " : "", ...names.slice(1), ": ", own(labelName(about, label)));
  }
  return words.length ? [...words, "."] : [];
}

const shortened = (text) => (text.length > SHORT ? `${text.slice(0, SHORT)}…` : text);

const isMarked = (parts) => parts.some(([, side]) => side);

// A sentence in which no line ends within a date, as in the report.
const unbroken = (text) => text.replace(/\b(\d{4})-(\d\d)-(\d\d)\b/g, "$1\u2011$2\u2011$3");

// Which words speak for the suggested label; each label is marked as its words in the text are.
function sayWords(about, { given, opinion }) {
  const labels = [[opinion.suggested, "suggested"], [given, "given"]].map(([label, side]) => {
    const mark = make("mark", null, side);
    mark.append(own(labelName(about, label)));
    return mark;
  });
  const words = opinion.words.flatMap((word) => [", ", own(`“${word}”`)]).slice(1);
  const line = make("p");
  if (!words.length) {
    line.append("Words of the text speak for ", labels[1], ".");
    return line;
  }
  line.append(...words, opinion.words.length > 1 ? " speak for " : " speaks for ", labels[0], ", not for ", labels[1], ".");
  return line;
}

export function showOpinion(about, row, isShown) {
  at("opinion-button").replaceChildren(
    `${isShown ? "Hide" : "Show"} the model’s opinion `, make("kbd", "M"));
  at("opinion-button").setAttribute("aria-expanded", String(isShown));
  at("opinion-text").hidden = !isShown;
  at("opinion").hidden = Boolean(row.independent); // it would tell what somebody else has answered
  at("large").classList.toggle("marked", isShown);
  at("opinion-text").replaceChildren();
  if (!isShown) return;
  if (!row.opinion) {
    at("opinion-text").append(make("p", "The reasons are being computed …"));
    return;
  }
  const { opinion } = row;
  const line = make("p");
  const { probability_wrong: wrong, probability_if_wrong: ifWrong } = opinion;
  if (row.given !== null) {
    line.append(opinion.is_answered ? "Without the answers to this row, its label is wrong with probability "
      : "The label is wrong with probability ", make("strong", percent(wrong)), ". ");
  }
  if (wrong === null || wrong >= 0.5) {
    const label = make("strong");
    label.append(own(labelName(about, opinion.suggested)));
    line.append(row.given === null ? "Suggested: " : "If so, it is ", label);
    const isSaid = about.classes.length === 2 && row.given !== null;
    line.append(isSaid ? "." : ` with probability ${percent(ifWrong)}.`);
  }
  at("opinion-text").append(line);
  if (Object.values(opinion.texts).some(isMarked)) at("opinion-text").append(sayWords(about, row));
  if (!opinion.reasons.length) return;
  const reasons = make("ul");
  for (const reason of opinion.reasons) {
    const item = make("li");
    item.append(own(unbroken(reason.sentence)));
    reasons.append(item);
  }
  at("opinion-text").append(make("p", "What speaks against the label:"), reasons);
}

// What the model thought of a row, once a person has said what he thinks himself.
export function thought(about, { probability_wrong: wrong, suggested, is_suggested: isSuggested }) {
  if (!isSuggested) return [" The model would keep it."];
  const words = wrong === null ? " The model suggests " : " The model would change it to ";
  return [words, own(labelName(about, suggested)), "."];
}
