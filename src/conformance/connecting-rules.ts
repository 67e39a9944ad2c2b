/** How a plugin connects, greets and comes back. */
import { frameBytesMax, subprotocol, type CloseReason } from '../plugins/protocol.js';
import { execute, timerErrorMs } from './command-rules.js';
import type { Desk } from './desk.js';
import { demand, type Rule } from './rule.js';
import type { Session } from './session.js';
import type { Attempt } from './stage.js';

/** Half of the backoff of the protocol, which has jitter. */
const backoffMs = [500, 1_000] as const;
const silenceMs = 1_000;

export const connectingRules = {
  subprotocol: {
    says: 'offers the subprotocol of the protocol',
    place: 'PROTOCOL.md#connecting',
    async check(desk) {
      const { offered } = await desk.session();
      demand(offered.includes(subprotocol), `The plugin offered ${offered.join(', ') || 'none'}.`);
    },
  },
  hello: {
    says: 'sends hello as its first frame, within 5 seconds, and can submit',
    place: 'PROTOCOL.md#hello',
    async check(desk) {
      const { helloMs } = desk.options;
      let { session, tookMs } = await greeted(desk);
      // A machine that stood still for a moment may be late once or twice: the gateway lets its plugin come back.
      for (let again = 2; again > 0 && tookMs >= helloMs; again--) {
        ({ session, tookMs } = await greeted(desk));
      }
      demand(tookMs < helloMs, `The first frame came after ${tookMs} ms.`);
      const [first] = desk.framesOf(session);
      demand(first?.type === 'hello', `The first frame was ${first?.type}.`);
      if (first?.type !== 'hello') return;
      demand(first.capabilities.includes('submit'), 'The hello has no capability "submit".');
    },
  },
  waits_for_welcome: {
    says: 'sends nothing but hello before the welcome',
    place: 'PROTOCOL.md#connecting',
    async check(desk) {
      await (await desk.session()).cut();
      const session = await desk.nextHello();
      await desk.pause(silenceMs);
      const others = desk
        .framesOf(session)
        .slice(1)
        .filter(({ type }) => type !== 'hello');
      desk.welcome(session);
      demand(others.length === 0, `The plugin sent ${others[0]?.type} before the welcome.`);
      demand(!session.isClosed, `The plugin did not wait for the welcome.`);
    },
  },
  backoff: {
    says: 'reconnects with a growing delay',
    place: 'PROTOCOL.md#ends-of-a-connection',
    async check(desk) {
      const session = await desk.session();
      desk.stage.refusals.push({ status: 503 });
      const cutAt = desk.clock.monotonic();
      const [first, second] = await attemptsAfterCut(desk, session);
      await desk.session();
      const afterCutMs = first.at - cutAt;
      const afterRefusalMs = second.at - first.at;
      demand(
        afterCutMs >= backoffMs[0],
        `The plugin came back ${Math.round(afterCutMs)} ms after the connection was lost.`,
      );
      demand(
        afterRefusalMs >= backoffMs[1],
        `The plugin came back ${Math.round(afterRefusalMs)} ms after a 503.`,
      );
    },
  },
  retry_after: {
    says: 'waits as long as Retry-After says',
    place: 'PROTOCOL.md#how-much',
    async check(desk) {
      const session = await desk.session();
      desk.stage.refusals.push({ status: 429, retryAfterS: 5 });
      const [first, second] = await attemptsAfterCut(desk, session);
      await desk.session();
      const waitedMs = Math.round(second.at - first.at);
      demand(
        waitedMs >= 5_000 - timerErrorMs,
        `The plugin came back after ${waitedMs} ms instead of 5 s.`,
      );
    },
  },
  draining: {
    says: 'comes back after 4001, and works again',
    place: 'PROTOCOL.md#ends-of-a-connection',
    async check(desk) {
      await comesBack(desk, await desk.session(), 'server_draining');
    },
  },
  late_hello: {
    says: 'comes back after 4502 without an error: its hello was late',
    place: 'PROTOCOL.md#ends-of-a-connection',
    async check(desk) {
      await (await desk.session()).cut();
      await comesBack(desk, await desk.nextHello(), 'bad_protocol');
    },
  },
  heartbeat: {
    says: 'sends a heartbeat in each interval of the welcome',
    place: 'PROTOCOL.md#heartbeat',
    async check(desk) {
      const session = await desk.reconnected({ heartbeatMs: 1_000 });
      const beats = (): number =>
        desk.framesOf(session).filter(({ type }) => type === 'heartbeat').length;
      await desk.until('second heartbeat', () => beats() >= 2);
      await desk.reconnected();
    },
  },
  pong: {
    says: 'answers a ping with a pong',
    place: 'PROTOCOL.md#ends-of-a-connection',
    async check(desk) {
      const session = await desk.session();
      const before = session.pongs;
      session.socket.ping();
      await desk.until('pong', () => session.pongs > before);
    },
  },
  unknown_frame: {
    says: 'ignores a frame of a type that it does not know',
    place: 'PROTOCOL.md#frames',
    check: (desk) => goesOnAfter(desk, { type: 'weather', sky: 'clear' }),
  },
  unknown_fields: {
    says: 'ignores fields of a frame that it does not know',
    place: 'PROTOCOL.md#frames',
    async check(desk) {
      const session = await desk.reconnected({ gatewayName: 'conformance' });
      const command = { ...desk.orders.command(), priority: { level: 1 } };
      const from = desk.mark;
      session.send(command);
      await desk.ackOf(command.executionId, from);
      const { status } = await desk.finalReportOf(command.executionId, from);
      demand(status === 'filled', `The order became ${status}.`);
    },
  },
  error_frame: {
    says: 'goes on after an error frame',
    place: 'PROTOCOL.md#error',
    check: (desk) =>
      goesOnAfter(desk, { type: 'error', code: 'unknown_execution', message: 'Nothing to do.' }),
  },
  large_frame: {
    says: 'takes a frame of the largest size',
    place: 'PROTOCOL.md#frames',
    async check(desk) {
      const session = await desk.session();
      const command = desk.orders.command();
      const room = frameBytesMax - Buffer.byteLength(JSON.stringify(command)) - 64;
      const from = desk.mark;
      session.send({ ...command, payload: { ...command.payload, padding: 'x'.repeat(room) } });
      await desk.ackOf(command.executionId, from);
      await desk.finalReportOf(command.executionId, from);
    },
  },
} as const satisfies Record<string, Rule>;

