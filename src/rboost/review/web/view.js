// What is seen. Everything from the table goes through textContent and is never markup.

const FEW_NAMES = 20;

export const at = (id) => document.getElementById(id);

export function make(tag, text, ...classes) {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = text;
  element.classList.add(...classes);
  return element;
}

// A text of the table, whose direction must not spill over to what stands around it.
export const own = (text) => make("bdi", text);

export const percent = (share) => `${(100 * share).toFixed(1)} %`;
export const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

export function say(text, isWarning = false) {
  at("status").textContent = text;
  at("status").classList.toggle("warn", isWarning);
}

export function showBanner(text, again) {
  if (at("banner").hidden || at("banner-text").textContent !== text) {
    at("banner-text").textContent = text;
  }
  at("banner").hidden = false;
  at("retry").onclick = again;
}

export function hideBanner() {
  at("banner").hidden = true;
}

function fill(element, cell) {
  element.dir = "auto";
  if (cell === null) {
    element.append(make("span", "missing", "missing"));
    return element;
  }
  element.append(cell.text);
  if (cell.length) element.append(make("span", `… (${cell.length} characters)`, "cut"));
  return element;
}

export function labelName(about, position) {
  if (position === null || position === undefined) return "no label";
  const name = about.classes[position];
  return name.length ? `${name.text}…` : name.text;
}

export function showValues(about, row) {
  const neighbours = row.neighbours || [];
  const marked = new Set((row.opinion ? row.opinion.reasons : []).map((reason) => reason.column));
  const head = make("tr");
  head.append(make("th", "Column"), make("th", "This row"));
  for (const other of neighbours) {
    const cell = make("th");
    const word = other.is_checked ? "checked as " : "labelled ";
    cell.append("Row ", own(other.id), make("br"), make("span", word, "beside"));
    cell.append(own(labelName(about, other.label)), make("br"));
    cell.append(make("span", `distance ${other.distance}`, "quiet"));
    head.append(cell);
  }
  for (const cell of head.children) cell.scope = "col";
  const body = make("tbody");
  about.columns.forEach((column, k) => {
    const line = make("tr");
    if (marked.has(column)) line.classList.add("speaks");
    const name = make("th", column);
    name.scope = "row";
    name.dir = "auto";
    line.append(name, fill(make("td"), row.values[k]));
    for (const other of neighbours) line.append(fill(make("td"), other.values[k]));
    body.append(line);
  });
  const top = make("thead");
  top.append(head);
  at("values").replaceChildren(top, body);
  at("no-neighbours").hidden = row.neighbours !== undefined;
}

export function showOpinion(about, row, isShown) {
  at("opinion-button").replaceChildren(
    `${isShown ? "Hide" : "Show"} the model’s opinion `, make("kbd", "M"));
  at("opinion-button").setAttribute("aria-expanded", String(isShown));
  at("opinion-text").hidden = !isShown;
  at("opinion-text").replaceChildren();
  if (!isShown) return;
  const { opinion } = row;
  const line = make("p");
  if (row.given !== null) {
    line.append("The label is wrong with probability ", make("strong", percent(opinion.probability_wrong)), ". ");
  }
  line.append(row.given === null ? "Suggested: " : "It would then be ");
  line.append(make("strong"));
  line.lastChild.append(own(labelName(about, opinion.suggested)));
  const isSaid = about.classes.length === 2 && row.given !== null;
  line.append(isSaid ? "." : ` (${percent(opinion.probability_suggested)}).`);
  at("opinion-text").append(line);
  if (!opinion.reasons.length) return;
  const reasons = make("ul");
  for (const reason of opinion.reasons) {
    const item = make("li");
    item.append(own(reason.column), " = ", fill(make("bdi"), reason.value));
    item.append(" (usually ", own(reason.typical), ")");
    reasons.append(item);
  }
  at("opinion-text").append(make("p", "What speaks against the label, and what rows with this label usually have:"), reasons);
}

export function answerInWords(about, answer) {
  const line = make("span");
  line.append(own(answer.id), ": ");
  const given = own(labelName(about, answer.given));
  if (answer.answer === "unsure") line.append("unsure (", given, ")");
  else if (answer.answer === "keep") line.append("kept ", given);
  else line.append(given, " → ", own(labelName(about, answer.label)));
  return line;
}

