/**
 * Defines the terminal plugin protocol, version 1: the frames of both directions as schemas, error codes and
 * close codes (section 6 of the contract). Unknown fields are ignored; a field without a value is absent,
 * never null.
 */
import Type, { type Static } from 'typebox';
import { oneOf } from '../lib/json-types.js';
import { pluginEventNames } from '../events/event-names.js';
import { reportableCancelStatuses } from '../model/cancellation.js';
import { reportableStatuses } from '../model/execution.js';
import { reasonCodes } from '../model/reason-codes.js';
import { capabilities } from '../model/records.js';
import { sourceNameLengthMax } from '../model/source-name.js';

export const subprotocol = 'signalbox.plugin.v1';
export const pluginPath = '/plugin/v1';
export const frameBytesMax = 128 * 1024;
/** At a larger message the native server closes the connection itself, with no code of ours. */
export const messageBytesMax = 256 * 1024;
export const helloTimeoutMs = 5_000;
/** The interval in the welcome frame. A connection times out after `heartbeatWindowMs` of the limits. */
export const heartbeatMs = 30_000;
/**
 * How far a `seq` may be above the last one: room for a count of milliseconds. An accidental 2^53 − 1 would
 * leave no number above it, and the source could never report again.
 */
export const seqJumpMax = 2 ** 42;
/** The connection is closed at this number of bad frames. */
export const badFramesMax = 3;

/** Why an upgrade is refused, as the log calls it, and the status of the answer. */
export const upgradeRefusals = {
  upgrade_required: 426,
  invalid_session: 401,
  shutting_down: 503,
  account_moving: 503,
  bad_upgrade: 400,
  bad_request: 400,
  too_many_connections: 429,
  too_fast: 429,
} as const;

export type UpgradeRefusal = keyof typeof upgradeRefusals;

/** 4000 to 4499: reconnect with backoff. 4500 to 4999: do not reconnect automatically. */
// oxfmt-ignore
export const closeCodes = {
  server_draining:  4001,
  heartbeat_missed: 4002,
  too_slow:         4003,
  too_fast:         4004,
  replaced:         4501,
  bad_protocol:     4502,
  session_revoked:  4503,
  too_many_sources: 4504,
} as const;

export type CloseReason = keyof typeof closeCodes;

/**
 * Why a connection ended: the gateway's close reason, or `terminal_left` if the peer or the network closed
 * it.
 */
export const connectionEnds = [
  ...(Object.keys(closeCodes) as CloseReason[]),
  'terminal_left',
] as const;

export type ConnectionEnd = (typeof connectionEnds)[number];

/**
 * Codes of the `error` frame. Errors with `counts` are protocol violations: at `badFramesMax` of them the
 * connection is closed. The others answer well-formed frames.
 */
// oxfmt-ignore
export const frameErrors = {
  not_text:          { counts: true,  message: 'Frames must be text messages, not binary ones.' },
  frame_too_large:   { counts: true,  message: `The frame has more than ${frameBytesMax} bytes.` },
  not_json:          { counts: true,  message: 'The frame is not a JSON object.' },
  unknown_type:      { counts: true,  message: 'The frame has no known type.' },
  invalid_frame:     { counts: true,  message: 'A field of the frame is missing, not valid or nested too deeply.' },
  hello_expected:    { counts: true,  message: 'The first frame must be hello.' },
  hello_repeated:    { counts: true,  message: 'hello was already sent on this connection.' },
  unknown_platform:  { counts: true,  message: 'The gateway does not know this platform.' },
  invalid_account:   { counts: true,  message: 'The account name does not have the form that this platform requires.' },
  seq_jump:          { counts: true,  message: 'The seq is too far above the last one: begin at lastSeq + 1 of the welcome.' },
  seq_repeated:      { counts: false, message: 'The seq is not above lastSeq of the welcome, so the frame is ignored: go on at lastSeq + 1.' },
  unknown_execution: { counts: false, message: 'No execution with this id was sent to this source.' },
  unknown_cancel:    { counts: false, message: 'No cancel with this id was sent to this source.' },
  too_fast:          { counts: false, message: 'The connections of this user have sent too many frames or bytes: wait, then connect again.' },
} as const;

export type FrameErrorCode = keyof typeof frameErrors;

const id = Type.String({ minLength: 1, maxLength: 128 });
/** Longest texts of `native`. */
export const nativeLengthMax = { orderId: 128, state: 128, code: 128, text: 8_192 } as const;
const seq = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
/** Far above any price or quantity, and far below where sums and products of them overflow. */
export const amountMax = 1e18;
const amount = Type.Number({ minimum: 0, maximum: amountMax });
const price = Type.Number({ minimum: -amountMax, maximum: amountMax });
/**
 * ISO 8601 with a time zone; the pattern matches in linear time. Years are limited so that the time in UTC,
 * which bots receive, still has a four-digit year.
 */
const time = Type.String({
  maxLength: 40,
  pattern:
    '^[12]\\d{3}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d' +
    '(\\.\\d{1,9})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)$',
});

const fill = Type.Object({
  fillId: id,
  price,
  quantity: Type.Number({ exclusiveMinimum: 0, maximum: amountMax }),
  filledAt: time,
});

