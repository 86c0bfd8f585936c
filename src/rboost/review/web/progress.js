// Keeps progress, estimate and answers up to date, also with what other tabs do.

import { showAnswers, showProgress, showReviewers } from "/panel.js";
import { reviewer } from "/settings.js";
import { Gone, ask, tell } from "/talk.js";
import { at, hideBanner, showBanner } from "/words.js";

// How long until the server is asked again, in ms: usually, and while it computes.
const PAUSE = 4000;
const SHORT = 500;

let about = null;
let page = null; // what can be done to it
let version = -1; // of the answers that are listed
let refitState = "idle";
let timer = 0;
let isAsking = false;

export function startFollowing(facts, actions) {
  about = facts;
  page = actions;
  at("refit").onclick = refit;
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
    timer = setTimeout(follow, pause);
  }
}

async function look() {
  const progress = await ask("/api/progress");
  hideBanner("No connection");
  showProgress(progress);
  showReviewers(about, progress, page.open);
  if (progress.version !== version) await listAnswers(progress.version);
  const isFitted = refitState === "running" && progress.refit.state === "done";
  refitState = progress.refit.state;
  if (isFitted) page.refresh(); // what the model thinks may have changed
  return !progress.is_current || refitState === "running" ? SHORT : PAUSE;
}

async function listAnswers(newest) {
  const found = await ask("/api/answers");
  version = newest;
  showAnswers(about, found, page.open, page.undo);
  // Who gives second opinions wants rows that others have answered.
  const closing = found.answers.filter(
    (answer) => at("order").value !== "second" || answer.reviewer === reviewer());
  page.answeredElsewhere(closing.map((answer) => answer.row));
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
