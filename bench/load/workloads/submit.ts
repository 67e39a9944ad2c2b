/** `submit`: POST /signals, each with an Idempotency-Key and signalId of its own and the time of now. */
import type { Caller } from '../workload.js';
import type { RequestSource, Workload } from '../workload.js';
import { keyMark, RequestBytes } from './request-bytes.js';

const tsMark = '1111111111111';
const tsDigits = tsMark.length;
const sequenceDigits = 10;
const idempotencyMark = 'i'.repeat(sequenceDigits);
const signalMark = 's'.repeat(sequenceDigits);

export const submit: Workload = {
  expected: [202],
  source: (callers, run) => submitSource(callers, run),
};

/** @param version of the envelope: 1 is the one that is accepted. */
export function submitSource(callers: readonly Caller[], run: string, version = 1): RequestSource {
  const request = new RequestBytes(
    [
      'POST /api/v1/signals HTTP/1.1',
      'Host: 127.0.0.1',
      `Authorization: Bearer ${keyMark}`,
      `Idempotency-Key: ${run}-${idempotencyMark}`,
    ],
    signalText(run, version),
  );
  const keyAt = request.place(keyMark);
  const idempotencyAt = request.place(idempotencyMark);
  const signalAt = request.place(signalMark);
  const tsAt = request.place(tsMark);
  const keys = callers.map(({ key }) => Buffer.from(key, 'latin1'));
  return {
    next(sequence) {
      request.text(keyAt, keys[sequence % keys.length] as Uint8Array);
      request.digits(idempotencyAt, sequenceDigits, sequence);
      request.digits(signalAt, sequenceDigits, sequence);
      request.digits(tsAt, tsDigits, Date.now());
      return request.bytes;
    },
  };
}

/** What every order of the benches asks for. */
export const sampleOrder = {
  instrument: 'EURUSD',
  side: 'buy',
  executionType: 'limit',
  quantity: 1.5,
  limitPrice: 1.08425,
  timeInForce: 'day',
  stopLoss: 1.0785,
  takeProfit: 1.0962,
  strategy: 'breakout-m15',
  comment: 'range of the Asian session left upwards',
};

/** An order as a bot sends it, of some 370 bytes. */
function signalText(run: string, version: number): string {
  return JSON.stringify({
    v: version,
    signalId: `breakout-eurusd-${run}-${signalMark}`,
    ts: Number(tsMark),
    ttlMs: 300_000,
    platform: 'terminal_a',
    type: 'order',
    cmd: 'submit',
    payload: sampleOrder,
  });
}
