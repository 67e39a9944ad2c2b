/**
 * Whether a figure is the server's or the generator's. A generator is trusted when it is clearly
 * faster on the bare handler, whose speed is known, than on what is measured; or when the server's
 * event loop had no time left, so that a faster generator would have got no more.
 */
import { type Figures, samplesOf } from '../measure/rounds.js';
import type { Side } from '../measure/side.js';
import { summarize } from '../measure/statistics.js';
import type { ConstantAnswer } from '../sides/constant.js';
import { startBareHandler } from '../sides/bare-handler.js';
import { type LoadReport, type LoadSpec, runLoad } from './load.js';

const clearlyFaster = 1.5;
/** Share of the wall time from which on a process has no time left: the system's accounting may miss the rest. */
export const saturated = 0.9;

export interface Loaded {
  readonly report: LoadReport;
  /** Processor time of the server's event loop by the wall time, without the warm-up. */
  readonly loopShare: number;
  /** The same for one answer, in microseconds. */
  readonly loopUs: number;
}

/** Loads a server and watches its event loop meanwhile. */
export async function loadSide(side: Side, spec: Omit<LoadSpec, 'url'>): Promise<Loaded> {
  const report = await runLoad({ ...spec, url: side.url, serverPid: side.pid });
  const loopShare = (report.serverLoopSeconds as number) / report.seconds;
  return { report, loopShare, loopUs: (loopShare * 1_000_000) / report.answersPerSecond };
}

/** Answers a second that the generator gets from the bare handler with the same requests. */
export async function generatorCeiling(
  spec: Omit<LoadSpec, 'url'>,
  answer: ConstantAnswer,
): Promise<number> {
  const bare = await startBareHandler(answer);
  try {
    return (await runLoad({ ...spec, url: bare.url })).answersPerSecond;
  } finally {
    await bare.stop();
  }
}

/** @returns why the figure says nothing about the server; undefined when it does. */
export function generatorDoubt(measured: {
  readonly perSecond: number;
  readonly ceilingPerSecond: number;
  /** Lowest of the rounds; only where all of the server's work is done on its event loop. */
  readonly loopShare?: number;
}): string | undefined {
  const { perSecond, ceilingPerSecond, loopShare = 0 } = measured;
  if (ceilingPerSecond >= clearlyFaster * perSecond || loopShare >= saturated) return undefined;
  const faster = (ceilingPerSecond / perSecond).toFixed(2);
  const busy = `${Math.round(loopShare * 100)}%`;
  return (
    `generator-bound: the generator is only ${faster} times as fast on the bare handler, ` +
    `and the server's event loop was busy ${busy} of the time`
  );
}

/** Of two sides whose rounds measured `requestsPerSecond` and `loopShare`. */
export interface Compared {
  readonly ours: readonly Figures[];
  readonly other: readonly Figures[];
  readonly otherName: string;
  readonly ceilingPerSecond: number;
  /** The least ratio that is aimed at. */
  readonly atLeast: number;
}

/**
 * @returns why the ratio says nothing about the servers. Where the aim is missed, it is missed whatever held the
 * other side back: that one can do no less than was measured.
 */
export function ratioDoubt(compared: Compared): string | undefined {
  const { ours, other, otherName, ceilingPerSecond, atLeast } = compared;
  const [perSecond, otherPerSecond] = [ours, other].map(
    (rounds) => summarize(samplesOf(rounds, 'requestsPerSecond')).median,
  ) as [number, number];
  const doubtOf = (whose: string, perSecond: number, rounds: readonly Figures[]) => {
    const loopShare = summarize(samplesOf(rounds, 'loopShare')).min;
    const doubt = generatorDoubt({ perSecond, ceilingPerSecond, loopShare });
    return doubt === undefined ? [] : [`${whose} is ${doubt}`];
  };
  const isMissed = perSecond < atLeast * otherPerSecond;
  const doubts = [
    ...doubtOf('the gateway', perSecond, ours),
    ...(isMissed ? [] : doubtOf(otherName, otherPerSecond, other)),
  ];
  return doubts.length === 0 ? undefined : doubts.join('; ');
}

/** @returns what went otherwise than the workload expects; undefined when nothing did. */
export function answerDoubt(reports: readonly LoadReport[]): string | undefined {
  const wrong = reports.filter(({ unexpected, unanswered }) => unexpected + unanswered > 0);
  if (wrong.length === 0) return undefined;
  const statuses = wrong.map(({ byStatus, unanswered }) =>
    JSON.stringify({ ...byStatus, ...(unanswered === 0 ? {} : { unanswered }) }),
  );
  return `not all answers were the expected ones: ${statuses.join(', ')}`;
}
