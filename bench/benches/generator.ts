/**
 * The load generator itself, on the bare handler: the fastest that any row of ours can show. Beside it,
 * where wrk is installed, what wrk gets from the same handler with the same request.
 */
import { type LoadSpec, runLoad } from '../load/load.js';
import { workloads } from '../load/workloads.js';
import { runWrk } from '../load/wrk.js';
import { toRow } from '../measure/report.js';
import { missing } from '../measure/requirements.js';
import { alternate, samplesOf } from '../measure/rounds.js';
import { startBareHandler } from '../sides/bare-handler.js';
import type { ConstantAnswer } from '../sides/constant.js';
import type { Bench } from './bench.js';

const connections = 64;
const callers = [{ key: `svc_api_${'k'.repeat(43)}`, requestId: `req_${'0'.repeat(26)}` }];
/** As long as a status with one execution, with the headers that the gateway writes. */
const answer: ConstantAnswer = {
  statusLine: '200 OK',
  headers: [
    ['X-Trace-Id', '0'.repeat(32)],
    ['RateLimit-Policy', '"key";q=1200;w=60'],
    ['RateLimit', '"key";r=1199;t=60'],
    ['Content-Type', 'application/json; charset=utf-8'],
  ],
  body: 'x'.repeat(1_000),
};

export const generator: Bench = {
  name: 'generator',
  summary: 'the load generator on the bare handler: its ceiling, and wrk as a second opinion',
  needs: [],
  async run({ rounds, seconds, warmupSeconds, log }) {
    const hasWrk = missing(['wrk']).length === 0;
    const sides = hasWrk ? (['own', 'wrk'] as const) : (['own'] as const);
    const measured = await alternate(sides, rounds, async (side, round) => {
      const bare = await startBareHandler(answer);
      try {
        const spec = { url: bare.url, connections, seconds };
        const perSecond =
          side === 'wrk'
            ? await runWrk({ ...spec, request: workloads.status.source(callers, '').next(0) })
            : await own({ ...spec, workload: 'status', callers, warmupSeconds });
        log(`generator, round ${round + 1}, ${side}: ${Math.round(perSecond)}/s`);
        return { perSecond };
      } finally {
        await bare.stop();
      }
    });
    const wrk = 'wrk' in measured ? samplesOf(measured.wrk, 'perSecond') : undefined;
    return [
      toRow({
        bench: 'generator',
        figure: 'answers of the bare handler',
        unit: 'requests/s',
        ours: samplesOf(measured.own, 'perSecond'),
        ...(wrk === undefined ? {} : { other: wrk }),
        otherName: wrk === undefined ? 'wrk is not installed' : 'wrk',
        note: `${connections} connections, closed loop; ours is the generator, not the gateway`,
      }),
    ];
  },
};

async function own(spec: LoadSpec): Promise<number> {
  return (await runLoad(spec)).answersPerSecond;
}
