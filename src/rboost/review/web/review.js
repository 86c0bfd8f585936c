// One row at a time: which it is, what the person says, what comes next.

import { Gone, Refused, ask, insist, tell } from "/talk.js";
import {
  answerInWords, at, hideBanner, labelName, make, own, say, showBanner, showOpinion, showProgress,
  showValues,
} from "/view.js";

const FEW_ANSWERS = 8;
let about = null; // what never changes
let row = null; // the row on the page, as the server described it
let isOpinionShown = false;
let isBusy = true; // an answer is on its way, or a row
let version = -1; // of the answers that are listed
let refitState = "idle";
let timer = 0;

const hides = () => at("hide-opinion").checked;
const opinion = () => (hides() ? {} : { opinion: "1" });

function setBusy(busy) {
  isBusy = busy;
  const isOpen = !busy && row !== null;
  at("keep").disabled = !isOpen || row.given === null;
  for (const id of ["change", "unsure-button"]) at(id).disabled = !isOpen;
  for (const choice of at("choices").querySelectorAll("button, select")) choice.disabled = !isOpen;
  at("undo").disabled = busy;
}

// Repeats a question until the server answers it.
async function need(question) {
  for (;;) {
    try {
      const reply = await question();
      hideBanner();
      return reply;
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
      await new Promise((again) => {
        const pause = setTimeout(again, 2000);
        showBanner(`Sorry, ${error.message}.`, () => { clearTimeout(pause); again(); });
      });
    }
  }
}

async function load(path, query) {
  setBusy(true);
  try {
    show((await need(() => ask(path, { ...query, ...opinion() }))).row);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    say(error.message, true);
    setBusy(false);
  }
}

const next = () => load("/api/next", { order: at("order").value });
const open = (position) => load(`/api/rows/${position}`, {});

