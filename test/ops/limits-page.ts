/**
 * The tables of ops/limits.md, made from the code: `limits-page.program` writes them into the page,
 * and the test beside it holds the page against them.
 */
import * as durations from '../../src/lib/durations.js';
import { readFileSync } from 'node:fs';
import { limitNames, limitRelations, limits } from '../../src/limits.js';
import { shippedPlans } from '../../src/plans.js';
import { table, type PageTables } from './page-tables.js';
import { opsDirectory } from './rule-files.js';

export const pageFile = new URL('limits.md', opsDirectory);

/** A limit that no setting changes. Its value is read from the code, so that the page cannot differ. */
interface FixedLimit {
  readonly constant: string;
  readonly file: string;
  readonly unit: string;
  readonly why: string;
}

// oxfmt-ignore
const fixedLimits: readonly FixedLimit[] = [
  { constant: 'passwordLengthMin', file: 'auth/password.ts', unit: 'characters', why: 'shortest password that may be set' },
  { constant: 'passwordLengthMax', file: 'auth/password.ts', unit: 'characters', why: 'longest password; hashing costs by length' },
  { constant: 'emailLengthMax', file: 'auth/email.ts', unit: 'characters', why: 'longest email address' },
  { constant: 'nameLengthMax', file: 'signals/envelope.ts', unit: 'characters', why: 'longest `type` and `cmd` of a signal' },
  { constant: 'sessionLifetimeMs', file: 'auth/session-token.ts', unit: 'milliseconds', why: 'how long a terminal’s login lasts' },
  { constant: 'hashQueueMax', file: 'gateway.ts', unit: 'logins', why: 'how many may wait for the hash pool; a further one gets a 503 with a Retry-After' },
  { constant: 'headsPerMinuteMax', file: 'http/server.ts', unit: 'requests', why: 'HEAD requests of an address in a minute; the answer to a further one closes its connection' },
  { constant: 'reserveMax', file: 'http/connection-limit.ts', unit: 'files', why: 'open files that connections to the API port may not use, because the log, commands and the ops port need them; a quarter of the limit of open files if that is less' },
  { constant: 'frameBytesMax', file: 'plugins/protocol.ts', unit: 'bytes', why: 'largest frame of a plugin; a larger one is a bad frame' },
  { constant: 'messageBytesMax', file: 'plugins/protocol.ts', unit: 'bytes', why: 'largest message of a plugin that is read; a larger one closes the connection' },
  { constant: 'frameDepthMax', file: 'plugins/decode-frame.ts', unit: 'levels', why: 'deepest nesting of a plugin’s frame' },
  { constant: 'badFramesMax', file: 'plugins/protocol.ts', unit: 'frames', why: 'bad frames at which a plugin’s connection is closed' },
  { constant: 'helloTimeoutMs', file: 'plugins/protocol.ts', unit: 'milliseconds', why: 'how long a new connection of a plugin may take to send its hello' },
  { constant: 'heartbeatMs', file: 'plugins/protocol.ts', unit: 'milliseconds', why: 'interval of the heartbeats that a plugin sends; it is shorter if `heartbeatWindowMs` is short' },
  { constant: 'outgoingBytesMax', file: 'plugins/socket.ts', unit: 'bytes', why: 'data that may wait for a plugin that reads slowly; beyond it the connection is closed as `too_slow`' },
  { constant: 'idleTimeoutSeconds', file: 'plugins/socket.ts', unit: 'seconds', why: 'how long a plugin’s machine may answer no ping; then the connection is closed' },
  { constant: 'unsentMsMax', file: 'http/body-writer.ts', unit: 'milliseconds', why: 'how long a client may read nothing of its answer while more than `unsentBytesPerConnection` of it waits; 10 seconds while less waits' },
  { constant: 'keepAliveMs', file: 'events/event-streams.ts', unit: 'milliseconds', why: 'silence after which an event stream gets a comment' },
  { constant: 'answerBytesMax', file: 'client/answer.ts', unit: 'bytes', why: 'longest answer that the bot clients read; a longer one counts as no answer. Every answer fits at the default limits, but not with a much higher `fillsPerExecution` or `executionsPerSignal`' },
  { constant: 'waitMsMax', file: 'endpoints/read-signal.ts', unit: 'milliseconds', why: 'how long a read of a signal may wait for its completion' },
  { constant: 'waitsPerUserMax', file: 'signals/completion-waits.ts', unit: 'reads', why: 'how many reads of a user may wait at once; a further one gets 429 `api_rate_limited`' },
  { constant: 'snapshotTimeoutMs', file: 'plugins/snapshots.ts', unit: 'milliseconds', why: 'how long a terminal that is asked for a snapshot may take' },
  { constant: 'drainMs', file: 'gateway.ts', unit: 'milliseconds', why: 'how long a stop waits for requests whose answer is not yet sent in full' },
  { constant: 'stopTimeoutMs', file: 'main.ts', unit: 'milliseconds', why: 'time after which a stop that hangs is ended by force' },
  { constant: 'probeIntervalMs', file: 'store/storage-health.ts', unit: 'milliseconds', why: 'how often a failed disk is tried again' },
  { constant: 'commitOverdueMs', file: 'store/storage-health.ts', unit: 'milliseconds', why: 'age of a commit, while the event loop runs, after which the gateway is not ready and takes no further change' },
  { constant: 'commitAnswerMs', file: 'store/storage-health.ts', unit: 'milliseconds', why: 'how long an answer waits for its commit' },
  { constant: 'cycleIntervalMs', file: 'retention/sweep.ts', unit: 'milliseconds', why: 'how often the store is searched for records to remove' },
  { constant: 'sourceRetentionDays', file: 'plugins/registry.ts', unit: 'days', why: 'how long a source that is not seen is kept; its open orders then become `unknown`' },
  { constant: 'revokedKeyRetentionDays', file: 'retention/revoked-keys.ts', unit: 'days', why: 'how long a revoked key is kept' },
  { constant: 'revokedKeysMax', file: 'retention/revoked-keys.ts', unit: 'keys', why: 'revoked keys of a user that are kept for that time; beyond it, the oldest are removed after an hour' },
  { constant: 'expiredKeysMax', file: 'auth/api-key.ts', unit: 'keys', why: 'expired keys that a user may keep; a new key revokes the oldest beyond it' },
  { constant: 'instrumentsBytesMax', file: 'auth/key-limits.ts', unit: 'bytes', why: 'the `allowedInstruments` of a key together, as JSON' },
  { constant: 'waitingBytesMax', file: 'telemetry/line-writer.ts', unit: 'bytes', why: 'log lines that may wait for a reader that has stopped; further lines are dropped' },
  { constant: 'flushMsMax', file: 'telemetry/line-writer.ts', unit: 'milliseconds', why: 'how long the exit waits for the reader of the log' },
  { constant: 'unreadMsMax', file: 'admin/server.ts', unit: 'milliseconds', why: 'how long a command may read nothing of the data that the gateway has for it; then it is cut off' },
  { constant: 'connectionsMax', file: 'telemetry/ops-server.ts', unit: 'connections', why: 'open connections to the ops port' },
  { constant: 'answersPerSecondMax', file: 'telemetry/ops-server.ts', unit: 'answers', why: 'answers of the ops port to an address in a second; a further request closes all connections of the address' },
  { constant: 'requestTimeoutMs', file: 'telemetry/ops-server.ts', unit: 'milliseconds', why: 'how long a request to the ops port may take to arrive' },
  { constant: 'unreadTimeoutMs', file: 'telemetry/ops-server.ts', unit: 'milliseconds', why: 'how long an answer of the ops port may stay unread' },
  { constant: 'scrapeLifetimeMs', file: 'telemetry/metrics.ts', unit: 'milliseconds', why: 'how long the text of /metrics is reused' },
];

