// One row at a time: which it is, what the person says, what comes next.

import { Ahead } from "/ahead.js";
import { Keys, focusChoices, isChosen, isSearched, labelOfKey, learnDigits, showChoices } from "/choices.js";
import { decide, isDeciding, openFind, openSimilar, startFind } from "/others.js";
import { follow, listAgain, startFollowing } from "/panel.js";
import { showOpinion, showQuestion, showValues, thought, votesInWords } from "/row.js";
import { isOpinionHidden, person, reviewer, showEnd, startSettings, wishes } from "/settings.js";
import { Refused, allSaved, ask, need, save } from "/talk.js";
import { answerInWords, at, count, decision, own, say } from "/words.js";

const PAUSE = 1000; // ms until reasons are asked for again that the server does not have yet

let about = null; // what never changes
let row = null; // the row on the page, as the server described it, and the note on it
let state = "waiting"; // or "row", or "finished"
let isNextWanted = false; // whether it is the next row that the page waits for
let wish = 0; // counts what was wanted; a reply to an earlier wish is not shown
let isOpinionShown = false;
const saving = new Set(); // rows whose answers are on their way

const held = () => (row === null ? [...saving] : [row.row, ...saving]);
const ahead = new Ahead({
  query: wishes, held, arrived: () => isNextWanted && advance(), refused: (error) => say(true, error.message),
});

function enable() {
  at("card").dataset.row = row === null ? "" : row.row;
  at("row").hidden = row === null;
  at("finished").hidden = state !== "finished";
  at("keep").disabled = row === null || row.given === null;
  for (const id of ["change", "unsure-button", "similar-button"]) at(id).disabled = row === null;
  for (const choice of at("choices").querySelectorAll("button, input")) choice.disabled = row === null;
  at("undo").disabled = state === "waiting";
}

function focusRow() {
  if (!document.querySelector("dialog[open]")) at("row-title").focus({ preventScroll: true });
}

// Nothing can be answered until the row comes that was asked for; keys wait with the page.
function wait(words) {
  row = null;
  state = "waiting";
  wish += 1;
  at("row-title").textContent = words;
  enable();
  return wish;
}

// A row that is not answered comes again after the one that is wanted now.
function setAside() {
  if (row !== null && !row.present) ahead.putBack(row);
}

// Shows the next row at once where it is here already.
function advance() {
  const found = ahead.take();
  if (found) {
    show(found);
  } else if (isNextWanted && ahead.isEmpty) {
    finish();
  } else {
    wait("Loading …");
    isNextWanted = true;
  }
  ahead.fill();
}

function finish() {
  row = null;
  state = "finished";
  isNextWanted = false;
  wish += 1;
  showEnd();
  enable();
  window.scrollTo(0, 0);
  keys.give();
}

function show(found) {
  const active = document.activeElement;
  row = found;
  state = "row";
  isNextWanted = false;
  wish += 1;
  isOpinionShown = row.opinion !== undefined || (row.pending && !isOpinionHidden());
  at("sentence").textContent = row.sentence || "";
  at("note").value = row.note ?? row.present?.comment ?? "";
  showQuestion(about, row);
  showValues(about, row);
  showThoughts();
  if (row.pending) setTimeout(complete, PAUSE, row);
  if (active === document.body || active.closest("#card, #bar-of-answers")) focusRow();
  window.scrollTo(0, 0);
  keys.give();
}

// Adds the reasons to a row that was shown without them, as soon as the server has them.
async function complete(asked) {
  if (row !== asked) return;
  const query = { ...person(), ...(isOpinionShown ? { opinion: "1" } : {}) };
  const { row: found } = await need(() => ask(`/api/rows/${asked.row}`, query));
  Object.assign(asked, { opinion: found.opinion, neighbours: found.neighbours, pending: found.pending });
  if (row !== asked) return;
  showValues(about, row);
  showThoughts();
  if (row.pending) setTimeout(complete, PAUSE, row);
}

// What depends on whether the opinion is shown.
function showThoughts() {
  showOpinion(about, row, isOpinionShown);
  showChoices(about, row, isOpinionShown ? row.opinion ?? null : null, choose);
  enable();
}

const load = async (position) => (await need(() => ask(`/api/rows/${position}`, person()))).row;

// Shows a row, answered or not, once all answers before are saved.
async function open(position) {
  setAside();
  await arrive(wait("Loading …"), () => allSaved().then(() => load(position)));
}

async function arrive(mine, loading) {
  isNextWanted = false;
  focusRow();
  try {
    const found = await loading();
    if (mine === wish) show(found);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    keys.takeAll(); // they were meant for a row that does not come
    say(true, error.message);
    if (mine === wish) advance();
  }
}

async function undo(number = null) {
  setAside();
  await arrive(wait("Taking back …"), async () => {
    const { undone } = await save("/api/undo", { number, reviewer: reviewer() });
    const found = await load(undone[0].row);
    if (undone.length === 1) say(false, "Taken back. ", answerInWords(about, undone[0]), ".");
    else say(false, `Taken back: ${count(undone.length, "answer")}.`);
    return found;
  });
  follow();
}

const choose = (label) => (label === row.given ? answer("keep") : answer("change", label));

function change() {
  if (row === null) return;
  if (isChosen(about, row)) focusChoices();
  else answer("change", 1 - row.given);
}

function accept() {
  if (row === null) return;
  if (isOpinionShown && row.opinion?.is_suggested) choose(row.opinion.suggested);
  else if (isOpinionShown && row.opinion) say(true, "There is no suggestion to accept: by the model, the label is likelier than any other. K keeps it.");
  else say(true, "Nothing is accepted that is not shown: look at the model’s opinion first (M).");
}