/** Demands that the plugin comes back by itself. One that was restarted, as `onWaiting` asks for, has a new token. */
async function comesBack(desk: Desk, session: Session, reason: CloseReason): Promise<void> {
  const { token, attempts } = desk.stage;
  const from = attempts.length;
  const closedAt = desk.clock.monotonic();
  await desk.sendAway(session, reason);
  await execute(desk);
  const back = attempts[from];
  const isSoon = back !== undefined && back.at - closedAt < desk.options.awayMs;
  demand(isSoon || back?.token === token, 'The plugin came back only when it was started again.');
}

/** Cuts the connection. @returns the next one, and after how many milliseconds its first frame came. */
async function greeted(desk: Desk): Promise<{ session: Session; tookMs: number }> {
  await (await desk.session()).cut();
  const session = await desk.nextHello();
  const tookMs = Math.round(desk.clock.monotonic() - session.openedAt);
  desk.welcome(session);
  return { session, tookMs };
}

async function goesOnAfter(desk: Desk, frame: object): Promise<void> {
  const session = await desk.session();
  session.send(frame);
  await execute(desk);
  demand(!session.isClosed, 'The plugin closed the connection.');
}

async function attemptsAfterCut(desk: Desk, session: Session): Promise<[Attempt, Attempt]> {
  const { attempts } = desk.stage;
  const from = attempts.length;
  await session.cut();
  await desk.until('attempt to connect', () => attempts.length >= from + 2);
  return attempts.slice(from) as [Attempt, Attempt];
}
