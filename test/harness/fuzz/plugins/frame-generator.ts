/**
 * What a hostile plugin says next: mostly words that the schemas allow, about executions that are its
 * own, somebody else's, ended, never sent or never there, with numbers that go on, jump, repeat or go
 * back; often spoilt by a mutation of their structure or text.
 */
import { pluginFrames, type PluginFrameType } from '../../../../src/plugins/protocol.js';
import type { Chance } from '../../chance.js';
import { mutate, mutateText } from './mutation.js';
import type { SourceModel } from './source-model.js';
import { awkwardTexts, specimen, textOf, type Schema } from './schema-values.js';

/** Identifiers that are not of the source. */
export interface ForeignIds {
  readonly executionIds: readonly string[];
}

const nowhere = [
  'exe_0',
  'exe_01KGA2M5000000000000000001_0',
  'can_01KGA2M5000000000000000001_0_1',
  'ord_01KGA2M5000000000000000001_0',
  'e'.repeat(128),
  ...awkwardTexts,
];

const types = { report: 8, cancel_report: 3, event: 5, ack: 3, heartbeat: 1, hello: 0.3 } as const;
const numbering = { next: 12, jump: 2, repeat: 2, back: 2, last: 0.02 } as const;

/** How much of a spoilt text is left as it should be. */
const spoiltShare = 0.06;

export class Words {
  constructor(
    readonly source: SourceModel,
    readonly foreign: ForeignIds,
    readonly chance: Chance,
    /** Part of every text of the attacker's, by which others would recognise it. */
    readonly mark: string,
  ) {}

  /** One text frame. `seq` is where the numbers of the batch stand. */
  next(seq: number): string {
    const { chance } = this;
    const frame = this.#frame(chance.weigh(types), seq);
    if (chance.happens(spoiltShare)) mutate(frame, chance);
    const text = JSON.stringify(frame);
    return chance.happens(spoiltShare / 2) ? mutateText(text, chance) : text;
  }

  /** What the plugin says that it knows of executions, in a hello. */
  known(): object[] {
    const { chance } = this;
    return Array.from({ length: chance.between(0, 4) }, () => {
      const entry = this.#frame('report', 0);
      for (const name of ['type', 'seq', 'occurredAt']) Reflect.deleteProperty(entry, name);
      return entry;
    });
  }

  #frame(type: PluginFrameType, seq: number): Record<string, unknown> {
    const { chance } = this;
    const frame = specimen(pluginFrames[type] as Schema, chance) as Record<string, unknown>;
    if (frame['seq'] !== undefined) frame['seq'] = this.#number(seq);
    if (frame['executionId'] !== undefined) frame['executionId'] = this.#executionId();
    if (frame['orderRef'] !== undefined) {
      frame['orderRef'] = this.#executionId().replace(/^exe_/, 'ord_');
    }
    if (frame['cancelRequestId'] !== undefined) frame['cancelRequestId'] = this.#cancelRequestId();
    if (frame['fill'] !== undefined && chance.happens(0.8)) {
      // Few ids, so that they repeat.
      Object.assign(frame['fill'] as object, { fillId: `fill-${chance.between(1, 4)}` });
    }
    if (type === 'event') frame['data'] = this.#data();
    return frame;
  }

  #data(): object {
    const { chance } = this;
    return {
      note: `${this.mark} ${textOf(chance, 0, 40)}`,
      ...(chance.happens(0.3) ? { text: textOf(chance, 0, 200) } : {}),
    };
  }

  #number(after: number): number {
    const { chance } = this;
    const max = Number.MAX_SAFE_INTEGER;
    const made = {
      next: () => after + 1,
      jump: () => after + chance.between(2, 1000),
      repeat: () => Math.max(1, after),
      back: () => Math.max(1, after - chance.between(1, 20)),
      last: () => max,
    }[chance.weigh(numbering)]();
    return Math.min(max, made);
  }

  #executionId(): string {
    const { chance, source, foreign } = this;
    const own = [...source.executions.keys()].slice(-6);
    if (own.length > 0 && chance.happens(0.75)) return chance.pick(own);
    return chance.pick(chance.happens(0.5) ? nowhere : foreign.executionIds);
  }

  #cancelRequestId(): string {
    const { chance, source } = this;
    const own = [...source.executions.values()].flatMap(
      ({ cancel }) => cancel?.cancelRequestId ?? [],
    );
    if (own.length > 0 && chance.happens(0.8)) return chance.pick(own.slice(-3));
    const attempt = chance.pick(['0', '1', '2', '01', '999999999', '9999999999', '-1']);
    return `${this.#executionId().replace(/^exe_/, 'can_')}_${attempt}`;
  }
}
