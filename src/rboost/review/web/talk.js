// Talks to the server. What cannot be delivered is never taken for done.

import { at, hideBanner, showBanner } from "/words.js";

// How long to wait before an answer is sent again, and when a reply is given up, in ms.
const PAUSE = 2000;
const PATIENCE = 20000;

export class Gone extends Error {}

export class Refused extends Error {
  constructor(status, content) {
    super(content.error || `The server answered ${status}.`);
    this.status = status;
    this.content = content;
  }
}

// The secret that every request needs: what the server gives for the token at the end of the printed
// address. The browser keeps it for all tabs with this address and port. In a review that is shared
// it is one reviewer's, and a tab stays that person's when another one enters in the same browser.
const SECRET = "X-Rboost";
let entering = null;

function nameOfSecret() {
  const reviewer = sessionStorage.getItem("reviewer") ?? localStorage.getItem("entered");
  if (reviewer !== null) sessionStorage.setItem("reviewer", reviewer);
  return reviewer ? `session of ${reviewer}` : "session";
}

async function redeem(token) {
  const headers = { "Content-Type": "application/json", [SECRET]: token };
  const response = await fetch("/api/enter", { method: "POST", headers, signal: AbortSignal.timeout(PATIENCE) });
  const content = response.ok ? await response.json() : {}; // else it was used, maybe by this browser
  if (content.session) {
    sessionStorage.setItem("reviewer", content.reviewer ?? "");
    if (content.reviewer) localStorage.setItem("entered", content.reviewer); // for further tabs
    else localStorage.removeItem("entered");
    localStorage.setItem(nameOfSecret(), content.session);
  }
  if (location.hash.slice(1) === token) history.replaceState(null, "", "/");
}

function enter() {
  const token = location.hash.slice(1);
  if (token) entering ??= redeem(token).finally(() => { entering = null; });
  return entering;
}

async function request(path, options) {
  let response;
  try {
    await enter();
    const headers = { ...options.headers, [SECRET]: localStorage.getItem(nameOfSecret()) ?? "" };
    response = await fetch(path, { ...options, headers, signal: AbortSignal.timeout(PATIENCE) });
  } catch {
    const again = sessionStorage.getItem("reviewer") ? "ask who started the review"
      : `start rboost review again with --port ${location.port}`;
    throw new Gone(`the server does not answer; ${again}`);
  }
  if (response.ok) return response;
  const content = await response.json().catch(() => ({}));
  if (response.status === 403) {
    const link = sessionStorage.getItem("reviewer") ? "your own link; if it was used, ask who started the review"
      : "the address that rboost review printed last";
    throw new Gone(`this page has no access to the review; open ${link}`);
  }
  if (response.status >= 500) {
    throw new Gone((content.error || "the server failed").replace(/\.$/, ""));
  }
  throw new Refused(response.status, content);
}

const read = (response) => response.json().catch(() => ({}));

function addressOf(path, query) {
  const words = new URLSearchParams(query).toString();
  return words ? `${path}?${words}` : path;
}

export const ask = async (path, query = {}) => read(await request(addressOf(path, query), {}));

export async function tell(path, content) {
  const headers = { "Content-Type": "application/json" };
  return read(await request(path, { method: "POST", headers, body: JSON.stringify(content) }));
}

// A file as an address of this page; without the secret the browser could not fetch it.
export async function fileOf(path, query = {}) {
  const response = await request(addressOf(path, query), {});
  return URL.createObjectURL(await response.blob());
}

// Repeats a question until the server answers it, and says meanwhile why it does not.
export async function need(question, trouble = "No connection") {
  for (;;) {
    try {
      const reply = await question();
      hideBanner(trouble);
      return reply;
    } catch (error) {
      if (!(error instanceof Gone)) {
        hideBanner(trouble);
        throw error;
      }
      await new Promise((again) => {
        const pause = setTimeout(again, PAUSE);
        showBanner(trouble, error.message, () => {
          clearTimeout(pause);
          again();
        });
      });
    }
  }
}

// A random UUID; browsers have crypto.randomUUID for https and their own machine alone.
function makeKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

let last = Promise.resolve();
let nUnsaved = 0;

// Says that the page holds so many commands more that the server has not confirmed.
function countUnsaved(more) {
  nUnsaved += more;
  at("saving").textContent = nUnsaved ? `${nUnsaved} being saved` : "";
}

// Sends what a person did, one after the other, each until the server has answered; the key makes
// the server count it once.
export function save(path, content) {
  const keyed = { ...content, key: makeKey() };
  countUnsaved(1);
  const reply = last.then(() => need(() => tell(path, keyed), "Not saved"));
  last = reply.catch(() => {}).then(() => countUnsaved(-1));
  return reply;
}

// Waits until everything before is saved or refused.
export const allSaved = () => last;

window.addEventListener("beforeunload", (event) => {
  if (nUnsaved) event.preventDefault();
});
