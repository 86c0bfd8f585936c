// Many labels in a list that is searched by typing: Enter takes the marked one, arrows mark others.
// Nothing is marked before something is typed, so that Enter alone answers nothing.

import { at, labelName, make, own } from "/words.js";

const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
const parts = (text) => text.split(/[^\p{L}\p{N}]+/u).filter(Boolean);

// The positions of names that hold every word that was typed: those that begin with it come first,
// then those of which a word does.
export function matching(names, typed) {
  const wanted = plain(typed).trim();
  const words = wanted.split(/\s+/);
  const rank = (name) => {
    if (name.startsWith(wanted)) return name === wanted ? 0 : 1;
    return parts(name).some((part) => part.startsWith(words[0])) ? 2 : 3;
  };
  return names.map((name, k) => ({ k, name: plain(name) }))
    .filter(({ name }) => words.every((word) => name.includes(word)))
    .map(({ k, name }) => ({ k, rank: rank(name) }))
    .sort((one, other) => one.rank - other.rank || one.k - other.k)
    .map(({ k }) => k);
}

const attributes = (element, values) => {
  for (const [name, value] of Object.entries(values)) element.setAttribute(name, value);
  return element;
};

// The list, which is there while the field has the focus, and the field.
export function labelSearch(about, given, choose) {
  const names = about.classes.map((_, k) => labelName(about, k));
  const list = attributes(make("ul"), { id: "label-list", role: "listbox", "aria-label": "Labels" });
  const field = attributes(make("input"), {
    id: "label-search", type: "text", role: "combobox", "aria-label": "Another label", autocomplete: "off",
    "aria-controls": list.id, "aria-autocomplete": "list", spellcheck: "false", maxlength: "200",
    placeholder: `C, then part of a label (${names.length})`,
  });
  let shown = [];
  let marked = -1;

  function mark(place) {
    list.children[marked]?.setAttribute("aria-selected", "false");
    marked = place;
    const item = marked in shown ? list.children[marked] : null;
    item?.setAttribute("aria-selected", "true");
    item?.scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", item?.id ?? "");
  }

  function option(k) {
    const item = attributes(make("li"), { id: `label-${k}`, role: "option", "aria-selected": "false" });
    item.append(own(names[k]));
    if (k === given) item.append(" ", make("span", "as given", "note"));
    item.onclick = () => take(k);
    return item;
  }

  function open() {
    shown = matching(names, field.value);
    const none = attributes(make("li", "No label is like this."), { role: "option", "aria-disabled": "true" });
    list.replaceChildren(...(shown.length ? shown.map(option) : [none]));
    show(true);
    mark(field.value.trim() ? 0 : -1);
  }

  function show(isOpen) {
    list.hidden = !isOpen;
    field.setAttribute("aria-expanded", String(isOpen));
  }

  function leave() {
    field.value = "";
    field.blur();
    at("row-title").focus({ preventScroll: true });
  }

  function take(k) {
    leave();
    choose(k);
  }

  const next = {
    ArrowDown: () => (marked + 1) % shown.length,
    ArrowUp: () => (marked > 0 ? marked : shown.length) - 1,
  };
  field.onkeydown = (event) => {
    if (event.isComposing) return;
    if (event.key === "Enter" && marked in shown) take(shown[marked]);
    else if (event.key === "Escape") leave();
    else if (event.key in next && shown.length) mark(next[event.key]());
    else return;
    event.preventDefault();
  };
  field.onfocus = field.oninput = open;
  field.onblur = () => show(false);
  list.onmousedown = (event) => event.preventDefault(); // the field keeps the focus
  show(false);
  return [list, field];
}
