/** Reports and events with each kind of value in each field: a base must know which the gateway takes. */
import type { Test } from 'tap';
import { eventDataFields } from '../../src/events/event-data.js';
import { reportableCancelStatuses } from '../../src/model/cancellation.js';
import { reportableStatuses } from '../../src/model/execution.js';
import { reasonCodes } from '../../src/model/reason-codes.js';
import { decodeFrame } from '../../src/plugins/decode-frame.js';
import { frameBytesMax, nativeLengthMax, pluginFrames } from '../../src/plugins/protocol.js';

export interface FrameCase {
  readonly frame: Readonly<Record<string, unknown>> & { readonly type: string };
  /** The field in which it differs from a frame that the gateway takes, such as `fill.price`. */
  readonly field: string;
  readonly isTaken: boolean;
}

const fill = { fillId: '1', price: 1, quantity: 1, filledAt: '2026-01-15T12:00:00.000Z' };
const bases = {
  report: { type: 'report', executionId: 'exe_1', status: 'working' },
  cancel_report: { type: 'cancel_report', cancelRequestId: 'can_1', status: 'pending' },
  event: { type: 'event', event: 'terminal_message', data: {} },
} as const;

const texts = [
  '',
  'x',
  'x'.repeat(128),
  'x'.repeat(129),
  '\u{1f600}'.repeat(64),
  '\u{1f600}'.repeat(65),
];
const times = [
  '2026-01-15T12:00:00Z',
  '2026-01-15T12:00:00.123456789+05:30',
  '2026-01-15T25:00:00Z',
  '2026-01-15',
];
/** Times that are wrong in one place each. */
const wrongTimes = [
  '0026-01-15T12:00:00Z',
  '2026-13-15T12:00:00Z',
  '2026-01-32T12:00:00Z',
  '2026-01-15T12:60:00Z',
  '2026-01-15T12:00:60Z',
  '2026-01-15T12:00:00.1234567890Z',
  '2026-01-15T12:00:00',
  '2026-01-15T12:00:00+24:00',
  '2026-01-15T12:00:00+05:60',
  ' 2026-01-15T12:00:00Z',
  '2026-01-15T12:00:00Z\n',
];
const numbers = [0, 1, -1, 0.5, 1e18, -1e18, 1.1e18, -1.1e18, 2 ** 53 + 2];
const values = [...texts, ...times, ...numbers, true, {}, [], [{}], ['x'], { fillId: '1' }];
const long = (length: number): string[] => ['x'.repeat(length), 'x'.repeat(length + 1)];

/** Fields of all three types: a field of one type may have any value in another. */
const fieldNames = new Set(
  Object.keys(bases)
    .flatMap((type) => Object.keys(pluginFrames[type as keyof typeof bases].properties))
    .filter((field) => field !== 'seq' && field !== 'type'),
);

function* framesOf(): Generator<readonly [string, FrameCase['frame']]> {
  for (const base of Object.values(bases)) {
    for (const field of fieldNames) {
      for (const value of values) yield [field, { ...base, [field]: value }];
    }
    for (const field of Object.keys(base).slice(1)) {
      if (field === 'data') continue;
      const { [field as 'type']: _left, ...rest } = base;
      yield [field, rest as unknown as FrameCase['frame']];
    }
  }
  for (const occurredAt of wrongTimes) yield ['occurredAt', { ...bases.report, occurredAt }];
  for (const status of [...reportableStatuses, ...reportableCancelStatuses]) {
    yield ['status', { ...bases.report, status }];
    yield ['status', { ...bases.cancel_report, status }];
  }
  for (const reasonCode of [...reasonCodes, 'no_such_reason']) {
    yield ['reasonCode', { ...bases.report, reasonCode }];
    yield ['reasonCode', { ...bases.cancel_report, reasonCode }];
  }
  for (const value of values) {
    for (const field of Object.keys(fill))
      yield [`fill.${field}`, { ...bases.report, fill: { ...fill, [field]: value } }];
    for (const field of Object.keys(nativeLengthMax))
      yield [`native.${field}`, { ...bases.report, native: { [field]: value } }];
  }
  for (const field of Object.keys(fill)) {
    const { [field as 'price']: _left, ...rest } = fill;
    yield [`fill.${field}`, { ...bases.report, fill: rest }];
  }
  for (const text of long(nativeLengthMax.text))
    yield ['native.text', { ...bases.cancel_report, native: { text } }];
  for (const [event, fields] of Object.entries(eventDataFields)) {
    yield ['event', { ...bases.event, event }];
    for (const field of [...Object.keys(fields), 'of_its_own']) {
      for (const value of [null, ...values])
        yield [`data.${field}`, { ...bases.event, event, data: { [field]: value } }];
    }
  }
}

export const frameCases: readonly FrameCase[] = [...framesOf()].map(([field, frame]) => {
  const { error } = decodeFrame(Buffer.from(JSON.stringify({ ...frame, seq: 1 })));
  return { frame, field, isTaken: error === undefined };
});

/** @param faults for each case, in order, the field that the base would refuse; empty for none. */
export function assertFaults(t: Test, faults: readonly (string | undefined)[]): void {
  const isRight = ({ field, isTaken }: FrameCase, fault = 'nothing'): boolean =>
    isTaken ? fault === '' : fault === field || fault.startsWith(`${field}.`);
  const wrong = frameCases
    .map((each, index) => ({ ...each, fault: faults[index] }))
    .filter((each) => !isRight(each, each.fault));
  t.strictSame(wrong, []);
}

function nested(levels: number): object {
  const inner = levels > 1 ? nested(levels - 1) : 1;
  return levels % 2 === 0 ? [inner] : { inner };
}

/** The fields that a base adds to a frame, at their longest. */
const stamps = { occurredAt: fill.filledAt, seq: Number.MAX_SAFE_INTEGER };
const textOf = (frame: object): string => JSON.stringify({ ...frame, ...stamps });

/** Frames with an unknown field, in which no base looks for faults. */
const unlisted: readonly ((ofItsOwn: unknown) => FrameCase['frame'])[] = [
  (ofItsOwn) => ({ ...bases.cancel_report, ofItsOwn }),
  (ofItsOwn) => ({ ...bases.cancel_report, native: { ofItsOwn } }),
  (ofItsOwn) => ({ ...bases.event, data: { ofItsOwn } }),
];

/** Frames at the bounds of a whole frame: its depth and its size. */
const bounded = unlisted.flatMap((frameWith) => {
  const deep = [61, 62, 63, 64, 100].map((levels) => frameWith(nested(levels)));
  const room = frameBytesMax - textOf(frameWith('')).length;
  // Some bases end each frame with a line break.
  const long = [room - 1, room + 1, 2 * room].map((length) => frameWith('x'.repeat(length)));
  return [...deep, ...long];
});

/** The frames of `bounded`, one a line, for a base that is asked to send them. */
export const boundedLines = bounded.map((frame) => `${JSON.stringify(frame)}\n`).join('');

/** @param told for each frame, in order, why the base refuses it; `false` for a dropped event; else empty. */
export function assertBounds(t: Test, told: readonly string[]): void {
  const verdicts = bounded.map((frame) => {
    const { error } = decodeFrame(Buffer.from(textOf(frame)));
    if (error === undefined) return /^$/;
    if (error === 'invalid_frame') return /nested too deeply/;
    return frame.type === 'event' ? /^false$/ : /more than 131072 bytes/;
  });
  t.match(told.slice(0, verdicts.length), verdicts);
}
