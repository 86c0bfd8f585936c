// Pieces of the page. Everything from the table goes through textContent and is never markup.

export const at = (id) => document.getElementById(id);

export function make(tag, text, ...classes) {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = text;
  element.classList.add(...classes);
  return element;
}

export function makeButton(action, ...content) {
  const button = make("button");
  button.type = "button";
  button.append(...content);
  button.onclick = action;
  return button;
}

// A text of the table, whose direction must not spill over to what stands around it.
export const own = (text) => make("bdi", text);

// A name that may be broken between its words, as in YearsSinceLastPromotion or years_since.
export function named(name) {
  const parts = name.split(/(?<=[_./-])|(?<=\p{Ll})(?=\p{Lu})/u);
  const element = own(parts[0]);
  for (const part of parts.slice(1)) element.append(make("wbr"), part);
  return element;
}

// A share as terminal and report write it (rboost.audit.wording), with a decimal close to 0 or 1.
export function percent(share) {
  if (share <= 0 || share >= 1) return share < 0.5 ? "0\u00a0%" : "100\u00a0%";
  if (share < 0.0005) return "<0.1\u00a0%";
  if (share >= 0.9995) return ">99.9\u00a0%";
  const digits = share >= 0.0995 && share < 0.985 ? 0 : 1;
  return `${(100 * share).toFixed(digits).replace(/\.0$/, "")}\u00a0%`;
}

export const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

export function labelName(about, position) {
  if (position === null || position === undefined) return "no label";
  const name = about.classes[position];
  return name.length ? `${name.text}…` : name.text;
}

export function answerInWords(about, answer) {
  const line = make("span");
  line.append(own(answer.id), ": ", ...decision(about, answer));
  return line;
}

// What was said of a row, without which row it was.
export function decision(about, answer) {
  const given = own(labelName(about, answer.given));
  const words = answer.answer === "unsure" ? ["unsure (", given, ")"]
    : answer.answer === "keep" ? ["kept ", given]
      : [given, " → ", own(labelName(about, answer.label))];
  if (answer.comment) words.push(" – ", own(`“${answer.comment}”`));
  return words;
}

// Says something in the line above the row; parts are texts and elements.
export function say(isWarning, ...parts) {
  at("status").replaceChildren(...parts);
  at("status").classList.toggle("warn", isWarning);
}

// Says what is wrong with the server. That something is not saved is never covered by other words,
// and each trouble ends with the question that had it.
export function showBanner(trouble, sentence, again) {
  const banner = at("banner");
  if (!banner.hidden && banner.dataset.trouble === "Not saved" && trouble !== "Not saved") return;
  banner.dataset.trouble = trouble;
  const text = `${trouble}: ${sentence}.`;
  if (banner.hidden || at("banner-text").textContent !== text) at("banner-text").textContent = text;
  banner.hidden = false;
  at("retry").onclick = again;
}

export function hideBanner(trouble) {
  if (at("banner").dataset.trouble === trouble) at("banner").hidden = true;
}
