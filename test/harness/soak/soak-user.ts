/** A user of the soak: its key, its terminals, and its recent signals. */
import type { Chance } from '../chance.js';
import { TradingTerminal, type BehaviourWeights } from '../trading-terminal.js';

export interface SentSignal {
  readonly requestId: string;
  readonly idempotencyKey: string;
  readonly body: string;
  readonly answer: string;
  /** Monotonic ms. */
  readonly sentAt: number;
}

const behaviours: BehaviourWeights = {
  fills: 40,
  fillsInParts: 15,
  rejects: 12,
  rests: 25,
  stalls: 4,
  ignores: 4,
};
const terminalsPerUser = 2;
const recentMax = 50;

export class SoakUser {
  /** Set before it is deleted: its requests may be refused from then on. */
  isLeaving = false;
  openStreams = 0;
  readonly recent: SentSignal[] = [];
  readonly terminals: readonly TradingTerminal[];

  constructor(
    readonly email: string,
    readonly token: string,
    readonly sessionToken: string,
    readonly key: string,
    heartbeatMs: number,
    readonly chance: Chance,
  ) {
    this.terminals = Array.from({ length: terminalsPerUser }, (_, index) => {
      const source = { instanceId: `desk-${index}`, accountName: `Sim${index}` };
      return new TradingTerminal(source, behaviours, heartbeatMs, chance.child(source.instanceId));
    });
  }

  remember(signal: SentSignal): void {
    this.recent.push(signal);
    if (this.recent.length > recentMax) this.recent.shift();
  }
}
