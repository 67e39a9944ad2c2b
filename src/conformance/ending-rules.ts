/**
 * What a plugin does when it is sent away, and what held for everything that it has sent. A plugin that stops has
 * to be started again, so these rules come last.
 */
import type { CloseReason } from '../plugins/protocol.js';
import type { Desk } from './desk.js';
import { demand, type Rule } from './rule.js';
import type { Session } from './session.js';

/** Longer than the first two delays of the backoff: within it, an automatic reconnect shows. */
const silenceMs = 4_500;

export const endingRules = {
  frames: {
    says: 'sends nothing but valid frames',
    place: 'PROTOCOL.md#from-the-plugin',
    check({ badFrames }) {
      const [first = ''] = badFrames;
      demand(badFrames.length === 0, `${badFrames.length} frames were bad; the first was ${first}`);
    },
  },
  seq_increases: {
    says: 'gives every new frame a higher seq within a connection',
    place: 'PROTOCOL.md#numbers-and-acknowledgements',
    check({ seen }) {
      const last = new Map<unknown, number>();
      for (const { frame, session } of seen) {
        if (!('seq' in frame)) continue;
        const before = last.get(session) ?? 0;
        demand(frame.seq > before, `Seq ${frame.seq} came after ${before}.`);
        last.set(session, frame.seq);
      }
    },
  },
  unauthorized: {
    says: 'does not try a token again that got a 401',
    place: 'PROTOCOL.md#ends-of-a-connection',
    async check(desk) {
      const session = await desk.session();
      const { token, attempts } = desk.stage;
      desk.stage.revoke(token);
      await session.cut();
      const from = attempts.length;
      await desk.until('attempt to connect', () => attempts.length > from);
      await desk.pause(silenceMs);
      const tries = attempts.slice(from).filter((attempt) => attempt.token === token).length;
      demand(tries <= 1, `The plugin tried the refused token ${tries} times.`);
    },
  },
  revoked: {
    says: 'does not come back with the same token after 4503',
    place: 'PROTOCOL.md#ends-of-a-connection',
    async check(desk) {
      const session = await desk.session();
      const { token } = desk.stage;
      desk.stage.revoke(token);
      const later = await attemptsAfterClose(desk, session, 'session_revoked');
      const isBack = later.some((attempt) => attempt.token === token);
      demand(!isBack, 'The plugin tried the revoked token again.');
    },
  },
  replaced: {
    says: 'does not come back after 4501',
    place: 'PROTOCOL.md#ends-of-a-connection',
    async check(desk) {
      const session = await desk.session();
      const later = await attemptsAfterClose(desk, session, 'replaced');
      demand(
        later.length === 0,
        'The plugin connected again, and would replace the connection that replaced it.',
      );
    },
  },
} as const satisfies Record<string, Rule>;

/** @returns the attempts to connect after the plugin has received the close: it or the line may be slow. */
async function attemptsAfterClose(desk: Desk, session: Session, reason: CloseReason) {
  const from = desk.stage.attempts.length;
  await desk.sendAway(session, reason);
  await desk.pause(silenceMs);
  return desk.stage.attempts.slice(from);
}
