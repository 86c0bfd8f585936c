// Talks to the server. What cannot be delivered is never taken for done.

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

// Sends until the server has answered; the key makes the server count it once.
// `trouble` is told why it is not done yet, and a function that tries again at once.
export async function insist(path, content, trouble) {
  const keyed = { ...content, key: crypto.randomUUID() };
  for (;;) {
    try {
      return await tell(path, keyed);
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
      await new Promise((again) => {
        const timer = setTimeout(again, PAUSE);
        trouble(`Not saved: ${error.message}.`, () => {
          clearTimeout(timer);
          again();
        });
      });
    }
  }
}
