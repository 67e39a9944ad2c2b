/** A bot's user that notes each answer with its trace id, by which the recording finds when it left. */
import type { Answer } from '../../support/api.js';
import type { Operation } from '../crash/operation.js';
import { Trader } from '../crash/trader.js';

export interface Told {
  readonly answer: Answer;
  /** Undefined: a signal was read. */
  readonly operation: Operation | undefined;
}

export class RecordedTrader extends Trader {
  /** The answers to its login and to the making of its API key. */
  entered: { readonly login: Answer; readonly made: Answer } | undefined;
  readonly told: Told[] = [];

  override async attempt(operation: Operation): Promise<Answer | undefined> {
    const answer = await super.attempt(operation);
    if (answer?.status === 202) this.#note(answer, operation);
    return answer;
  }

  override async get(path: string, apiKey?: string): Promise<Answer | undefined> {
    const answer = await super.get(path, apiKey);
    const isSignal = path.startsWith('/api/v1/signals/') && answer?.status === 200;
    if (isSignal) this.#note(answer, undefined);
    return answer;
  }

  #note(answer: Answer, operation: Operation | undefined): void {
    this.told.push({ answer, operation });
  }
}
