// Which digit says which label, and keys that wait for a row.

// A label that is a digit is its own key. Of the digits that are left, a label takes the one that
// it begins with, and then the others go round; who gets none has no key. It is the same for every
// row, so that a key never means another label than the one it was shown with.
export function digitsOf(names) {
  const digits = names.map((name, k) => (/^[0-9]$/.test(name) && names.indexOf(name) === k ? name : null));
  const free = new Set([..."1234567890"].filter((digit) => !names.includes(digit)));
  const give = (k, digit) => {
    if (digits[k] === null && free.delete(digit)) digits[k] = digit;
  };
  names.forEach((name, k) => give(k, name[0]));
  names.forEach((_, k) => give(k, free.values().next().value));
  return digits;
}

// Keys in the order in which they were pressed. While there is no row on the page they are kept,
// and the rows that come then take them, one after the other.
export class Keys {
  #kept = [];

  #isGiving = false;

  constructor(isReady, act) {
    this.isReady = isReady;
    this.act = act;
  }

  press(key) {
    this.#kept.push(key);
    this.give();
  }

  // Acts on what is kept, as far as there are rows; `act` may bring the next one.
  give() {
    if (this.#isGiving) return;
    this.#isGiving = true;
    try {
      while (this.#kept.length && this.isReady()) this.act(this.#kept.shift());
    } finally {
      this.#isGiving = false;
    }
  }

  has(key) {
    return this.#kept.some((each) => each.toLowerCase() === key);
  }

  // The keys that nobody has acted on; they are forgotten.
  takeAll() {
    return this.#kept.splice(0);
  }
}
