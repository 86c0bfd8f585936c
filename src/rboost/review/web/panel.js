// Beside the row: how far the review is, what follows from the answers, and who gave them; kept up to
// date, also with what other tabs do.

import { reviewer } from "/settings.js";
import { Gone, Refused, ask, fileOf, save, tell } from "/talk.js";
import {
  answerInWords, at, count, decision, hideBanner, labelName, make, makeButton, own, percent, say, showBanner,
} from "/words.js";

// Answers and names that are listed.
const FEW_ANSWERS = 10;
const FEW_NAMES = 20;
// With more classes their rates are folded away.
const FEW_CLASSES = 6;
// How long until the server is asked again, in ms: usually, and while it computes.
const PAUSE = 1000;
const SHORT = 500;

let about = null;
let page = null; // what can be done to it
let version = -1; // of the answers that are listed
let nFits = null; // how often the model was fitted
let timer = 0;
let isAsking = false;
let isAskedAgain = false; // while it was asking

// Whether something is another thing than last time: lists are not made anew under a person's hands.
const shown = {};
function isNew(name, value) {
  const before = shown[name];
  shown[name] = JSON.stringify(value);
  return shown[name] !== before;
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

// An expected number of rows as terminal and report write it, in two digits.
const rounded = (number) => (number > 0 && number < 0.5 ? "<1"
  : number < 100 ? number.toFixed(0) : String(Number(number.toPrecision(2))));

// How many of the labels that nobody has checked are wrong; the interval alone where no more is known.
function leftInWords(known) {
  const [low, high] = [known.low, known.high].map((share) => rounded(Math.round(share * known.n_unchecked)));
  return known.is_uncertain ? `${low}–${high}` : `about ${rounded(known.expected_wrong)}`;
}

const comparedTotals = (before, after) => [
  ["Wrong labels left", leftInWords(before), leftInWords(after)],
  ["Probably wrong", before.probably_wrong ?? "–", after.probably_wrong],
];

const comparedClasses = (before, after) => before.noise.map((rate, k) => {
  const name = make("span");
  name.append("Of true ", own(rate.true_class), ", mislabelled");
  return [name, rateInWords(before, rate), rateInWords(after, after.noise[k])];
});

// A share with its interval, in the figures of the report; the interval alone where no more is known.
function rateInWords({ is_uncertain: isUncertain }, { rate, low, high }) {
  const ends = `${percent(low).replace("\u00a0%", "")}–${percent(high)}`;
  return isUncertain ? ends : `${percent(rate)} (${ends.replace("\u00a0%", "")})`;
}

// Half the width of an interval, in percentage points.
const points = (number) => `±\u00a0${Number(number.toFixed(number < 9.95 ? 1 : 0))}`;

// How well the share of wrong labels is known, how well it was to be known, and what leads there.
function showWidth({ answered, now, until, fewest, is_enough: isEnough, forecast, n_next: nNext }) {
  const half = 50 * (now.high - now.low);
  at("bar").value = isEnough ? 1 : Math.min(until / half, answered / fewest, 0.99);
  if (!now.n_unchecked) {
    at("bar-text").textContent = "Every label has been checked.";
    return;
  }
  const known = `${percent(now.low)} to ${percent(now.high)} of the ${now.n_unchecked} labels not checked are wrong (90\u00a0% interval, ${points(half)} points)`;
  const asked = `You asked for ${points(until)} points${answered < fewest ? `, which takes at least ${fewest} answers` : ""}.`;
  const next = forecast === null ? "" : forecast < 0.95 * half
    ? ` ${nNext} more answers are expected to bring it to about ${points(forecast)}.`
    : ` ${nNext} more answers are expected to change the interval little.`;
  at("bar-text").textContent = isEnough
    ? `${count(answered, "answer")} are enough: ${known}. ${asked}`
    : `${count(answered, "answer")}: ${known}. ${asked}${next}`;
}

function showProgress(progress) {
  const { now, start } = progress;
  showWidth(progress);
  const without = progress.without_label ? `, ${count(progress.without_label, "row")} without a label` : "";
  at("counts").textContent =
    `${progress.confirmed} kept, ${progress.corrected} changed, ${progress.unsure} unsure; ${count(progress.open, "row")} not looked at${without}.`;
  const [totals, classes] = [comparedTotals(start, now), comparedClasses(start, now)];
  const isFolded = classes.length > FEW_CLASSES;
  const head = ["", "At the start", "Now"];
  at("estimate").replaceChildren(...rates(head, isFolded ? totals : [...totals, ...classes]).childNodes);
  at("noise").hidden = !isFolded;
  at("noise-title").textContent = `Each of ${classes.length} classes`;
  at("noise-rates").replaceChildren(...(isFolded ? rates(head, classes).childNodes : []));
  const drawn = now.random_checks;
  at("at-random").textContent = drawn
    ? `Of ${count(drawn.n_checked, "label")} drawn at random ${drawn.n_wrong} ${drawn.n_wrong === 1 ? "was" : "were"} wrong: by this count alone, ${percent(drawn.low)} to ${percent(drawn.high)} of all labels given.` : "";
  at("contradiction").textContent = now.contradiction;
  at("updating").textContent = progress.update_error
    ? `The estimate could not be updated: ${progress.update_error}` : progress.is_current ? "" : "Updating …";
  at("export-error").textContent = progress.export_error
    ? `Your answers are saved, but checked.csv could not be written: ${progress.export_error}` : "";
  document.title = `${progress.answered} – Check labels`;
  showRefit(progress.refit);
}

function showRefit({ state, error, changes }) {
  at("refit").disabled = state === "running";
  const learnt = changes ? `The model has learnt from ${count(changes.n_answers, "checked label")}: `
    + `${leftInWords(changes.before)} wrong labels → ${leftInWords(changes.after)}.` : "";
  const words = {
    idle: "", running: "The model is learning from the answers …", done: learnt,
    failed: `The model could not learn, and the page goes on as before: ${error}`,
  };
  if (at("refit-state").textContent !== words[state]) at("refit-state").textContent = words[state];
  at("changes-details").hidden = !changes;
  if (!changes) return;
  const { before, after } = changes;
  const rows = comparedTotals(before, after);
  rows.push(["Model right (expected)", percent(before.accuracy), percent(after.accuracy)]);
  rows.push(["Labels right (expected)", percent(before.label_accuracy), percent(after.label_accuracy)]);
  rows.push(...comparedClasses(before, after));
  const parts = [rates(["", "Before", "After"], rows)];
  const sets = [["Now probably wrong", changes.now_probable, changes.n_now_probable],
    ["No longer probably wrong", changes.no_longer_probable, changes.n_no_longer_probable]];
  for (const [title, names, total] of sets) {
    const line = make("p");
    names.slice(0, FEW_NAMES).forEach((name, k) => line.append(k ? ", " : "", own(name)));
    if (total > FEW_NAMES) line.append(` and ${total - FEW_NAMES} more`);
    parts.push(make("h3", `${title}: ${total}`), line);
  }
  at("changes").replaceChildren(...parts);
}

// The latest answers and those that were unsure; a person takes back only answers of their own.
function showAnswers({ answers, unsure }) {
  const listed = (answered) => {
    const item = make("li");
    const words = answerInWords(about, answered);
    const again = makeButton(() => page.open(answered.row), "Look");
    again.setAttribute("aria-label", `Look again at ${answered.id}`);
    item.append(words, changer(answered), again);
    if (answered.reviewer !== reviewer()) {
      words.append(" (", answered.reviewer ? own(answered.reviewer) : "without a name", ")");
    } else {
      const back = makeButton(() => page.undo(answered.number), "Undo");
      back.setAttribute("aria-label", `Undo the answer to ${answered.id}`);
      item.append(back);
    }
    return item;
  };
  at("answers").replaceChildren(...answers.slice(0, FEW_ANSWERS).map(listed));
  at("unsure").replaceChildren(...unsure.map(listed));
  at("unsure-details").hidden = !unsure.length;
  at("unsure-title").textContent = `Unsure: ${unsure.length}`;
  at("finished-unsure").textContent = unsure.length
    ? "Rows that you were unsure of are listed under Answers; look at them again there." : "";
}

// A list of all other answers to a row; what is chosen is said at once.
function changer(answered) {
  const list = make("select");
  list.setAttribute("aria-label", `Change the answer to ${answered.id}`);
  list.append(new Option("Change", "", true), ...about.classes.map((_, k) => new Option(labelName(about, k), k)));
  list.append(new Option("unsure", "unsure"));
  list.onchange = () => sayOf(answered, list.value === "unsure" ? null : Number(list.value), answered);
  return list;
}

// Says which label a row has, without going to it; `standing` is an answer that it has.
async function sayOf({ row, given }, label, standing) {
  const kind = label === null ? "unsure" : label === given ? "keep" : "change";
  const isOwn = standing?.reviewer === reviewer();
  try {
    const { saved } = await save("/api/answer", {
      row, answer: kind, label: kind === "change" ? label : null, reviewer: reviewer(),
      comment: isOwn ? standing.comment : "", expects: isOwn ? standing.number : null,
    });
    say(false, "Saved. ", answerInWords(about, saved), ".");
    page.answeredBeside(row);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    say(true, "Not saved: ", error.message);
  }
  follow();
}

// Who has answered how much, and how often two of them say the same.
function showReviewers({ reviewers, agreement }) {
  at("people").hidden = reviewers.every((reviewer) => reviewer.name === "");
  at("reviewers").replaceChildren(...reviewers.map(({ name, answered }) => {
    const item = make("li");
    item.append(name === "" ? "without a name" : own(name), `: ${count(answered, "answer")}`);
    return item;
  }));
  const apart = agreement ? agreement.disagreements : [];
  at("agreement").textContent = agreement
    ? `Of ${count(agreement.rows, "row")} that several have answered, they agree on ${agreement.agreed}`
      + `${agreement.kappa === null ? "" : ` (kappa ${agreement.kappa.toFixed(2)}; 1 is full agreement, 0 is chance)`}.`
    : "No row has answers of two people yet; choose the order “second opinion” to give some.";
  at("disagreements-details").hidden = !apart.length;
  at("disagreements-title").textContent = `They disagree on ${count(apart.length, "row")}`;
  at("disagreements").replaceChildren(...apart.map(toLookAt));
}

// A row with what everybody says of it, and a button that opens it.
function toLookAt(each) {
  const item = make("li");
  const words = make("span");
  words.append(own(each.id), ": ");
  const isNamed = each.answers.some((answer) => answer.reviewer);
  each.answers.forEach((answer, k) => {
    const name = isNamed ? [own(answer.reviewer || "without a name"), " "] : [];
    words.append(k ? "; " : "", ...name, ...decision(about, answer));
  });
  const look = makeButton(() => page.open(each.row), "Look");
  look.setAttribute("aria-label", `Look at ${each.id}`);
  item.append(words, look);
  return item;
}

// Answers that the model takes for mistakes, until somebody answers the row once more.
function showDoubtful({ doubtful }) {
  at("doubtful-details").hidden = !doubtful.length;
  at("doubtful-title").textContent = `Please look again: ${doubtful.length}`;
  at("doubtful").replaceChildren(...doubtful.map((each) => {
    const item = toLookAt(each);
    const [{ row, given }] = each.answers;
    const mine = each.answers.find((answer) => answer.reviewer === reviewer());
    // What people said of the row, and the label that it came with; else what the model suggests.
    const said = new Set(each.answers.map((answer) => answer.label).filter((label) => label !== null));
    const labels = new Set([...said, given]);
    if (labels.size < 2) labels.add(each.suggested);
    for (const label of labels) {
      const word = said.size > 1 ? "Choose " : said.has(label) ? "Keep " : "Change to ";
      item.append(makeButton(() => sayOf({ row, given }, label, mine), word, own(labelName(about, label))));
    }
    return item;
  }));
}

export function startFollowing(facts, actions) {
  about = facts;
  page = actions;
  at("refit").onclick = refit;
  at("export").onclick = download;
  document.addEventListener("visibilitychange", follow);
  follow();
}

// Lists the answers once more, though none is new: who looks at them has another name.
export function listAgain() {
  version = -1;
  follow();
}

export async function follow() {
  clearTimeout(timer);
  isAskedAgain = isAsking;
  if (isAsking) return;
  isAsking = true;
  let pause = PAUSE;
  try {
    if (!document.hidden) pause = await look();
  } catch (error) {
    if (!(error instanceof Gone)) throw error;
    showBanner("No connection", error.message, follow);
  } finally {
    isAsking = false;
    clearTimeout(timer);
    timer = setTimeout(follow, isAskedAgain ? 0 : pause);
  }
}

async function look() {
  const progress = await ask("/api/progress");
  hideBanner("No connection");
  showProgress(progress);
  if (isNew("people", [progress.reviewers, progress.agreement])) showReviewers(progress);
  if (isNew("doubtful", [progress.doubtful, reviewer()])) showDoubtful(progress);
  if (progress.version !== version) await listAnswers(progress.version);
  if (nFits !== null && nFits !== progress.refit.n_fits) page.learnt();
  nFits = progress.refit.n_fits;
  return progress.is_current ? PAUSE : SHORT;
}

async function listAnswers(newest) {
  const found = await ask("/api/answers");
  version = newest;
  showAnswers(found);
  // Who gives second opinions wants rows that others have answered.
  const closing = found.answers.filter(
    (answer) => at("order").value !== "second" || answer.reviewer === reviewer());
  page.answeredElsewhere(closing.map((answer) => answer.row));
}

async function download() {
  const link = make("a");
  link.download = "checked.csv";
  try {
    link.href = await fileOf("/api/checked.csv");
  } catch (error) {
    at("export-error").textContent = `checked.csv could not be downloaded: ${error.message}.`;
    return;
  }
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser reads it meanwhile
}

async function refit() {
  try {
    await tell("/api/refit", {});
  } catch (error) {
    if (error instanceof Gone) showBanner("Not started", error.message, follow);
    else at("refit-state").textContent = error.message;
    return;
  }
  follow();
}