// Takes what a person says of the row, or of several; the next row is there before it is saved.
function answer(kind, label = null) {
  if (row === null || (kind === "keep" && row.given === null)) return;
  const rows = isDeciding() ? decide() : [row.row];
  const content = {
    answer: kind, label: kind === "change" ? label : null, reviewer: reviewer(), comment: at("note").value.trim(),
  };
  const answered = { ...row, note: at("note").value };
  say(false); // what was saved before must not be taken for this one
  for (const each of rows) saving.add(each);
  ahead.answered(rows);
  deliver(answered, rows, content, isOpinionShown);
  row = null;
  isNextWanted = false;
  advance();
}

async function deliver(answered, rows, content, wasOpinionShown) {
  const sent = { ...content, expects: answered.present ? answered.present.number : null };
  try {
    if (rows.length === 1) {
      const { saved, opinion, votes } = await save("/api/answer", { ...sent, row: answered.row });
      const others = [...(wasOpinionShown ? [] : thought(about, opinion)), " ", ...votesInWords(about, votes)];
      say(false, "Saved. ", answerInWords(about, saved), ".", ...others);
    } else {
      const { saved } = await save("/api/answers", { ...sent, rows });
      say(false, `Saved. ${count(saved.length, "row")}: `, ...decision(about, saved[0]), ".");
    }
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    await comeBack(answered, error.message);
  }
  for (const each of rows) saving.delete(each);
  if (!saving.size) follow();
}

// A row whose answer was refused is the next one: the row on the page stays under the fingers.
async function comeBack(answered, sentence) {
  const again = { ...await load(answered.row), note: answered.note, sentence: `Not saved: ${sentence}` };
  ahead.putBack(again);
  say(true, "Not saved: ", own(answered.id), ". ", sentence, " It comes back next.");
  if (state === "finished" || isNextWanted) advance();
}

async function toggleOpinion() {
  if (row === null) return;
  isOpinionShown = !isOpinionShown;
  showThoughts();
  if (isOpinionShown && !row.opinion) await complete(row);
}

function note() {
  if (row === null) return;
  at("note").value += keys.takeAll().join(""); // what was typed before the row was there
  at("note").focus();
}

// Other rows are wanted, or the same in another way.
function restart() {
  ahead.reset();
  isNextWanted = false;
  row = null;
  advance();
}

// The model has learnt: other rows come next. The one on the page stays as it is.
function learnt() {
  ahead.reset();
  if (state === "finished" || isNextWanted) restart();
  else ahead.fill();
}

// A row was answered beside the page.
function answeredBeside(position) {
  ahead.answered([position]);
  if (row?.row === position) open(position);
}

async function refresh() {
  ahead.reset();
  listAgain();
  if (row === null) {
    if (isNextWanted || state === "finished") restart();
    return;
  }
  const asked = row;
  await allSaved();
  const found = await load(asked.row);
  if (row === asked) show({ ...found, note: at("note").value, sentence: asked.sentence });
  ahead.fill();
}

const deciding = { k: () => answer("keep"), c: change, u: () => answer("unsure"), a: accept };
const actions = {
  ...deciding, z: () => undo(), m: toggleOpinion, n: note, s: () => row && openSimilar(about, row, isOpinionShown),
};
const keys = new Keys(() => state !== "waiting", (pressed) => {
  const key = pressed.toLowerCase();
  const label = labelOfKey(key);
  if (/^[0-9]$/.test(key)) return row !== null && label !== undefined && choose(label);
  return (isDeciding() ? deciding : actions)[key]?.();
});

function onKey(event) {
  const isTyping = event.target.closest("input:not([type=checkbox]), select, textarea, [contenteditable]");
  const isAside = document.querySelector("dialog[open]:not(#similar)");
  if (isTyping || isAside || event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
  const key = event.key.toLowerCase();
  const isText = keys.has("n") && key.length === 1; // of a note that waits for its row
  const isDigit = /^[0-9]$/.test(key);
  if (isDigit && !isText && state === "waiting" && about !== null && isSearched(about)) return;
  if (key === "/" && !isText && !isDeciding()) openFind();
  else if (key === "?" && !isText && !isDeciding()) at("help").showModal();
  else if (isText || isDigit || Object.hasOwn(actions, key)) keys.press(event.key);
  else return;
  event.preventDefault();
}

function connect() {
  at("keep").onclick = () => answer("keep");
  at("change").onclick = change;
  at("unsure-button").onclick = () => answer("unsure");
  at("undo").onclick = () => undo();
  at("similar-button").onclick = actions.s;
  at("opinion-button").onclick = toggleOpinion;
  at("help-button").onclick = () => at("help").showModal();
  at("note").oninput = () => { if (row) row.note = at("note").value; };
  document.addEventListener("keydown", onKey);
}

async function start() {
  connect();
  about = await need(() => ask("/api/about"));
  at("export").title = `Also written to ${about.checked_csv}`;
  learnDigits(about);
  startSettings(about, restart, refresh);
  startFind(about, open);
  advance();
  startFollowing(about, { open, undo, learnt, answeredBeside, answeredElsewhere: (rows) => ahead.dropAnswered(rows) });
  new ResizeObserver(() => {
    document.documentElement.style.scrollPaddingBottom = `${at("bar-of-answers").offsetHeight + 8}px`;
  }).observe(at("bar-of-answers"));
}

start();
