// The rows that come next, fetched before they are needed.

import { Refused, ask, need } from "/talk.js";

// So many rows are kept ready; as many are asked for at a time.
const READY = 5;

export class Ahead {
  #rows = [];

  #round = 0; // what was asked for in an earlier round is not wanted any more

  #asking = null; // the round that a request is under way for

  #answeredSince = new Set(); // rows answered since that request was sent

  isEmpty = false; // the server has no further row

  // `query` says how to ask, `held` which rows the page has or is saving, `arrived` is called
  // when there is a row or none will come, `refused` with the sentence of the server.
  constructor({ query, held, arrived, refused }) {
    Object.assign(this, { query, held, arrived, refused });
  }

  take() {
    return this.#rows.shift();
  }

  putBack(row) {
    this.drop([row.row]);
    this.#rows.unshift(row);
  }

  drop(rows) {
    this.#rows = this.#rows.filter((each) => !rows.includes(each.row));
  }

  // Leaves out rows that have an answer by now, but for those that come back because of it.
  dropAnswered(rows) {
    this.drop(rows.filter((row) => !this.#rows.some((each) => each.row === row && each.sentence)));
  }

  answered(rows) {
    for (const row of rows) this.#answeredSince.add(row);
    this.drop(rows);
  }

  // Forgets what was fetched: order, filter or model are others now.
  reset() {
    this.#rows = [];
    this.#round += 1;
    this.isEmpty = false;
  }

  async fill() {
    if (this.#asking === this.#round || this.#rows.length >= READY) return;
    const round = this.#round;
    this.#asking = round;
    this.#answeredSince.clear();
    let found = [];
    try {
      const skip = [...this.held(), ...this.#rows.map((row) => row.row)].join(",");
      found = (await need(() => ask("/api/next", { ...this.query(), skip, count: READY }))).rows;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (round === this.#round) this.refused(error);
    }
    if (round !== this.#round) return;
    this.#asking = null;
    this.isEmpty = !found.length;
    const known = new Set([...this.held(), ...this.#answeredSince, ...this.#rows.map((row) => row.row)]);
    this.#rows.push(...found.filter((row) => !known.has(row.row)));
    this.arrived();
    if (!this.isEmpty) this.fill();
  }
}
