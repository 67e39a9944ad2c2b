/** Holds back the writes of a gateway. Each is a commit of its own, and begins when the test releases it. */
import type { Writer } from '../../src/store/store.js';
import { type SimulatedGateway, turns } from './simulated-gateway.js';

export class HeldCommits {
  readonly #held: (() => void)[] = [];
  readonly #letPass: () => void;

  constructor({ store }: SimulatedGateway) {
    const write = store.write.bind(store);
    this.#letPass = () => Object.assign(store, { write });
    Object.assign(store, {
      write: (fill: (batch: Writer) => void) =>
        new Promise<void>((resolve, reject) => {
          this.#held.push(() => void write(fill).then(resolve, reject));
        }),
    });
  }

  /** Releases the oldest one, and lets all that follows from it happen. */
  async releaseOne(): Promise<void> {
    this.#held.shift()?.();
    await turns();
  }

  /** Releases all, in their order, and holds back none from now on. */
  async releaseAll(): Promise<void> {
    this.#letPass();
    for (const commit of this.#held.splice(0)) commit();
    await turns();
  }
}
