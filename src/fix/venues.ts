/**
 * How venues differ at the logon and in a few tags. A configuration names a row and may replace parts of it.
 * ops/terminals.md says which rows were tried and which are only read from a venue's documents.
 */
import type { Field } from './message.js';
import { tags } from './tags.js';

export type OrderType = 'market' | 'limit' | 'stop' | 'stop_limit';
export type TimeInForce = 'day' | 'gtc' | 'ioc' | 'fok';

/** How the password proves itself; see credentials.ts. */
export type CredentialKind = 'password' | 'bitvavo' | 'bybit';

export interface Venue {
  /** Further fields of every message's header, of the Logon, and of every NewOrderSingle. */
  readonly header: readonly Field[];
  readonly logon: readonly Field[];
  readonly order: readonly Field[];
  readonly credentials: CredentialKind;
  /** By which field an instrument is named; `securityId` adds SecurityIDSource 8. */
  readonly instrument: 'symbol' | 'securityId';
  /** HandlInst 1 goes with every order. */
  readonly handlInst: boolean;
  /** The tag that takes a comment, if any. */
  readonly commentTag: number | null;
  readonly orderTypes: readonly OrderType[];
  readonly timesInForce: readonly TimeInForce[];
  /** Characters of a ClOrdID. */
  readonly clOrdIdLengthMax: number;
  /** Whether OrderStatusRequest is answered. */
  readonly statusRequest: boolean;
}

const standard: Venue = {
  header: [],
  logon: [],
  order: [],
  credentials: 'password',
  instrument: 'symbol',
  handlInst: true,
  commentTag: tags.Text,
  orderTypes: ['market', 'limit', 'stop', 'stop_limit'],
  timesInForce: ['day', 'gtc', 'ioc', 'fok'],
  clOrdIdLengthMax: 36,
  statusRequest: true,
};

export const venues = {
  standard,
  /** help.ctrader.com/fix/specification: symbols are numbers, the trading session has a SubID. */
  ctrader: {
    ...standard,
    header: [
      [tags.SenderSubID, 'TRADE'],
      [tags.TargetSubID, 'TRADE'],
    ],
    handlInst: false,
    commentTag: tags.Designation,
    orderTypes: ['market', 'limit', 'stop'],
    timesInForce: ['gtc', 'ioc'],
  },
  /** bybit-exchange.github.io/docs/fix-api/guide: a signed logon, no resends, no status requests. */
  bybit: {
    ...standard,
    order: [[30010, 'spot']],
    credentials: 'bybit',
    handlInst: false,
    commentTag: null,
    orderTypes: ['market', 'limit'],
    timesInForce: ['gtc', 'ioc', 'fok'],
    statusRequest: false,
  },
  /** docs.bitvavo.com/docs/fix-api: a signed logon; cancel on disconnect has to be chosen. */
  bitvavo: {
    ...standard,
    logon: [[5001, 'N']],
    credentials: 'bitvavo',
    handlInst: false,
    commentTag: null,
    timesInForce: ['gtc', 'ioc', 'fok'],
    statusRequest: false,
  },
  /** Venues in the manner of LMAX: instruments by SecurityID, short order ids. */
  lmax: {
    ...standard,
    instrument: 'securityId',
    handlInst: false,
    commentTag: null,
    orderTypes: ['market', 'limit', 'stop'],
    clOrdIdLengthMax: 20,
  },
} as const satisfies Record<string, Venue>;

export type VenueName = keyof typeof venues;
