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

async function talk(path, options) {
  let response;
  try {
    response = await fetch(path, { ...options, signal: AbortSignal.timeout(PATIENCE) });
  } catch {
    throw new Gone("the server does not answer; start rboost review again");
  }
  let content;
  try {
    content = await response.json();
  } catch {
    content = {};
  }
  if (response.status === 403) {
    throw new Gone("this tab’s session is over; open the address that rboost review printed last");
  }
  if (response.status >= 500) {
    throw new Gone(content.error || "the server failed");
  }
  if (!response.ok) {
    throw new Refused(response.status, content);
  }
  return content;
}

export function ask(path, query = {}) {
  const words = new URLSearchParams(query).toString();
  return talk(words ? `${path}?${words}` : path, {});
}

export function tell(path, content) {
  const headers = { "Content-Type": "application/json", "X-Rboost": "1" };
  return talk(path, { method: "POST", headers, body: JSON.stringify(content) });
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
  const keyed = { ...content, key: crypto.randomUUID() };
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
