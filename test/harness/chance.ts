/**
 * Chance of one actor, from the run's seed and the actor's name: what an actor decides is the same in
 * every run with the seed. When things happen is up to the machine, so a seed brings back the same
 * kind of load and the same strikes, not the same microsecond.
 */
import { createSeededRandom } from '../../src/terminal/seeded-random.js';

export class Chance {
  readonly #next: () => number;

  constructor(
    readonly seed: number,
    readonly name: string,
  ) {
    let mixed = seed >>> 0;
    for (const character of name) {
      mixed = (Math.imul(mixed, 31) + character.charCodeAt(0)) >>> 0;
    }
    this.#next = createSeededRandom(mixed);
  }

  child(name: string): Chance {
    return new Chance(this.seed, `${this.name}/${name}`);
  }

  /** A whole number, both ends included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.#next() * (max - min + 1));
  }

  happens(probability: number): boolean {
    return this.#next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.between(0, list.length - 1)] as T;
  }

  /** One of the names, in proportion to their weights. */
  weigh<T extends string>(weights: Readonly<Record<T, number>>): T {
    const entries = Object.entries(weights) as [T, number][];
    let left = this.#next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    return (entries.at(-1) as [T, number])[0];
  }
}
