/** Replies that take milliseconds to make: one step in each turn of the event loop, callers in turn. */
import type { KeyOwner } from '../auth/api-key.js';
import type { KeyRights } from '../auth/key-rights.js';
import type { Exchange } from '../http/exchange.js';
import { Turns } from '../lib/turns.js';
import type { Scope } from '../model/scopes.js';

export class SteppedReplies {
  readonly #turns = new Turns();
  readonly #rights: KeyRights;
  readonly #scope: Scope;

  constructor(rights: KeyRights, scope: Scope) {
    this.#rights = rights;
    this.#scope = scope;
  }

  /** @param steps returns the body after its last step. */
  reply(exchange: Exchange, caller: KeyOwner, steps: Iterator<void, string | Uint8Array>): void {
    this.#turns.run(caller.user.userId, exchange, () => {
      const { value: body, done } = steps.next();
      if (done !== true) return false;
      // The key may have been revoked meanwhile.
      const refusal = this.#rights.refusalNow(caller, this.#scope);
      return refusal === undefined ? exchange.reply(200, body) : exchange.fail(refusal);
    });
  }
}