const native = Type.Object({
  orderId: Type.Optional(Type.String({ minLength: 1, maxLength: nativeLengthMax.orderId })),
  state: Type.Optional(Type.String({ maxLength: nativeLengthMax.state })),
  code: Type.Optional(
    Type.Union([Type.String({ maxLength: nativeLengthMax.code }), Type.Number()]),
  ),
  text: Type.Optional(Type.String({ maxLength: nativeLengthMax.text })),
});

const evidence = {
  status: oneOf(reportableStatuses),
  reasonCode: Type.Optional(oneOf(reasonCodes)),
  filledQuantity: Type.Optional(amount),
  remainingQuantity: Type.Optional(amount),
  averageFillPrice: Type.Optional(price),
  fill: Type.Optional(fill),
  native: Type.Optional(native),
};

export const pluginFrames = {
  hello: Type.Object({
    type: Type.Literal('hello'),
    platform: Type.String({ minLength: 1, maxLength: 64 }),
    instanceId: Type.String({ maxLength: sourceNameLengthMax }),
    accountName: Type.String({ minLength: 1, maxLength: sourceNameLengthMax }),
    capabilities: Type.Array(oneOf(capabilities), { maxItems: capabilities.length }),
    software: Type.Optional(
      Type.Object({
        name: Type.String({ maxLength: 128 }),
        version: Type.String({ maxLength: 128 }),
      }),
    ),
    executions: Type.Optional(
      Type.Array(Type.Object({ executionId: id, ...evidence }), { maxItems: 1_000 }),
    ),
  }),
  heartbeat: Type.Object({ type: Type.Literal('heartbeat') }),
  ack: Type.Object({
    type: Type.Literal('ack'),
    executionId: Type.Optional(id),
    cancelRequestId: Type.Optional(id),
  }),
  report: Type.Object({
    type: Type.Literal('report'),
    seq,
    executionId: id,
    ...evidence,
    occurredAt: Type.Optional(time),
  }),
  cancel_report: Type.Object({
    type: Type.Literal('cancel_report'),
    seq,
    cancelRequestId: id,
    status: oneOf(reportableCancelStatuses),
    reasonCode: Type.Optional(oneOf(reasonCodes)),
    native: Type.Optional(native),
    occurredAt: Type.Optional(time),
  }),
  event: Type.Object({
    type: Type.Literal('event'),
    seq,
    event: oneOf(pluginEventNames),
    occurredAt: Type.Optional(time),
    data: Type.Optional(Type.Object({})),
    rawText: Type.Optional(Type.String()),
    executionId: Type.Optional(id),
    orderRef: Type.Optional(id),
  }),
} as const;

export type PluginFrameType = keyof typeof pluginFrames;
export type PluginFrameOf<T extends PluginFrameType> = Static<(typeof pluginFrames)[T]>;
export type PluginFrame = { [T in PluginFrameType]: PluginFrameOf<T> }[PluginFrameType];
/** What may come once the hello was accepted. */
export type LaterFrame = Exclude<PluginFrame, { type: 'hello' }>;
/** Frames with a `seq`: each takes effect once. */
export type NumberedFrame = Extract<PluginFrame, { seq: number }>;
export type Evidence = Pick<PluginFrameOf<'report'>, keyof typeof evidence>;
/** An execution that a hello tells of. */
export type HelloExecution = Evidence & { readonly executionId: string };

/** Frames from the gateway. Times are ISO 8601 UTC unless noted. */
export const gatewayFrames = {
  welcome: Type.Object({
    type: Type.Literal('welcome'),
    connectionId: Type.String(),
    heartbeatMs: Type.Number(),
    serverTime: Type.String(),
    lastSeq: Type.Integer({ minimum: 0 }),
    /** Bounds of what a plugin keeps while it is disconnected. */
    outgoingQueue: Type.Object({ eventsMax: Type.Integer(), ageMs: Type.Integer() }),
  }),
  submit: Type.Object({
    type: Type.Literal('submit'),
    executionId: id,
    requestId: Type.String(),
    signalId: Type.String(),
    /** Absent unless the signal submits an order. */
    orderRef: Type.Optional(id),
    signalType: Type.String(),
    cmd: Type.String(),
    payload: Type.Unsafe<Record<string, unknown>>({ type: 'object' }),
    /** Unix milliseconds, as the bot gave it. */
    ts: Type.Integer(),
    /** Never execute after it. */
    expiresAt: Type.String(),
  }),
  cancel: Type.Object({
    type: Type.Literal('cancel'),
    cancelRequestId: id,
    executionId: id,
    orderRef: id,
  }),
  snapshot: Type.Object({ type: Type.Literal('snapshot'), snapshotId: id }),
  ack: Type.Object({ type: Type.Literal('ack'), seq }),
  error: Type.Object({
    type: Type.Literal('error'),
    code: oneOf(Object.keys(frameErrors) as FrameErrorCode[]),
    message: Type.String(),
  }),
} as const;

type GatewayFrameOf<T extends keyof typeof gatewayFrames> = Static<(typeof gatewayFrames)[T]>;
export type WelcomeFrame = GatewayFrameOf<'welcome'>;
export type SubmitFrame = GatewayFrameOf<'submit'>;
export type CancelFrame = GatewayFrameOf<'cancel'>;
export type ErrorFrame = GatewayFrameOf<'error'>;
export type GatewayFrame = {
  [T in keyof typeof gatewayFrames]: GatewayFrameOf<T>;
}[keyof typeof gatewayFrames];
