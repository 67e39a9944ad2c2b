/** What a plugin does with commands: it executes them by the catalog, or rejects them. */
import { toIsoTime } from '../lib/clock.js';
import { rounded } from '../lib/decimal.js';
import { hourMs } from '../lib/durations.js';
import type { ReasonCode } from '../model/reason-codes.js';
import type { SubmitFrame } from '../plugins/protocol.js';
import type { Desk, Report } from './desk.js';
import { demand, type Rule } from './rule.js';

/** Far more time than a command takes from the gateway to the order. */
const slowWelcomeMs = 4_000;
/** Milliseconds by which a timer may be early. */
export const timerErrorMs = 100;

export const commandRules = {
  ack_first: {
    says: 'acknowledges a command before it reports on it',
    place: 'PROTOCOL.md#commands',
    async check(desk) {
      const { executionId, from } = await execute(desk);
      const [first] = desk.seen
        .slice(from)
        .map(({ frame }) => frame)
        .filter((frame) => 'executionId' in frame && frame.executionId === executionId)
        .filter(({ type }) => type !== 'event');
      demand(first?.type === 'ack', `The first frame about the command was ${first?.type}.`);
    },
  },
  fill: {
    says: 'reports a filled order with its fills and quantities',
    place: 'PROTOCOL.md#report',
    async check(desk) {
      const { executionId, report } = await execute(desk);
      demandStatus(report, 'filled');
      const filled = filledOf(desk, executionId);
      const wanted = Number(desk.orders.filling['quantity']);
      demand(filled === wanted, `The fills of its reports are ${filled} of ${wanted}.`);
      const { filledQuantity } = report;
      demand(
        filledQuantity === undefined || filledQuantity === wanted,
        `The filledQuantity of a filled order of ${wanted} was ${filledQuantity}.`,
      );
    },
  },
  unknown_command: {
    says: 'rejects a command that it does not know',
    place: 'COMMANDS.md#what-each-terminal-takes',
    check: (desk) => rejects(desk, { signalType: 'conformance', cmd: 'juggle' }, 'unknown_command'),
  },
  unknown_field: {
    says: 'rejects a field that it does not know, by its name',
    place: 'COMMANDS.md#ordersubmit',
    async check(desk) {
      const payload = { ...desk.orders.filling, stopLoose: 1 };
      const { native } = await rejects(desk, { payload }, 'invalid_field');
      const text = native?.text ?? '';
      demand(text.includes('stopLoose'), `native.text does not name the field: "${text}".`);
    },
  },
  missing_limit_price: {
    says: 'rejects a limit order without a limit',
    place: 'COMMANDS.md#types',
    check: (desk) =>
      rejects(
        desk,
        { payload: { ...desk.orders.unpriced, executionType: 'limit' } },
        'missing_limit_price',
      ),
  },
  invalid_quantity: {
    says: 'rejects a quantity that is not above 0',
    place: 'COMMANDS.md#ordersubmit',
    check: (desk) =>
      rejects(desk, { payload: { ...desk.orders.filling, quantity: 0 } }, 'invalid_quantity'),
  },
  expired: {
    says: 'does not execute a command that has expired by the clock of the gateway',
    place: 'PROTOCOL.md#commands',
    async check(desk) {
      // The gateway is an hour ahead: by its own clock, the plugin would have an hour left.
      const gatewayNow = desk.clock.now() + hourMs;
      await desk.reconnected({ serverTime: toIsoTime(gatewayNow) });
      await demandExpiry(desk, gatewayNow - 1_000);
    },
  },
  slow_welcome: {
    says: 'does not execute a command that has expired while the welcome was on its way',
    place: 'PROTOCOL.md#commands',
    async check(desk) {
      await (await desk.session()).cut();
      const session = await desk.nextHello();
      const gatewayNow = desk.clock.now();
      await desk.pause(slowWelcomeMs);
      desk.welcome(session, { serverTime: toIsoTime(gatewayNow) });
      await demandExpiry(desk, gatewayNow + slowWelcomeMs - timerErrorMs);
    },
  },
  gateway_clock: {
    says: 'executes a command that is valid by the clock of the gateway',
    place: 'PROTOCOL.md#commands',
    async check(desk) {
      // The gateway is an hour behind: by its own clock, the plugin would be an hour too late.
      const gatewayNow = desk.clock.now() - hourMs;
      await desk.reconnected({ serverTime: toIsoTime(gatewayNow) });
      const { report } = await execute(desk, { expiresAt: toIsoTime(gatewayNow + 600_000) });
      await desk.reconnected();
      demandStatus(report, 'filled');
    },
  },
  snapshot: {
    says: 'answers a snapshot with its id, if it has the capability',
    place: 'PROTOCOL.md#snapshot',
    capability: 'snapshot',
    async check(desk) {
      const session = await desk.session();
      const snapshotId = `snp_${desk.mark}`;
      const from = desk.mark;
      session.send({ type: 'snapshot', snapshotId });
      const data = await desk.until('state_snapshot with the snapshotId', () => {
        for (const { frame } of desk.seen.slice(from)) {
          if (frame.type !== 'event' || frame.event !== 'state_snapshot') continue;
          const content = (frame.data ?? {}) as Record<string, unknown>;
          if (content['snapshotId'] === snapshotId) return content;
        }
        return undefined;
      });
      for (const part of ['account', 'positions', 'orders']) {
        demand(part in data, `The data of the snapshot has no ${part}.`);
      }
    },
  },
} as const satisfies Record<string, Rule>;

export interface Executed {
  readonly executionId: string;
  readonly command: SubmitFrame;
  /** The first final one. */
  readonly report: Report;
  readonly from: number;
}

/** Sends a command and waits for its ack and its final report. */
export async function execute(desk: Desk, fields: Partial<SubmitFrame> = {}): Promise<Executed> {
  const session = await desk.session();
  const command = desk.orders.command(fields);
  const { executionId } = command;
  const from = desk.mark;
  session.send(command);
  await desk.ackOf(executionId, from);
  const report = await desk.finalReportOf(executionId, from);
  return { executionId, command, report, from };
}

export function filledOf(desk: Desk, executionId: string): number {
  const sum = desk.fillsOf(executionId).reduce((filled, { quantity }) => filled + quantity, 0);
  return rounded(sum);
}

export function demandStatus(report: Report, status: string, reasonCode?: ReasonCode): void {
  const shown = (code?: string): string => (code === undefined ? '' : ` with ${code}`);
  demand(
    report.status === status && (reasonCode === undefined || report.reasonCode === reasonCode),
    `The command was reported as ${report.status}${shown(report.reasonCode)} instead of ${status}${shown(reasonCode)}.`,
  );
}

async function rejects(
  desk: Desk,
  fields: Partial<SubmitFrame>,
  reasonCode: ReasonCode,
): Promise<Report> {
  const { report } = await execute(desk, fields);
  demandStatus(report, 'rejected', reasonCode);
  return report;
}

/** Sends a command that has expired. @param expiresAt by the clock of the gateway, Unix ms. */
async function demandExpiry(desk: Desk, expiresAt: number): Promise<void> {
  const { executionId, report } = await execute(desk, { expiresAt: toIsoTime(expiresAt) });
  await desk.reconnected();
  demandStatus(report, 'expired', 'ttl_expired');
  demand(filledOf(desk, executionId) === 0, 'It was filled.');
}