function show(found) {
  row = found;
  at("row").hidden = row === null;
  at("finished").hidden = row !== null;
  if (row === null) {
    at("row-title").textContent = "Nothing is left to check";
  } else {
    isOpinionShown = row.opinion !== undefined;
    at("row-title").replaceChildren(about.id_name === "row" ? "Row " : own(about.id_name), " ", own(row.id));
    at("given-word").replaceChildren("Its ", own(about.label_name), " is ");
    at("given").textContent = labelName(about, row.given);
    at("present").replaceChildren();
    if (row.present) at("present").append("Your answer so far: ", answerInWords(about, row.present));
    showOpinion(about, row, isOpinionShown);
    showValues(about, row);
    showChoices();
  }
  setBusy(false);
  if (!at("help").open) at("row-title").focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

function showChoices() {
  const isChosen = about.classes.length > 2 || row.given === null;
  at("choices").hidden = !isChosen;
  at("change-text").replaceChildren("Change");
  at("choices").replaceChildren();
  if (!isChosen) {
    at("change-text").append(" to ", own(labelName(about, 1 - row.given)));
    return;
  }
  about.classes.slice(0, 9).forEach((_, k) => {
    const button = make("button");
    button.type = "button";
    button.append(own(labelName(about, k)), " ", make("kbd", k + 1));
    button.onclick = () => choose(k);
    at("choices").append(button);
  });
  if (about.classes.length <= 9) return;
  const select = make("select");
  select.setAttribute("aria-label", "Other labels");
  select.append(new Option("other labels …", ""));
  about.classes.slice(9).forEach((_, k) => select.append(new Option(labelName(about, k + 9), k + 9)));
  select.onchange = () => select.value !== "" && choose(Number(select.value));
  at("choices").append(select);
}

const choose = (label) => (label === row.given ? answer("keep") : answer("change", label));

function change() {
  if (at("choices").hidden) answer("change", 1 - row.given);
  else at("choices").querySelector("button").focus();
}

async function answer(kind, label = null) {
  if (isBusy || row === null || (kind === "keep" && row.given === null)) return;
  const expects = row.present ? row.present.number : null;
  const content = { row: row.row, answer: kind, label: kind === "change" ? label : null, expects };
  setBusy(true);
  say(""); // what was saved before must not be taken for this one
  try {
    const { saved, opinion: thought } = await insist("/api/answer", content, showBanner);
    hideBanner();
    say("");
    at("status").append("Saved. ", answerInWords(about, saved), ".");
    if (!isOpinionShown) {
      const wrong = thought.probability_wrong;
      at("status").append(wrong === null ? " The model suggests " : wrong >= 0.5
        ? " The model would change it to " : " The model would keep it.");
      if (wrong === null || wrong >= 0.5) at("status").append(own(labelName(about, thought.suggested)), ".");
    }
    await next();
  } catch (error) {
    await refused(error);
  }
  follow();
}

// The server said no: somebody else was faster, or the answer makes no sense.
async function refused(error) {
  if (!(error instanceof Refused)) throw error;
  hideBanner();
  say(error.message, true);
  const { present } = error.content;
  if (present && row) {
    const known = { ...present, id: row.id, given: row.given };
    at("status").append(" It stands as: ", answerInWords(about, known), ". Here is the next row.");
  }
  if (error.status === 409) await next();
  else setBusy(false);
}

async function undo(number = null) {
  if (isBusy) return;
  setBusy(true);
  try {
    const { undone } = await insist("/api/undo", { number }, showBanner);
    hideBanner();
    await open(undone.row);
    say("");
    at("status").append("Taken back. ", answerInWords(about, undone), ".");
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    hideBanner();
    say(error.message, true);
    setBusy(false);
  }
  follow();
}

async function toggleOpinion() {
  if (isBusy || row === null) return;
  if (!isOpinionShown && row.opinion === undefined) {
    setBusy(true);
    row = (await need(() => ask(`/api/rows/${row.row}`, { opinion: "1" }))).row;
    setBusy(false);
    showValues(about, row);
  }
  isOpinionShown = !isOpinionShown;
  showOpinion(about, row, isOpinionShown);
}

async function refit() {
  try {
    await tell("/api/refit", {});
  } catch (error) {
    if (error instanceof Gone) showBanner(`Not started: ${error.message}.`, follow);
    else at("refit-state").textContent = error.message;
    return;
  }
  follow();
}

// Keeps progress, estimate and answers up to date, also with what other tabs do.
async function follow() {
  clearTimeout(timer);
  let pause = 4000;
  if (!isBusy && !document.hidden) {
    try {
      const progress = await ask("/api/progress");
      hideBanner();
      showProgress(progress);
      if (progress.version !== version) await listAnswers(progress.version);
      if (refitState === "running" && progress.refit.state === "done" && row && !isBusy) {
        await open(row.row); // what the model thinks of it may have changed
      }
      refitState = progress.refit.state;
      if (!progress.is_current || refitState === "running") pause = 500;
    } catch (error) {
      if (error instanceof Gone && !isBusy) showBanner(`Sorry, ${error.message}.`, follow);
    }
  }
  clearTimeout(timer);
  timer = setTimeout(follow, pause);
}

async function listAnswers(newest) {
  const { answers, unsure } = await ask("/api/answers");
  version = newest;
  at("answers").replaceChildren(...answers.slice(0, FEW_ANSWERS).map(listed));
  at("unsure").replaceChildren(...unsure.map(listed));
  at("unsure-details").hidden = !unsure.length;
  at("unsure-title").textContent = `Unsure: ${unsure.length}`;
  at("finished-unsure").textContent = unsure.length
    ? "Rows that you were unsure of are listed under Answers; look at them again there." : "";
}

function listed(answered) {
  const item = make("li");
  const again = make("button", "Look again");
  const back = make("button", "Undo");
  again.type = back.type = "button";
  again.setAttribute("aria-label", `Look again at ${answered.id}`);
  back.setAttribute("aria-label", `Undo the answer to ${answered.id}`);
  again.onclick = () => isBusy || open(answered.row);
  back.onclick = () => undo(answered.number);
  item.append(answerInWords(about, answered), again, back);
  return item;
}

const keys = {
  k: () => answer("keep"), c: () => isBusy || row === null || change(), u: () => answer("unsure"), z: () => undo(),
  m: toggleOpinion, "?": () => at("help").showModal(),
};

function onKey(event) {
  const isTyping = event.target.closest("input:not([type=checkbox]), select, textarea, [contenteditable]");
  if (isTyping || event.repeat || event.ctrlKey || event.altKey || event.metaKey || at("help").open) return;
  const digit = /^[1-9]$/.test(event.key) ? Number(event.key) - 1 : -1;
  if (digit >= 0 && row !== null && !at("choices").hidden && digit < about.classes.length) {
    event.preventDefault();
    choose(digit);
  } else if (Object.hasOwn(keys, event.key.toLowerCase())) {
    event.preventDefault();
    keys[event.key.toLowerCase()]();
  }
}

async function start() {
  at("hide-opinion").checked = localStorage.getItem("hide-opinion") === "1";
  at("order").value = localStorage.getItem("order") || "mixed";
  at("keep").onclick = () => answer("keep");
  at("change").onclick = change;
  at("unsure-button").onclick = () => answer("unsure");
  at("undo").onclick = () => undo();
  at("opinion-button").onclick = toggleOpinion;
  at("refit").onclick = refit;
  at("help-button").onclick = () => at("help").showModal();
  at("hide-opinion").onchange = () => {
    localStorage.setItem("hide-opinion", hides() ? "1" : "0");
    if (row && !isBusy) open(row.row);
  };
  at("order").onchange = () => {
    localStorage.setItem("order", at("order").value);
    if (!isBusy) next();
  };
  document.addEventListener("keydown", onKey);
  document.addEventListener("visibilitychange", follow);
  about = await need(() => ask("/api/about"));
  at("export").title = `Also written to ${about.checked_csv}`;
  await next();
  follow();
}

start();
