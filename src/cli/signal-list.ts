/** `signalbox signal list`: the newest signals, of one user or of all. */
import { type Command, Option } from 'commander';
import { signalFilters, signalListMax } from '../admin/signal-filters.js';
import type { ListedSignal } from '../admin/signal-operations.js';
import { toIsoTime } from '../lib/clock.js';
import { columns } from '../lib/columns.js';
import { withoutUndefined } from '../lib/without-undefined.js';
import { describeCommand, type SharedOptions, withSettings } from './command.js';
import type { Io } from './io.js';
import { operate } from './operate.js';
import { toListedView } from './signal-text.js';
import { wholeNumber } from './whole-number.js';

interface Options extends SharedOptions {
  readonly user?: string;
  readonly status?: (typeof signalFilters)[number];
  readonly limit: number;
}

const usualLimit = 50;
const headings = ['ACCEPTED', 'USER', 'REQUEST', 'KEY', 'ADDRESS', 'ORDER', 'STATUS'];

export function signalListCommand(io: Io): Command {
  return describeCommand({
    usage: 'list',
    summary: 'list the newest signals',
    description:
      'Lists the newest signals first, of one user or of all: when, whose, with which key, from ' +
      'which address, and what became of them. With --json each execution has its terminal and the ' +
      "broker's own order id.",
    examples: [
      'signalbox signal list --user ann@example.com',
      'signalbox signal list --status unknown --json',
    ],
  })
    .option('--user <EMAIL>', 'only the signals of this user')
    .addOption(
      new Option(
        '--status <STATUS>',
        'open: an execution is not final; unknown: the outcome of an execution is unknown; completed: all executions are final',
      ).choices(signalFilters),
    )
    .option(
      '--limit <N>',
      `how many at most, 1 to ${signalListMax}`,
      wholeNumber(1, signalListMax),
      usualLimit,
    )
    .action(
      withSettings(io, (settings, { user, status, limit }: Options) => {
        const request = { limit, ...withoutUndefined({ email: user, status }) };
        return operate(io, settings, 'signal.list', request, (_, received) => {
          const signals = fromRows(received as ListedSignal[]);
          const text = signals.length === 0 ? 'There are no such signals.' : tableOf(signals);
          return { ok: true, json: signals.map(toListedView), text };
        });
      }),
    );
}

/** A signal with many executions comes in several rows. */
function fromRows(rows: readonly ListedSignal[]): ListedSignal[] {
  const signals = new Map<string, ListedSignal>();
  for (const row of rows) {
    const executions = [...(signals.get(row.requestId)?.executions ?? []), ...row.executions];
    signals.set(row.requestId, { ...row, executions });
  }
  return [...signals.values()];
}

function tableOf(signals: readonly ListedSignal[]): string {
  const rows = signals.map((signal) => [
    toIsoTime(signal.acceptedAt),
    signal.email,
    signal.requestId,
    `${signal.keyId ?? '-'}`,
    signal.clientAddress ?? '-',
    orderOf(signal),
    statusesOf(signal),
  ]);
  return columns([headings, ...rows]);
}

function orderOf({ type, cmd, executions: [first] }: ListedSignal): string {
  const order = [first?.side, first?.quantity, first?.instrument].filter((part) => part != null);
  return [`${type}/${cmd}`, ...order].join(' ');
}

/** `filled`, or `2 working, 1 unknown`. */
function statusesOf({ executions }: ListedSignal): string {
  const counts = new Map<string, number>();
  for (const { status } of executions) counts.set(status, (counts.get(status) ?? 0) + 1);
  if (executions.length === 1) return executions[0]?.status ?? '';
  return [...counts].map(([status, count]) => `${count} ${status}`).join(', ');
}