const lengths: Readonly<Record<string, number>> = durations;

const readableUnits: readonly {
  readonly unit: string;
  readonly size: number;
  readonly name: string;
}[] = [
  { unit: 'milliseconds', size: 86_400_000, name: 'day' },
  { unit: 'milliseconds', size: 3_600_000, name: 'hour' },
  { unit: 'milliseconds', size: 60_000, name: 'minute' },
  { unit: 'milliseconds', size: 1_000, name: 'second' },
  { unit: 'bytes', size: 1_048_576, name: 'MiB' },
  { unit: 'bytes', size: 1_024, name: 'KiB' },
];

/** Every table by the name that stands in the page's marks. */
export function pageTables(): PageTables {
  return {
    limits: table(
      ['Name', 'Value', 'Unit', 'From', 'To', 'What it protects'],
      limitNames.map((name) => {
        const { value, unit, min, max, why } = limits[name];
        return [`\`${name}\``, readable(value, unit), unit, grouped(min), grouped(max), why];
      }),
    ),
    relations: table(
      ['Between', 'Rule'],
      limitRelations.map(({ names, message }) => [
        names.map((name) => `\`${name}\``).join(', '),
        message,
      ]),
    ),
    plans: table(
      ['Plan', 'Public API', 'Signals in any 60 seconds', 'Signals on one UTC day'],
      Object.entries(shippedPlans).map(([name, plan]) => [
        `\`${name}\``,
        plan.publicApi ? 'yes' : 'no',
        grouped(plan.signalsPerMinute),
        grouped(plan.signalsPerDay),
      ]),
    ),
    fixed: table(
      ['Value', 'Unit', 'What it is', 'Where'],
      fixedLimits.map(({ constant, file, unit, why }) => [
        readable(constantIn(file, constant), unit),
        unit,
        why,
        `\`${constant}\` in \`src/${file}\``,
      ]),
    ),
  };
}

function grouped(value: number): string {
  return value.toLocaleString('en-US');
}

/** `300,000 (5 minutes)`: the figure for the config file, and what it means. */
function readable(value: number, unit: string): string {
  const [base] = unit.split(' per ');
  const found = readableUnits.find(
    (other) => other.unit === base && value >= other.size && value % other.size === 0,
  );
  if (found === undefined) return grouped(value);
  const count = value / found.size;
  const plural = base === 'bytes' || count === 1 ? '' : 's';
  return `${grouped(value)} (${count} ${found.name}${plural})`;
}

/** The value of a constant that is a product of numbers and of the durations in `src/lib/`. */
function constantIn(file: string, name: string): number {
  const source = readFileSync(new URL(`../src/${file}`, opsDirectory), 'utf8');
  const found = new RegExp(`const ${name} = ([\\w *]+);`).exec(source)?.[1];
  if (found === undefined) throw new Error(`src/${file} has no constant "${name}"`);
  return found
    .split('*')
    .map((factor) => factor.trim())
    .map((factor) => lengths[factor] ?? Number(factor.replaceAll('_', '')))
    .reduce((product, factor) => product * factor);
}
