/**
 * Generates the frames of a hostile plugin: mostly valid by schema, about executions of its own, of
 * others, ended, never sent or unknown, with numbers that continue, jump, repeat or go back; some
 * mutated in structure or text.
 */
import { pluginFrames, type PluginFrameType } from '../../../../src/plugins/protocol.js';
import type { Chance } from '../../chance.js';
import { mutate, mutateText } from './mutation.js';
import type { SourceModel } from './source-model.js';
import { edgeCaseTexts, randomValue, textOf, type Schema } from './schema-values.js';

/** Identifiers of other sources. */
export interface ForeignIds {
  readonly executionIds: readonly string[];
}

const nowhere = [
  'exe_0',
  'exe_01KGA2M5000000000000000001_0',
  'can_01KGA2M5000000000000000001_0_1',
  'ord_01KGA2M5000000000000000001_0',
  'e'.repeat(128),
  ...edgeCaseTexts,
];

const types = { report: 8, cancel_report: 3, event: 5, ack: 3, heartbeat: 1, hello: 0.3 } as const;
const numbering = { next: 12, jump: 2, repeat: 2, back: 2, last: 0.02 } as const;

/** Share of the frames that are mutated. */
const mutatedShare = 0.06;

export class FrameGenerator {
  constructor(
    readonly source: SourceModel,
    readonly foreign: ForeignIds,
    readonly chance: Chance,
    /** Part of the attacker's texts (tenant-isolation.ts). */
    readonly mark: string,
  ) {}

  /** One text frame. `seq`: the last number used. */
  next(seq: number): string {
    const { chance } = this;
    const frame = this.#frame(chance.weigh(types), seq);
    if (chance.happens(mutatedShare)) mutate(frame, chance);
    const text = JSON.stringify(frame);
    return chance.happens(mutatedShare / 2) ? mutateText(text, chance) : text;
  }

  /** The `executions` of a hello. */
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
    const frame = randomValue(pluginFrames[type] as Schema, chance) as Record<string, unknown>;
    if (frame['seq'] !== undefined) frame['seq'] = this.#number(seq);
    if (frame['executionId'] !== undefined) frame['executionId'] = this.#executionId();
    if (frame['orderRef'] !== undefined) {
      frame['orderRef'] = this.#executionId().replace(/^exe_/, 'ord_');
    }
    if (frame['cancelRequestId'] !== undefined) frame['cancelRequestId'] = this.#cancelRequestId();
    if (frame['fill'] !== undefined && chance.happens(0.8)) {
      // A few ids, so that they repeat.
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
