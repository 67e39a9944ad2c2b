/** Frames that no gateway sends: values of other types, missing fields, numbers beyond limits, no JSON. */
const frames = {
  welcome: {
    connectionId: 'con_1',
    heartbeatMs: 30_000,
    serverTime: '2026-01-15T12:00:00.000Z',
    lastSeq: 0,
    outgoingQueue: { eventsMax: 2_000, ageMs: 600_000 },
  },
  submit: {
    executionId: 'exe_of_nonsense',
    signalType: 'order',
    cmd: 'submit',
    expiresAt: '2999-01-01T00:00:00.000Z',
    payload: { quantity: 1 },
  },
  cancel: { cancelRequestId: 'can_1', executionId: 'exe_1' },
  snapshot: { snapshotId: 'sna_1' },
  ack: { seq: 1 },
  error: { code: 'invalid_frame' },
} as const;

/** Values that are wrong for every field, but for `isRight`. */
const wrong = ['true', '-1', '1.5', '9007199254740992', '1e999', '""', '[]', '{"eventsMax":0}'];
/** Ways to leave a field out, which are wrong for all but `outgoingQueue`: older gateways lack it. */
const absent = [undefined, 'null'];
/** A payload may be any object. */
const isRight = (field: string, value: string): boolean => field === 'payload' && value[0] === '{';

function textOf(
  type: string,
  fields: Readonly<Record<string, unknown>>,
  field: string,
  value?: string,
): string {
  const members = Object.entries({ type, ...fields })
    .filter(([name]) => name !== field)
    .map(([name, given]) => `"${name}":${JSON.stringify(given)}`);
  return `{${[...members, ...(value === undefined ? [] : [`"${field}":${value}`])].join()}}`;
}

const { submit } = frames;
const deep = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

export const nonsense: readonly string[] = [
  ...Object.entries(frames).flatMap(([type, fields]) =>
    Object.keys(fields).flatMap((field) =>
      [...wrong, ...(field === 'outgoingQueue' ? [] : absent)]
        .filter((value) => value === undefined || !isRight(field, value))
        .map((value) => textOf(type, fields, field, value)),
    ),
  ),
  textOf('submit', submit, 'expiresAt', '"2999-13-01T25:00:00Z"'),
  // A base would have to guess the zone of a time without one.
  textOf('submit', submit, 'expiresAt', '"2999-01-01T00:00:00.000"'),
  textOf('welcome', frames.welcome, 'serverTime', '"2026-01-15T12:00:00"'),
  ...[deep(990), deep(20_000), '{"quantity":NaN}', '{"quantity":-Infinity}'].map((payload) =>
    textOf('submit', submit, 'payload', payload),
  ),
  textOf(
    'welcome',
    { ...frames.welcome, expiresAt: '2999-01-01T00:00:00.000Z' },
    'serverTime',
    '"soon"',
  ),
  '{"type":[]}',
  '{"type":"unheard_of"}',
  '{}',
  '[]',
  '1',
  '',
];
