/** The sources under whose names the hostile plugins speak; one whose numbers are used up is replaced. */
import type { Chance } from '../../chance.js';
import type { Arena } from '../test-bed.js';
import { SourceModel } from './source-model.js';
import { textOf } from './schema-values.js';

const sourcesAtOnce = 12;

export class Sources {
  readonly #arena: Arena;
  readonly #chance: Chance;
  #sources: SourceModel[] = [];
  #made = 0;

  constructor(arena: Arena, chance: Chance) {
    this.#arena = arena;
    this.#chance = chance;
  }

  siblingsOf(source: SourceModel): SourceModel[] {
    return this.#sources.filter((each) => each !== source);
  }

  next(): SourceModel {
    this.#sources = this.#sources.filter(({ isSpent }) => !isSpent);
    if (this.#sources.length < sourcesAtOnce) this.#sources.push(this.#make());
    return this.#chance.pick(this.#sources);
  }

  #make(): SourceModel {
    const mark = this.#arena.isolation.markOf(this.#arena.attacker.email);
    const name = `${mark}-${++this.#made}-`;
    const rest = 128 - name.length;
    const instanceId = name + this.#text(rest);
    return this.#chance.happens(0.7)
      ? new SourceModel('terminal_a', instanceId, name + this.#text(rest))
      : new SourceModel('terminal_b', instanceId, `${name}@server`);
  }

  /** Half a pair of surrogates could not be written in the query that asks for the source's stream. */
  #text(lengthMax: number): string {
    return Buffer.from(textOf(this.#chance, 0, lengthMax)).toString();
  }
}
