/** Formats each activity of a terminal as one line: time, kind, id, details. */
import { toIsoTime } from '../lib/clock.js';
import { printable } from '../lib/printable.js';
import type { Evidence, SubmitFrame } from '../plugins/protocol.js';
import type { CancelEvidence } from './journal-state.js';
import type { Activity } from './paper-terminal.js';

type Describe<K extends Activity['kind']> = (
  activity: Extract<Activity, { kind: K }>,
) => readonly [subject: string, text: string];

/** Label of each kind, and the functions that format its id and its details. */
const kinds: { readonly [K in Activity['kind']]: readonly [label: string, Describe<K>] } = {
  connecting: ['connecting', () => ['', 'to the gateway']],
  connected: [
    'connected',
    ({ connectionId, lastSeq }) => ['', `as ${connectionId}; the gateway has seq ${lastSeq}`],
  ],
  disconnected: [
    'disconnected',
    ({ closeCode, message, retryMs }) => [
      '',
      `${closeCode === undefined ? '' : `${closeCode} `}${message}; trying again in ${retryMs / 1_000} s`,
    ],
  ],
  refused: ['refused', ({ reason, message }) => ['', `${reason}: ${message}`]],
  bad_frame: ['bad frame', () => ['', 'the gateway sent an invalid frame; ignored']],
  gateway_error: ['error', ({ code, message }) => ['', `${code}: ${message}`]],
  failed: ['failed', ({ id, message }) => [id, message]],
  repeated: ['repeated', ({ id }) => [id, 'already known; not executed again']],
  submit: ['submit', ({ command }) => [command.executionId, commandText(command)]],
  report: ['report', ({ executionId, evidence }) => [executionId, reportText(evidence)]],
  cancel: ['cancel', ({ cancelRequestId, executionId }) => [cancelRequestId, `of ${executionId}`]],
  cancel_report: [
    'cancel report',
    ({ cancelRequestId, evidence }) => [cancelRequestId, cancelText(evidence)],
  ],
  event: [
    'event',
    ({ event: { event, executionId = '', rawText, data } }) => [
      executionId,
      `${event}  ${rawText ?? pairs(data)}`,
    ],
  ],
};

const labelWidth = Math.max(...Object.values(kinds).map(([label]) => label.length));
/** `exe_`, 26 characters, and an index of two digits. */
const subjectWidth = 33;

export function activityLine(activity: Activity, unixMs: number): string {
  const [label, describe] = kinds[activity.kind] as readonly [string, Describe<Activity['kind']>];
  const [subject, text] = describe(activity);
  const time = toIsoTime(unixMs).slice(11, 23);
  const line = `${time}  ${label.padEnd(labelWidth)}  ${subject.padEnd(subjectWidth)}  ${text}`;
  // Texts come from bots and from the gateway.
  return printable(line).trimEnd();
}

function commandText({ signalType, cmd, payload }: SubmitFrame): string {
  return `${signalType}/${cmd} ${JSON.stringify(payload)}`;
}

function reportText(evidence: Evidence): string {
  const { status, reasonCode, filledQuantity, remainingQuantity, averageFillPrice } = evidence;
  const average = averageFillPrice === undefined ? '' : ` at ${averageFillPrice}`;
  return joined([
    status,
    reasonCode,
    filledQuantity !== undefined && `${filledQuantity} filled${average}`,
    remainingQuantity !== undefined && `${remainingQuantity} left`,
    evidence.native?.orderId ?? evidence.native?.text,
  ]);
}

function cancelText({ status, reasonCode, native }: CancelEvidence): string {
  return joined([status, reasonCode, native?.text]);
}

function pairs(data: object): string {
  return Object.entries(data)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}

function joined(parts: readonly (string | false | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== false).join(', ');
}
