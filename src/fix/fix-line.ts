/** Formats what happens at the FIX terminal as one line: time, kind, details. */
import { toIsoTime } from '../lib/clock.js';
import { printable } from '../lib/printable.js';
import type { FixTerminalNotice } from './fix-terminal.js';
import { shownMessage } from './message.js';

type Describe<K extends FixTerminalNotice['kind']> = (
  notice: Extract<FixTerminalNotice, { kind: K }>,
) => string;

const kinds: {
  readonly [K in FixTerminalNotice['kind']]: readonly [label: string, describe: Describe<K>];
} = {
  fix_connecting: ['venue', () => 'connecting'],
  fix_logged_on: ['venue', () => 'logged on'],
  fix_sent: ['sent', ({ message }) => shownMessage(message)],
  fix_received: ['received', ({ message }) => shownMessage(message)],
  fix_garbled: ['garbled', ({ message }) => `${message}; passed over`],
  fix_warning: [
    'warning',
    ({ message, executionId }) => (executionId === undefined ? '' : `${executionId}: `) + message,
  ],
  fix_lost: [
    'venue lost',
    ({ message, retryMs }) => `${message}; trying again in ${retryMs / 1_000} s`,
  ],
  fix_ended: ['venue ended', ({ message }) => message],
  connecting: ['gateway', () => 'connecting'],
  connected: [
    'gateway',
    ({ connectionId, lastSeq }) => `connected as ${connectionId}, seq ${lastSeq}`,
  ],
  disconnected: [
    'gateway lost',
    ({ message, retryMs }) => `${message}; trying again in ${retryMs / 1_000} s`,
  ],
  refused: ['gateway', ({ reason, message }) => `refused, ${reason}: ${message}`],
  bad_frame: ['gateway', () => 'an invalid frame; ignored'],
  gateway_error: ['gateway', ({ code, message }) => `error ${code}: ${message}`],
  repeated: ['repeated', ({ id }) => `${id} is known; not executed again`],
  failed: ['failed', ({ id, message }) => `${id}: ${message}`],
};

const labelWidth = Math.max(...Object.values(kinds).map(([label]) => label.length));

export function fixLine(notice: FixTerminalNotice, unixMs: number): string {
  const [label, describe] = kinds[notice.kind] as readonly [string, Describe<typeof notice.kind>];
  const line = `${toIsoTime(unixMs).slice(11, 23)}  ${label.padEnd(labelWidth)}  ${describe(notice)}`;
  // Texts come from venues and bots.
  return printable(line).trimEnd();
}

/** The same for programs. */
export function fixJson(notice: FixTerminalNotice, unixMs: number): string {
  const time = toIsoTime(unixMs);
  if (notice.kind !== 'fix_sent' && notice.kind !== 'fix_received') {
    return JSON.stringify({ time, ...notice });
  }
  return JSON.stringify({ time, kind: notice.kind, message: shownMessage(notice.message) });
}
