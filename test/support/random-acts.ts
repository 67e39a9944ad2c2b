/** What random stories are made of: acts by weight, what they pick, and a disk that hangs, fails, refuses and recovers. */
import fc from 'fast-check';
import type { MemoryStore } from './memory-store.js';
import { turns } from './simulated-gateway.js';

export function weighted<Act extends string>(
  weights: Readonly<Record<Act, number>>,
): fc.Arbitrary<Act> {
  return fc.oneof(
    ...(Object.entries(weights) as [Act, number][]).map(([act, weight]) => ({
      weight,
      arbitrary: fc.constant(act),
    })),
  );
}

/** @param pickMax of the number from which an act takes what it is about. */
export function actsOf<Act extends string>(
  weights: Readonly<Record<Act, number>>,
  pickMax: number,
): fc.Arbitrary<{ readonly act: Act; readonly pick: number }> {
  return fc.record({ act: weighted(weights), pick: fc.nat(pickMax) });
}

/** Plays random stories. The lengths count the acts of one. */
export function playStories<Act>(
  acts: fc.Arbitrary<Act>,
  lengths: { readonly minLength: number; readonly maxLength: number },
  numRuns: number,
  play: (taken: readonly Act[]) => Promise<void>,
): Promise<void> {
  const stories = fc.array(acts, { ...lengths, size: 'max' });
  return fc.assert(fc.asyncProperty(stories, play), { numRuns });
}

/** @returns the one that the number picks. */
export function oneOf<T>(list: readonly T[], pick: number): T {
  return list[pick % list.length] as T;
}

/** As the store and the file of a move keep it. */
export function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** Of the disk's acts. */
export const diskWeights = {
  hang: 3,
  release: 4,
  'the commit fails': 3,
  'the commit fails and is kept': 2,
  'writes are refused': 1,
  'writes are taken': 2,
};

export class FailingDisk {
  readonly #memory: () => MemoryStore;
  #release: (() => void) | undefined;

  readonly acts = {
    hang: () => (this.#release ??= this.#memory().hang()),
    release: () => {
      this.#release?.();
      this.#release = undefined;
    },
    'the commit fails': () => this.#memory().failNextCommits(1, 'lost'),
    'the commit fails and is kept': () => this.#memory().failNextCommits(1, 'kept'),
    'writes are refused': () => this.#memory().refuseWrites(true),
    'writes are taken': () => this.#memory().refuseWrites(false),
  };

  /** @param memory of the gateway that lives now. */
  constructor(memory: () => MemoryStore) {
    this.#memory = memory;
  }

  recover(): void {
    this.#memory().failNextCommits(0);
    this.#memory().refuseWrites(false);
    this.acts.release();
  }

  /** The process dies in the commit that is under way. */
  async die(fate: 'lost' | 'kept'): Promise<void> {
    this.#memory().failNextCommits(1, fate);
    this.acts.release();
    await turns();
    this.recover();
  }
}
