/** At least once on the wire, exactly once in effect: what is redelivered, by whom, and with which number. */
import type { NumberedFrame, PluginFrame, SubmitFrame } from '../plugins/protocol.js';
import { demandStatus, execute, filledOf } from './command-rules.js';
import type { Desk, Report } from './desk.js';
import { demand, type Rule } from './rule.js';
import type { Session } from './session.js';

const silenceMs = 1_000;

export const deliveryRules = {
  submit_repeated: {
    says: 'acknowledges and reports a repeated command again, and does not execute it again',
    place: 'PROTOCOL.md#commands',
    async check(desk) {
      const { command, executionId, report } = await execute(desk);
      const fills = desk.fillsOf(executionId).length;
      const from = desk.mark;
      (await desk.session()).send(command);
      await desk.ackOf(executionId, from);
      const again = await desk.finalReportOf(executionId, from);
      demandStatus(again, report.status);
      demand(again.seq > report.seq, 'The report had no new seq.');
      await desk.pause(silenceMs);
      const more = desk.fillsOf(executionId).length - fills;
      demand(more === 0, `The repeated command brought ${more} more fills.`);
    },
  },
  cut_before_ack: {
    says: 'executes a command once that was cut off before its ack and sent again',
    place: 'PROTOCOL.md#commands',
    async check(desk) {
      const { command, session, from } = await submitted(desk);
      await session.cut();
      const next = await desk.session();
      const again = desk.mark;
      next.send(command);
      await desk.ackOf(command.executionId, again);
      await demandOneExecution(desk, command, from);
    },
  },
  cut_after_ack: {
    says: 'goes on with a command that was cut off after its ack',
    place: 'PROTOCOL.md#commands',
    async check(desk) {
      const { command, session, from } = await submitted(desk);
      await desk.ackOf(command.executionId, from);
      await session.cut();
      await desk.session();
      await demandOneExecution(desk, command, from);
    },
  },
  report_kept: {
    says: 'sends a report again, with its seq, that was not acknowledged',
    place: 'PROTOCOL.md#numbers-and-acknowledgements',
    async check(desk) {
      const { report, session } = await unacknowledged(desk);
      await session.cut();
      const from = desk.mark;
      const next = await desk.session();
      const again = await desk.finalReportOf(report.executionId, from);
      demand(
        again.seq === report.seq,
        `The report came with seq ${again.seq} instead of ${report.seq}.`,
      );
      demandStatus(again, report.status);
      const early = numbered(desk, next).find(({ seq }) => seq > report.seq);
      const isFirst = early === undefined || placeOf(desk, again) < placeOf(desk, early);
      demand(isFirst, `A frame with seq ${early?.seq} came before the report.`);
    },
  },
  acknowledged_ends: {
    says: 'does not send again what the welcome acknowledges',
    place: 'PROTOCOL.md#numbers-and-acknowledgements',
    async check(desk) {
      const { report, session } = await unacknowledged(desk);
      await desk.pause(silenceMs);
      desk.lastSeq = Math.max(report.seq, ...numbered(desk, session).map(({ seq }) => seq));
      const { lastSeq } = desk;
      await session.cut();
      const next = await desk.session();
      await desk.pause(silenceMs);
      const old = numbered(desk, next).find(({ seq }) => seq <= lastSeq);
      demand(old === undefined, `The plugin sent seq ${old?.seq} again; lastSeq was ${lastSeq}.`);
    },
  },
  last_seq: {
    says: 'numbers on from the lastSeq of the welcome',
    place: 'PROTOCOL.md#numbers-and-acknowledgements',
    async check(desk) {
      await desk.reconnected();
      await desk.pause(silenceMs);
      const before = desk.lastSeq;
      const lastSeq = before + 1_000;
      desk.lastSeq = lastSeq;
      await desk.reconnected();
      const { report } = await execute(desk);
      if (report.seq <= lastSeq) desk.lastSeq = before;
      demand(
        report.seq > lastSeq,
        `The seq of the report was ${report.seq}; lastSeq was ${lastSeq}.`,
      );
    },
  },
  backlog: {
    says: 'keeps a backlog of thousands of reports, and sends it in order',
    place: 'PROTOCOL.md#numbers-and-acknowledgements',
    async check(desk) {
      const session = await desk.session();
      session.acknowledges = false;
      const from = desk.mark;
      const ids = new Set<string>();
      while (ids.size < desk.options.backlog) {
        // A command that is rejected: the plugin reports it at once, and the broker has nothing to do.
        const command = desk.orders.command({ signalType: 'conformance', cmd: 'juggle' });
        ids.add(command.executionId);
        session.send(command);
      }
      await allReported(desk, ids, from);
      await session.cut();
      const later = desk.mark;
      const next = await desk.session();
      await allReported(desk, ids, later);
      const reports = numbered(desk, next).filter(({ type }) => type === 'report');
      const seqs = reports.map(({ seq }) => seq);
      const turn = seqs.findIndex((seq, at) => at > 0 && seq <= (seqs[at - 1] as number));
      demand(turn < 0, `Seq ${seqs[turn]} came after ${seqs[turn - 1]}.`);
    },
  },
} as const satisfies Record<string, Rule>;

/** Sends an order on a connection that acknowledges nothing. */
async function submitted(desk: Desk) {
  const session = await desk.session();
  const command = desk.orders.command();
  const from = desk.mark;
  session.acknowledges = false;
  session.send(command);
  return { command, session, from };
}

async function unacknowledged(desk: Desk): Promise<{ report: Report; session: Session }> {
  const { command, session, from } = await submitted(desk);
  await desk.ackOf(command.executionId, from);
  return { report: await desk.finalReportOf(command.executionId, from), session };
}

async function demandOneExecution(
  desk: Desk,
  { executionId }: SubmitFrame,
  from: number,
): Promise<void> {
  demandStatus(await desk.finalReportOf(executionId, from), 'filled');
  await desk.pause(silenceMs);
  const filled = filledOf(desk, executionId);
  const wanted = Number(desk.orders.filling['quantity']);
  demand(filled === wanted, `The fills of the order are ${filled} of ${wanted}.`);
}

/** Waits for a report on each command. Each has the time of an answer: on a slow disk all of them take longer. */
async function allReported(desk: Desk, ids: ReadonlySet<string>, from: number): Promise<void> {
  const missing = new Set(ids);
  let at = from;
  while (missing.size > 0) {
    const left = missing.size;
    await desk.until(`report on ${left} of ${ids.size} commands`, () => {
      for (; at < desk.seen.length; at++) {
        const frame = desk.seen[at]?.frame;
        if (frame?.type === 'report') missing.delete(frame.executionId);
      }
      return missing.size < left;
    });
  }
}

function numbered(desk: Desk, session: Session): NumberedFrame[] {
  return desk.framesOf(session).filter((frame): frame is NumberedFrame => 'seq' in frame);
}

function placeOf(desk: Desk, frame: PluginFrame): number {
  return desk.seen.findIndex((one) => one.frame === frame);
}
