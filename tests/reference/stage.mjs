// What the scripted parts of one run share: the record, the gates, the observers that react.
//
// Not here: the agent (world.mjs) and what its scripted parts do (scripted.mjs).

/** Two turns of the event loop without an observation: nothing moves any more. */
const QUIET_ROUNDS = 2;

export class Stage {
  #records = [];
  #held = [];
  #reactions;
  #generated = new Map();

  constructor(reactions = []) {
    this.#reactions = [...reactions];
  }

  record(observation) {
    this.#records.push(observation);
  }

  /** What was recorded since the last call, once nothing moves. */
  async settle() {
    for (let quiet = 0, seen = -1; quiet < QUIET_ROUNDS; seen = this.#records.length) {
      await new Promise((resolve) => setImmediate(resolve));
      quiet = seen === this.#records.length ? quiet + 1 : 0;
    }
    return this.#records.splice(0);
  }

  /** Holds an awaited point until an action lets it go; resolves to the outcome. */
  hold(gate) {
    this.record({ gate });
    return new Promise((release) => this.#held.push({ gate, release }));
  }

  /** As `hold`, for points that can fail. */
  async holdOrThrow(gate) {
    const outcome = await this.hold(gate);
    if (outcome.throw !== undefined) throw new Error(outcome.throw);
    return outcome;
  }

  /** Of several gates of one name, the first is let go. */
  release(gate, outcome) {
    const place = this.#held.findIndex((held) => held.gate === gate);
    if (place < 0) return this.record({ refused: "no-gate", gate });
    this.#held.splice(place, 1)[0].release(outcome);
  }

  /** The names of the held gates, in the order in which they were held. */
  held() {
    return this.#held.map(({ gate }) => gate);
  }

  /** The first observer that waits for this publication acts, once. */
  react(matches, perform) {
    const place = this.#reactions.findIndex(({ on }) => matches(on));
    if (place < 0) return;
    const [{ do: action }] = this.#reactions.splice(place, 1);
    this.record({ reaction: action.op });
    perform(action);
    this.record({ "reaction-end": action.op });
  }

  /** `g1`, `g2`, … for identities that the reference draws at random, in order of appearance. */
  normalId(id) {
    if (!this.#generated.has(id)) this.#generated.set(id, `g${this.#generated.size + 1}`);
    return this.#generated.get(id);
  }
}
