/** The sources of the hostile plugins; one whose numbers are used up is replaced. */
import type { Chance } from '../../chance.js';
import type { TestBed } from '../test-bed.js';
import { SourceModel } from './source-model.js';
import { textOf } from './schema-values.js';

const sourcesAtOnce = 12;

export class Sources {
  readonly #bed: TestBed;
  readonly #chance: Chance;
  #sources: SourceModel[] = [];
  #made = 0;

  constructor(bed: TestBed, chance: Chance) {
    this.#bed = bed;
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
    const mark = this.#bed.isolation.markOf(this.#bed.attacker.email);
    const name = `${mark}-${++this.#made}-`;
    const rest = 128 - name.length;
    const instanceId = name + this.#text(rest);
    return this.#chance.happens(0.7)
      ? new SourceModel('terminal_a', instanceId, name + this.#text(rest))
      : new SourceModel('terminal_b', instanceId, `${name}@server`);
  }

  /** A text without lone surrogates, which a query string cannot contain. */
  #text(lengthMax: number): string {
    return Buffer.from(textOf(this.#chance, 0, lengthMax)).toString();
  }
}
