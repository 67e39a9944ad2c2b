/**
 * The event that the event benches publish: a terminal's word on a resting order, of everyday size.
 * Every number has ten digits, so that a publisher prepares its bytes once and writes only digits.
 */

/** What stands right before the digits in every event that a reader gets. */
export const numberMarker = '"sequence":"';
export const numberDigits = 10;
/** Where numbers begin; the next one is the first that is used. */
export const numberOrigin = 1_000_000_000;

const eventName = 'order_update';
const occurredAt = '2026-01-31T12:00:00.000Z';
/** For servers other than the gateway: an identifier of the same length as the gateway's. */
const eventId = '0123456789ab-123456';

const order = {
  orderId: '7318840021',
  state: 'working',
  instrument: 'EURUSD',
  side: 'buy',
  executionType: 'limit',
  limitPrice: 1.0841,
  quantity: 2.5,
  filledQuantity: 1,
  remainingQuantity: 1.5,
};

const rawText = 'Order 7318840021 EURUSD buy limit 2.5 at 1.0841: 1.0 filled, 1.5 working';

/** The frame in which a plugin sends it. */
export function pluginFrame(number: number): string {
  const data = { ...order, sequence: String(number) };
  return JSON.stringify({
    type: 'event',
    seq: number,
    event: eventName,
    occurredAt,
    rawText,
    data,
  });
}

/** The JSON of its `data:` line, as the gateway tells it to readers. */
export function readerData(number: number): string {
  return JSON.stringify({
    eventId,
    event: eventName,
    occurredAt,
    receivedAt: occurredAt,
    platform: source.platform,
    instanceId: source.instanceId,
    accountName: source.accountName,
    requestId: null,
    signalId: null,
    executionId: null,
    orderRef: null,
    rawText,
    rawTextTruncated: false,
    data: { ...order, sequence: String(number) },
  });
}

/** A POST that publishes it to a channel of a push server. */
export function publishRequest(host: string, path: string, number: number): string {
  const body = readerData(number);
  return [
    `POST ${path} HTTP/1.1`,
    `Host: ${host}`,
    'Content-Type: application/json',
    `X-EventSource-Event: ${eventName}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}

/** The SSE frame that carries it. */
export function sseFrame(number: number): string {
  return `id: ${eventId}\nevent: ${eventName}\ndata: ${readerData(number)}\n\n`;
}

/** The one terminal of every user. */
export const source = {
  platform: 'terminal_a',
  instanceId: 'desk-1',
  accountName: 'main',
} as const;

/** Where the gateway gives streams. */
export const streamPath = '/api/v1/terminal-events/stream';
