/**
 * The peer's database: SQLite in WAL mode with synchronous=FULL, so that a commit is on disk when it
 * returns, as the gateway's is when it answers. Every statement is prepared once; an acceptance is one
 * transaction. Tables are clustered by the key they are read by (WITHOUT ROWID), without an index
 * that the contract does not need. Checkpoints keep SQLite's own interval: ten times as rare was tried
 * and was no faster.
 */
import Database from 'better-sqlite3';

const schema = `
  CREATE TABLE settings (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE users (
    user_id TEXT PRIMARY KEY, plan TEXT NOT NULL, frozen INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE api_keys (
    hash TEXT PRIMARY KEY, id INTEGER NOT NULL, user_id TEXT NOT NULL, scopes TEXT NOT NULL,
    expires_at INTEGER, revoked_at INTEGER
  ) WITHOUT ROWID;
  CREATE TABLE sources (
    user_id TEXT NOT NULL, platform TEXT NOT NULL, instance_id TEXT NOT NULL,
    account_name TEXT NOT NULL, last_seen_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, platform, instance_id, account_name)
  ) WITHOUT ROWID;
  CREATE TABLE requests (
    user_id TEXT NOT NULL, request_id TEXT NOT NULL, signal_id TEXT NOT NULL,
    accepted_at INTEGER NOT NULL, ts INTEGER NOT NULL, expires_at INTEGER NOT NULL,
    platform TEXT NOT NULL, type TEXT NOT NULL, cmd TEXT NOT NULL, instance_id TEXT,
    payload TEXT NOT NULL, idempotency_key TEXT NOT NULL, signals_today INTEGER NOT NULL,
    PRIMARY KEY (user_id, request_id), UNIQUE (user_id, signal_id)
  ) WITHOUT ROWID;
  CREATE TABLE idempotency (
    user_id TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, request_id TEXT NOT NULL,
    answer TEXT NOT NULL, expires_at INTEGER NOT NULL, PRIMARY KEY (user_id, key)
  ) WITHOUT ROWID;
  CREATE TABLE executions (
    user_id TEXT NOT NULL, execution_id TEXT NOT NULL, platform TEXT NOT NULL, instance_id TEXT,
    account_name TEXT, status TEXT NOT NULL, reason_code TEXT, order_ref TEXT, side TEXT,
    execution_type TEXT, instrument TEXT, quantity REAL, limit_price REAL, filled_quantity REAL,
    remaining_quantity REAL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, execution_id)
  ) WITHOUT ROWID;
`;

/** Room for every page that the load touches; SQLite's own is 2 MiB. */
const cacheKib = 65_536;

export function openSqliteStore(file) {
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.pragma(`cache_size = -${cacheKib}`);
  db.exec(schema);

  const caller = db.prepare(`
    SELECT k.id AS keyId, k.user_id AS userId, k.scopes, k.expires_at AS expiresAt, u.plan, u.frozen,
      (SELECT value FROM settings WHERE name = 'public_api') AS publicApi
    FROM api_keys k JOIN users u ON u.user_id = k.user_id
    WHERE k.hash = ? AND k.revoked_at IS NULL`);
  const idempotency = db.prepare(`
    SELECT fingerprint, request_id AS requestId, answer, expires_at AS expiresAt
    FROM idempotency WHERE user_id = ? AND key = ?`);
  const signalId = db.prepare('SELECT 1 FROM requests WHERE user_id = ? AND signal_id = ?').pluck();
  const latestRequest = db.prepare(`
    SELECT accepted_at AS acceptedAt, signals_today AS signalsToday
    FROM requests WHERE user_id = ? ORDER BY request_id DESC LIMIT 1`);
  const sources = db.prepare(
    'SELECT user_id AS userId, platform, instance_id AS instanceId, account_name AS accountName FROM sources',
  );
  const insertRequest = db.prepare(`
    INSERT INTO requests VALUES (@userId, @requestId, @signalId, @acceptedAt, @ts, @expiresAt,
      @platform, @type, @cmd, @instanceId, @payload, @idempotencyKey, @signalsToday)`);
  // A record past its time leaves the key free.
  const insertIdempotency = db.prepare('REPLACE INTO idempotency VALUES (?, ?, ?, ?, ?, ?)');
  const insertExecution = db.prepare(`
    INSERT INTO executions VALUES (@userId, @executionId, @platform, @instanceId, @accountName,
      @status, @reasonCode, @orderRef, @side, @executionType, @instrument, @quantity, @limitPrice,
      @filledQuantity, @remainingQuantity, @createdAt, @updatedAt)`);
  const insertSetting = db.prepare('INSERT INTO settings VALUES (?, ?)');
  const insertUser = db.prepare('INSERT INTO users VALUES (?, ?, 0)');
  const insertKey = db.prepare('INSERT INTO api_keys VALUES (?, ?, ?, ?, NULL, NULL)');
  const insertSource = db.prepare('INSERT INTO sources VALUES (?, ?, ?, ?, ?)');

  return {
    findCaller: (hash) => caller.get(hash),
    findIdempotency: (userId, key) => idempotency.get(userId, key),
    isSignalIdTaken: (userId, id) => signalId.get(userId, id) !== undefined,
    latestRequest: (userId) => latestRequest.get(userId),
    sources: () => sources.all(),

    /** Returns after the flush; throws when the disk refuses. */
    accept: db.transaction(({ request, executions, fingerprint, answer, idempotencyUntil }) => {
      const { userId, requestId, idempotencyKey } = request;
      insertRequest.run(request);
      insertIdempotency.run(
        userId,
        idempotencyKey,
        fingerprint,
        requestId,
        answer,
        idempotencyUntil,
      );
      for (const execution of executions) insertExecution.run(execution);
    }).immediate,

    /** The users, keys and terminals that the bench gives to every side. */
    fill: db.transaction((population) => {
      insertSetting.run('public_api', 1);
      for (const { userId, plan } of population.users) insertUser.run(userId, plan);
      for (const { hash, id, userId, scopes } of population.keys) {
        insertKey.run(hash, id, userId, scopes.join(' '));
      }
      for (const { userId, platform, instanceId, accountName } of population.sources) {
        insertSource.run(userId, platform, instanceId, accountName, Date.now());
      }
    }),

    close: () => db.close(),
  };
}
