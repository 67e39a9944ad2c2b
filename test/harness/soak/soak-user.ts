/** A user of the soak, for as long as it is there: its key, its terminals, and what it sent lately. */
import type { Chance } from '../chance.js';
import { ReactingTerminal, type Manners } from '../trading-terminal.js';

export interface SentSignal {
  readonly requestId: string;
  readonly idempotencyKey: string;
  readonly body: string;
  readonly answer: string;
  /** Monotonic ms. */
  readonly sentAt: number;
}

const manners: Manners = {
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
  /** Its requests may be refused from now on. */
  isLeaving = false;
  openStreams = 0;
  readonly recent: SentSignal[] = [];
  readonly terminals: readonly ReactingTerminal[];

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
      return new ReactingTerminal(source, manners, heartbeatMs, chance.child(source.instanceId));
    });
  }

  remember(signal: SentSignal): void {
    this.recent.push(signal);
    if (this.recent.length > recentMax) this.recent.shift();
  }
}
