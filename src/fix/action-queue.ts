/** Carries out a session's actions in turn; actions that one of them causes go to the end of the queue. */
import type { SessionAction } from './session-action.js';

export class ActionQueue {
  readonly #carryOut: (action: SessionAction) => void;
  readonly #actions: SessionAction[] = [];
  #isCarryingOut = false;

  constructor(carryOut: (action: SessionAction) => void) {
    this.#carryOut = carryOut;
  }

  add(actions: readonly SessionAction[]): void {
    this.#actions.push(...actions);
    if (this.#isCarryingOut) return;
    this.#isCarryingOut = true;
    for (let next = this.#actions.shift(); next !== undefined; next = this.#actions.shift()) {
      this.#carryOut(next);
    }
    this.#isCarryingOut = false;
  }
}
