/**
 * A seeded random number generator for one actor of a run. The seed and the actor's name determine its
 * decisions, so a seed repeats the same load and faults; the timing is the machine's and differs.
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

  shuffled<T>(list: readonly T[]): T[] {
    const rest = [...list];
    return list.map(() => rest.splice(this.between(0, rest.length - 1), 1)[0] as T);
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
