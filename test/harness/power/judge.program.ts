/**
 * Judges one directory after another, in a process of its own: lmdb ends the process that reads a damaged
 * page. Its argument is the file of the facts. Ends with the process that started it.
 */
import { readFileSync } from 'node:fs';
import { Verdict } from '../verdict.js';
import type { Facts } from './facts.js';
import { judgeWorld } from './judge.js';
import { Known } from './known.js';
import { openWorld } from './world.js';

export interface Case {
  readonly dataDir: string;
  /** The last event before the cut. */
  readonly at: number;
  /** Wall time of the cut in Unix ms. */
  readonly time: number;
}

export type Judgement = Pick<Verdict, 'checks' | 'violations'>;

const facts = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as Facts;

process.on('disconnect', () => process.exit(0));
process.on('message', (each: Case) => void judge(each));

async function judge({ dataDir, at, time }: Case): Promise<void> {
  const verdict = new Verdict();
  try {
    const world = await openWorld(dataDir, time);
    await judgeWorld(world, facts, new Known(facts, at), verdict);
    await world.close();
  } catch (error) {
    verdict.hold('a gateway starts with what is left', false, () => error);
  }
  const { checks, violations } = verdict;
  process.send?.({ checks, violations } satisfies Judgement);
}
