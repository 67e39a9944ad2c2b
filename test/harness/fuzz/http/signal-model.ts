/**
 * What the specification says of the body of a signal, restated: the answer that the bytes must get at
 * a given time, and the signal if they are valid.
 */
export interface MeantSignal {
  readonly signalId: string;
  readonly payload: unknown;
  /** Whether the terminal `fuzz-1` receives it; undefined when it may expire before. */
  readonly isDelivered: boolean | undefined;
}

interface SignalJudgement {
  readonly verdict: string;
  readonly signal?: MeantSignal;
}

const bodyBytesMax = 65_536;
const depthMax = 16;
const unixMsMax = 253_402_300_799_999;
const ttlMsMax = 300_000;
const futureSkewMs = 60_000;
/** With less than this left, a signal may expire before it is sent. */
const soonMs = 30_000;
const fields = [
  'v',
  'signalId',
  'ts',
  'ttlMs',
  'platform',
  'type',
  'cmd',
  'payload',
  'instanceId',
  'accountName',
];
const platforms = ['terminal_a', 'terminal_b'];
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** `body`: latin1. `now`: Unix ms. */
export function judgeSignal(body: string, now: number): SignalJudgement {
  if (body.length > bodyBytesMax) return { verdict: '413 request_body_too_large' };
  const parsed = parse(body);
  if (parsed === undefined) return { verdict: '400 malformed_json' };
  const details = violations(parsed.value, now);
  if (details.length > 0) return { verdict: `422 invalid_signal ${details.join(', ')}` };
  const { signalId, platform, instanceId, accountName, payload, ts, ttlMs } =
    parsed.value as Signal;
  const isForUs =
    tokensOf(platform).includes('terminal_a') &&
    (instanceId ?? 'fuzz-1') === 'fuzz-1' &&
    (accountName ?? 'Sim101') === 'Sim101';
  const isDelivered = isForUs && ts + ttlMs < now + soonMs ? undefined : isForUs;
  return { verdict: '202', signal: { signalId, payload, isDelivered } };
}

/** Parses JSON as the API does. @returns undefined for malformed text. */
export function parse(body: string): { readonly value: unknown } | undefined {
  try {
    const text = utf8.decode(Buffer.from(body, 'latin1'));
    const value = JSON.parse(text) as unknown;
    return depthOf(text) > depthMax ? undefined : { value };
  } catch {
    return undefined;
  }
}

interface Signal {
  readonly signalId: string;
  readonly ts: number;
  readonly ttlMs: number;
  readonly platform: string;
  readonly payload: unknown;
  readonly instanceId?: string;
  readonly accountName?: string;
}

/** Nesting of a valid text. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [bracket] of text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"/gs, '').matchAll(/[[\]{}]/g)) {
    depth += bracket === '{' || bracket === '[' ? 1 : -1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

// oxfmt-ignore
function violations(value: unknown, now: number): string[] {
  if (!isObject(value)) return ['$:object_required'];
  const { v, signalId, ts, ttlMs, platform, type, cmd, payload, instanceId, accountName } = value;
  const isTs = isWhole(ts, 0, unixMsMax);
  const isTtl = isWhole(ttlMs, 1, ttlMsMax);
  const end = isTs && isTtl ? Number(ts) + Number(ttlMs) : 0;
  const rows: [detail: string, isViolated: boolean][] = [
    ['v:unsupported_version', v !== 1],
    ['signalId:invalid_length', !isText(signalId, 128)],
    ['type:invalid_length', !isText(type, 64)],
    ['cmd:invalid_length', !isText(cmd, 64)],
    ['ts:invalid_unix_milliseconds', !isTs],
    ['ts:signal_from_future', isTs && Number(ts) > now + futureSkewMs],
    ['ttlMs:invalid_ttl', !isTtl],
    ['ttlMs:signal_expired', isTs && isTtl && end < now],
    ['ttlMs:timestamp_overflow', isTs && isTtl && end > unixMsMax],
    ['platform:required', typeof platform !== 'string' || platform === ''],
    ['platform:unsupported_platform', typeof platform === 'string' && platform !== '' && !tokensOf(platform).every((name) => platforms.includes(name))],
    ['payload:object_required', !isObject(payload)],
    ['instanceId:invalid_length', instanceId !== undefined && !isText(instanceId, 128)],
    ['accountName:invalid_length', accountName !== undefined && !isText(accountName, 128)],
  ];
  return [
    ...rows.filter(([, isViolated]) => isViolated).map(([detail]) => detail),
    ...unknownFields(value, fields),
  ];
}

export function unknownFields(value: object, known: readonly string[]): string[] {
  const unknown = Object.keys(value).filter((name) => !known.includes(name));
  return unknown.slice(0, 16).map((name) => `${shortened(name)}:unknown_field`);
}

function shortened(name: string): string {
  return name.length > 64 ? `${name.slice(0, 64)}…` : name;
}

export function tokensOf(platform: string): string[] {
  return platform.split(',').map((name) => name.trim());
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isText(value: unknown, lengthMax: number): boolean {
  return typeof value === 'string' && value.length > 0 && value.length <= lengthMax;
}

function isWhole(value: unknown, min: number, max: number): boolean {
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
}