function rates(head, rows) {
  const table = make("table");
  const top = make("tr");
  for (const text of head) {
    const cell = make("th", text);
    cell.scope = "col";
    top.append(cell);
  }
  table.append(make("thead"), make("tbody"));
  table.tHead.append(top);
  for (const [name, ...cells] of rows) {
    const line = make("tr");
    const first = make("th");
    first.scope = "row";
    first.append(name);
    line.append(first, ...cells.map((text) => make("td", text)));
    table.tBodies[0].append(line);
  }
  return table;
}

function compared(before, after) {
  const interval = (rate) => `${percent(rate.rate)} (${(100 * rate.low).toFixed(0)}–${(100 * rate.high).toFixed(0)})`;
  const rows = before.noise.map((rate, k) => {
    const name = make("span");
    name.append("Wrong, if truly ", own(rate.true_class));
    return [name, interval(rate), interval(after.noise[k])];
  });
  rows.push(["Wrong labels left", before.expected_wrong.toFixed(1), after.expected_wrong.toFixed(1)]);
  rows.push(["Suspects left", before.suspects, after.suspects]);
  return rows;
}

export function showProgress(progress) {
  const { now, start } = progress;
  const left = now.suspects + progress.without_label;
  const isDone = left === 0;
  at("bar").value = isDone ? 1 : progress.answered / (progress.answered + left);
  const without = progress.without_label ? ` and ${count(progress.without_label, "row")} without a label` : "";
  at("bar-text").textContent = isDone
    ? `${count(progress.answered, "answer")}. No label left is more likely wrong than right; you may stop here.`
    : `${count(progress.answered, "answer")}. Left: ${count(now.suspects, "label")} more likely wrong than right${without}.`;
  at("counts").textContent =
    `${progress.confirmed} kept, ${progress.corrected} changed, ${progress.unsure} unsure; ${count(progress.open, "row")} not looked at.`;
  const table = rates(["", "At the start", "Now"], compared(start, now));
  at("estimate").replaceChildren(...table.childNodes);
  const drawn = now.random_checks;
  at("at-random").textContent = drawn
    ? `Of ${count(drawn.n_checked, "label")} drawn at random ${drawn.n_wrong} ${drawn.n_wrong === 1 ? "was" : "were"} wrong: by this count alone, ${percent(drawn.low)} to ${percent(drawn.high)} of all labels given.` : "";
  at("contradiction").textContent = now.contradiction;
  at("updating").textContent = progress.problem
    ? `The estimate could not be updated: ${progress.problem}` : progress.is_current ? "" : "Updating …";
  document.title = `${progress.answered} – Check labels`;
  showRefit(progress.refit);
}

function showRefit({ state, error, changes }) {
  at("refit").disabled = state === "running";
  const words = {
    idle: "", running: "Fitting … you can go on meanwhile.", done: "Fitted again. What changed:",
    failed: `The fit failed, and everything is as it was: ${error}`,
  };
  if (at("refit-state").textContent !== words[state]) at("refit-state").textContent = words[state];
  at("changes").hidden = !changes;
  if (!changes) return;
  const { before, after } = changes;
  const rows = compared(before, after);
  rows.push(["Model right (expected)", percent(before.accuracy), percent(after.accuracy)]);
  rows.push(["Labels right (expected)", percent(before.label_accuracy), percent(after.label_accuracy)]);
  const parts = [rates(["", "Before", "After"], rows)];
  const sets = [["New suspects", changes.new_suspects, changes.n_new_suspects],
    ["No longer suspects", changes.former_suspects, changes.n_former_suspects]];
  for (const [title, names, total] of sets) {
    const line = make("p");
    names.slice(0, FEW_NAMES).forEach((name, k) => line.append(k ? ", " : "", own(name)));
    if (total > FEW_NAMES) line.append(` and ${total - FEW_NAMES} more`);
    parts.push(make("h3", `${title}: ${total}`), line);
  }
  at("changes").replaceChildren(...parts);
}
