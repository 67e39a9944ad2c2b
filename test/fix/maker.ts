/** The other side of the market: an initiator that leaves one large sell order in the venue's book and logs out. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { toFixTime } from '../../src/fix/fix-time.js';
import { FrameReader } from '../../src/fix/frame-reader.js';
import { encodeMessage, type Field } from '../../src/fix/message.js';
import type { SessionAction } from '../../src/fix/session-action.js';
import { FixSession } from '../../src/fix/session.js';
import { tags, types } from '../../src/fix/tags.js';
import { systemClock } from '../../src/lib/clock.js';
import { eventually } from '../support/eventually.js';

export const maker = 'MAKER';

const order: readonly Field[] = [
  [tags.ClOrdID, 'standing'],
  [tags.HandlInst, '1'],
  [tags.Symbol, 'ES'],
  [tags.Side, '2'],
  [tags.TransactTime, toFixTime(systemClock.now())],
  [tags.OrderQty, '1000000'],
  [tags.OrdType, '2'],
  [tags.Price, '100'],
  [tags.TimeInForce, '0'],
];

/** Puts the order into the book, where it rests until the venue ends: ES at 100. */
export async function standInTheMarket(port: number, beginString: string): Promise<void> {
  const session = new FixSession({
    senderCompId: maker,
    targetCompId: 'VENUE',
    beginString,
    heartBtIntSec: 30,
    resetOnLogon: false,
    confirmsLogon: false,
    headerFields: [],
    logonFields: () => [],
    supports: (type) => type === types.ExecutionReport,
    numbers: { out: 1, in: 1 },
    clock: systemClock,
  });
  const reader = new FrameReader();
  const socket = await eventually(() => connectedTo(port));
  const carryOut = (actions: readonly SessionAction[]): void => {
    for (const action of actions) {
      if (action.kind === 'send') socket.write(encodeMessage(beginString, action.message));
      if (action.kind === 'logged_on') carryOut(session.send(types.NewOrderSingle, order));
      // The venue has the order.
      if (action.kind === 'deliver') carryOut(session.logOut());
      if (action.kind === 'end') socket.end();
    }
  };
  socket.on('data', (chunk) => {
    for (const frame of reader.push(chunk)) {
      if (frame.kind === 'message') carryOut(session.received(frame.message));
    }
  });
  const closed = once(socket, 'close');
  carryOut(session.connected());
  await closed;
}

/** @returns undefined if the venue does not listen yet: it logs its sessions before it does. */
async function connectedTo(port: number): Promise<Socket | undefined> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return socket;
  } catch {
    return undefined;
  }
}
