/**
 * Random lives of two users who trade while an operator adds, freezes, moves and deletes them, and keys and sessions
 * come and go, on a disk that hangs, fails and refuses, across kills. At each moment only what is allowed is open:
 * streams, waits and terminals; and the records in memory are those on disk. A move takes along every signal that was
 * accepted, no two keys have the same id, a fresh start knows the same keys, sessions and terminals, and nothing stays
 * of a deleted user.
 */
import assert from 'node:assert/strict';
import { setTimeout as rest } from 'node:timers/promises';
import t from 'tap';
import { operations } from '../../src/admin/operations.js';
import type { Operation, OperationContext, Rows } from '../../src/admin/operation.js';
import { authenticateApiKey, findActiveKey } from '../../src/auth/api-key.js';
import { createKeyUses } from '../../src/auth/api-key-uses.js';
import { isMoving } from '../../src/auth/moving.js';
import { authenticateSession, readSession } from '../../src/auth/session-token.js';
import { createUserTokens } from '../../src/auth/user-token.js';
import { createEndpoints, type EndpointsDeps } from '../../src/endpoints/all.js';
import type { WriterCallbacks } from '../../src/events/event-writer.js';
import { createEntry } from '../../src/http/entry.js';
import type { Exchange } from '../../src/http/exchange.js';
import { createGate } from '../../src/http/gate.js';
import { hourMs } from '../../src/lib/durations.js';
import { createIdSource } from '../../src/lib/ids.js';
import { reportableStatuses } from '../../src/model/execution.js';
import { type Scope, scopes } from '../../src/model/scopes.js';
import { Connection } from '../../src/plugins/connection.js';
import { createSweep } from '../../src/retention/sweep.js';
import { routes } from '../../src/routes.js';
import { recordOf } from '../../src/signals/stored-execution.js';
import { heldCollections } from '../../src/store/held-collections.js';
import { collections, type Collection, type KeyOf } from '../../src/store/key-layout.js';
import { StoreFailure } from '../../src/store/store.js';
import type { UserFileHead, UserRow } from '../../src/transfer/user-file.js';
import { createMemoryStore, type MemoryStore } from '../support/memory-store.js';
import { actsOf, diskWeights, FailingDisk, plain, playStories } from '../support/random-acts.js';
import { ScriptedPlugin } from '../support/scripted-plugin.js';
import { shippedSettings } from '../support/shipped-settings.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { SimulatedGateway, turns } from '../support/simulated-gateway.js';

const ann = 'ann@example.com';
const bob = 'bob@example.com';
const often = 1_000_000;
const limits = {
  staleProcessingMs: 5_000,
  loginAttemptsPerMinute: often,
  userRequestsPerMinute: often,
  unauthenticatedAttemptsPerMinute: often,
};
const source = 'platform=terminal_a&instanceId=desk-1&accountName=Sim101';
/** Rows that a move sends or takes between two acts. */
const rowsPerAct = 5;

/** The log replaces a frame whose write has failed: such a commit is kept only if the process ends. */
const { 'the commit fails and is kept': _, ...failures } = diskWeights;
const weights = {
  add: 3,
  delete: 1,
  freeze: 2,
  unfreeze: 4,
  'change the plan': 2,
  'log in': 8,
  'make a key': 7,
  'make a key as the operator': 4,
  'revoke a key': 3,
  'revoke a key as the operator': 2,
  'revoke the sessions': 1,
  'close the API': 1,
  'open the API': 6,
  move: 8,
  import: 3,
  'delete what was moved, and import it': 6,
  discard: 1,
  'rows pass': 20,
  'rows are cut off': 1,
  submit: 12,
  wait: 5,
  stream: 6,
  connect: 8,
  drop: 2,
  report: 6,
  sweep: 4,
  turn: 8,
  turns: 6,
  ...failures,
  'half a second passes': 4,
  'four seconds pass': 2,
  'kill in a commit that is lost': 1,
  'kill in a commit that is kept': 1,
};

type Act = keyof typeof weights;

const acts = actsOf(weights, 100_000);

/** What is open for an API key until its response ends. */
interface Open {
  readonly userId: string;
  readonly keyId: number;
  readonly scope: Scope;
}

interface Terminal {
  readonly userId: string;
  readonly hash: string;
  readonly plugin: ScriptedPlugin;
}

interface MoveFile {
  readonly head: UserFileHead;
  readonly rows: readonly UserRow[];
}

type Next = Awaited<ReturnType<Rows['next']>>;
type Answer = (status: number, body: string) => void;

/** A process on the store: after its death nothing that it began goes on. */
class Process {
  readonly gateway: SimulatedGateway;
  readonly context: OperationContext;
  readonly enter: ReturnType<typeof createEntry>;
  readonly open = new Set<Open>();
  readonly terminals: Terminal[] = [];
  /** Moves that wait for their next rows. */
  readonly rows: { readonly pass: () => void; readonly cut: () => void }[] = [];
  readonly #sweep: ReturnType<typeof createSweep>;
  #isSweeping = false;
  #isDead = false;

  constructor(
    memory: MemoryStore,
    readonly clock: SimulatedClock,
    onError: (error: unknown) => void,
  ) {
    this.gateway = new SimulatedGateway({ clock, limits, store: this.#mortal(memory) });
    const { core, store, trail } = this.gateway;
    const shared = { store, clock, trail, limits: this.gateway.limits };
    const secret = 'a secret of the user tokens';
    const userTokens = createUserTokens({ secret, clock, lifetimeMs: hourMs });
    const keyUses = createKeyUses(store, clock);
    const gate = createGate({ ...shared, rights: core.rights, userTokens, keyUses });
    const hashPool = {
      verify: (is: string, told: string) => this.#living(turns(1).then(() => is === told)),
    };
    const others = { hashPool, documents: {}, acceptLatency: { observe: () => undefined } };
    const parts = { ...shippedSettings, ...shared, ...others, core, gate, userTokens, keyUses };
    this.enter = createEntry(gate, createEndpoints(parts as unknown as EndpointsDeps));
    this.context = {
      ...{ store, clock, trail, effects: core, ids: createIdSource(clock) },
      ...{ importing: new Set(), ending: new Set() },
      settings: { ...shippedSettings, limits: this.gateway.limits, dataDir: '' },
    };
    this.#sweep = createSweep({ ...shared, retentionClock: core.retentionClock, onError });
  }

  #living<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      promise.then(
        (value) => !this.#isDead && resolve(value),
        (error: unknown) => !this.#isDead && reject(error as Error),
      );
    });
  }

  #mortal(memory: MemoryStore): MemoryStore {
    const ifAlive = <T>(write: () => Promise<T>): Promise<T> =>
      this.#isDead ? new Promise(() => undefined) : this.#living(write());
    return {
      ...memory,
      write: (fill) => ifAlive(() => memory.write(fill)),
      transact: (work, options) => ifAlive(() => memory.transact(work, options)),
      sweep: (order) => ifAlive(() => memory.sweep(order)),
    };
  }

  /** @returns whether a cycle of the sweep has ended. */
  async sweep(): Promise<boolean> {
    if (this.#isSweeping || this.gateway.health.refuses()) return false;
    this.#isSweeping = true;
    return this.#sweep.slice().finally(() => (this.#isSweeping = false));
  }

  async operate(name: string, request: object, rows = {} as Rows): Promise<Record<string, any>> {
    const operation = (operations as unknown as Record<string, Operation<object>>)[name];
    assert(operation !== undefined);
    return operation.run(this.context, request, rows);
  }

  die(): void {
    this.#isDead = true;
    this.gateway.stop();
  }
}

class Life {
  readonly #memory = createMemoryStore({ monotonic: () => this.#process.clock.monotonic() });
  readonly #disk = new FailingDisk(() => this.#memory);
  readonly #faults: unknown[] = [];
  #names = 0;
  /** Requests and commands without an outcome. */
  #asked = 0;
  #process = this.#start(new SimulatedClock());
  readonly #secrets: string[] = [];
  readonly #secretsById = new Map<number, string>();
  readonly #sessions: string[] = [];
  readonly #tokens: string[] = [];
  readonly #passwords = new Map<string, string>();
  /** RequestIds that were answered with 202. */
  readonly #accepted: string[] = [];
  readonly #files: MoveFile[] = [];
  /** Keys of records that memory may hold, also of those that are gone. */
  readonly #held = new Map<string, readonly [Collection, KeyOf<Collection>]>();

  readonly #act: Readonly<Record<Act, (email: string, pick: number) => unknown>> = {
    add: (email) => {
      const passwordHash = `password ${++this.#names}`;
      this.#passwords.set(email, passwordHash);
      this.#operate('user.add', { email, plan: 'business', passwordHash, confirmed: true });
    },
    delete: (email) => this.#operate('user.delete', { email }),
    freeze: (email) => this.#operate('user.set', { email, frozen: true }),
    unfreeze: (email) => this.#operate('user.set', { email, frozen: false }),
    'change the plan': (email, pick) => {
      const plan = pick % 4 === 0 ? 'basic' : 'business';
      this.#operate('user.set', { email, plan });
    },
    'log in': (email) => {
      const body = { email, password: this.#passwords.get(email) ?? '' };
      this.#ask('login', { body }, (_status, text) => {
        const { token, sessionToken } = JSON.parse(text) as Record<string, string>;
        this.#tokens.push(token as string);
        this.#sessions.push(sessionToken as string);
      });
    },
    'make a key': (_email, pick) => {
      const body = { name: 'key', scopes };
      this.#ask('create-key', { bearer: recent(this.#tokens, pick), body }, (_status, text) => {
        const { id, key } = JSON.parse(text) as { id: number; key: string };
        this.#keep(key, id);
      });
    },
    'make a key as the operator': (email) =>
      this.#operate('key.add', { email, name: 'key', scopes }, ({ secret, key }) =>
        this.#keep(secret as string, (key as { id: number }).id),
      ),
    'revoke a key': (_email, pick) =>
      this.#ask('revoke-key', {
        bearer: recent(this.#tokens, pick),
        parameter: String(recent([...this.#secretsById.keys()], pick)),
      }),
    'revoke a key as the operator': (_email, pick) =>
      this.#operate('key.revoke', { id: recent([...this.#secretsById.keys()], pick) }),
    'revoke the sessions': (email) => this.#operate('session.revoke', { email }),
    'close the API': () => this.#operate('api.set', { enabled: false }),
    'open the API': () => this.#operate('api.set', { enabled: true }),
    move: (email) => this.#move(email),
    import: (_email, pick) => this.#import(recent(this.#files, pick)),
    'delete what was moved, and import it': () => {
      const file = this.#files.at(-1);
      if (file === undefined) return;
      this.#operate('user.delete', { email: file.head.email }, async () => {
        for (let i = 0; i < 20 && !(await this.#process.sweep()); i++);
        this.#import(file);
      });
    },
    discard: (_email, pick) => {
      const { head } = recent(this.#files, pick) ?? {};
      if (head !== undefined) this.#operate('user.discard', { ...head });
    },
    'rows pass': () => {
      for (const { pass } of this.#process.rows.splice(0)) pass();
    },
    'rows are cut off': () => this.#process.rows.shift()?.cut(),
    submit: (_email, pick) => {
      const name = `signal ${++this.#names}`;
      const order = { instrument: 'ES', side: 'buy', executionType: 'market', quantity: 1 };
      const envelope = { v: 1, signalId: name, ts: this.#process.clock.now(), ttlMs: 200_000 };
      const target = { platform: 'terminal_a', type: 'order', cmd: 'submit', payload: order };
      const body = { ...envelope, ...target };
      this.#ask(
        'submit-signal',
        { bearer: recent(this.#secrets, pick), body, key: name },
        (_status, text) =>
          this.#accepted.push((JSON.parse(text) as { requestId: string }).requestId),
      );
    },
    wait: (_email, pick) =>
      this.#ask('read-signal', {
        bearer: recent(this.#secrets, pick),
        parameter: recent(this.#accepted, pick),
        query: 'waitMs=30000',
      }),
    stream: (_email, pick) =>
      this.#ask('stream-events', { bearer: recent(this.#secrets, pick), query: source }),
    connect: (_email, pick) => this.#connect(recent(this.#sessions, pick)),
    drop: () => this.#openTerminals().at(-1)?.plugin.drop(),
    report: (_email, pick) => {
      const { plugin } = this.#openTerminals().at(-1) ?? {};
      const executionId = recent(plugin?.of('submit') ?? [], pick)?.['executionId'] as unknown;
      const seq = ++this.#names;
      const status = recent(reportableStatuses, pick >> 3);
      if (executionId !== undefined) plugin?.say({ type: 'report', seq, executionId, status });
    },
    sweep: () => this.#follow(this.#process.sweep()),
    turn: () => turns(1),
    turns: () => turns(),
    ...this.#disk.acts,
    'half a second passes': () => this.#pass(500),
    'four seconds pass': () => this.#pass(4_000),
    'kill in a commit that is lost': () => this.#kill('lost'),
    'kill in a commit that is kept': () => this.#kill('kept'),
  };

  async begin(): Promise<void> {
    for (const act of ['add', 'log in', 'make a key', 'connect'] as const) await this.take(act, 0);
  }

  async take(act: Act, pick: number): Promise<void> {
    await this.#act[act](pick % 4 < 3 ? ann : bob, pick >> 2);
    await turns(act === 'log in' ? 4 : 1);
    this.look();
  }

  #start(clock: SimulatedClock): Process {
    this.#asked = 0;
    return new Process(this.#memory, clock, (error) => this.#faults.push(error));
  }

  async #pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 500) {
      await this.#process.gateway.pass(500);
      for (const { plugin } of this.#openTerminals()) plugin.say({ type: 'heartbeat' });
    }
  }

  async #kill(fate: 'lost' | 'kept'): Promise<void> {
    this.#process.die();
    await this.#disk.die(fate);
    this.#process = this.#start(new SimulatedClock(this.#process.clock.now()));
    await turns();
  }

  /** A change may fail as the disk does. @param then runs once it is made. */
  #follow<T>(work: Promise<T>, then: (result: T) => unknown = () => undefined): void {
    const process = this.#process;
    this.#asked++;
    work
      .then(then)
      .catch((error: unknown) => {
        if (!(error instanceof StoreFailure)) this.#faults.push(error);
      })
      .finally(() => process === this.#process && this.#asked--);
  }

  #operate(
    name: string,
    request: object,
    then: (result: Record<string, unknown>) => unknown = () => undefined,
    rows?: Rows,
  ): void {
    this.#follow(this.#process.operate(name, request, rows), (result) =>
      result['refused'] === undefined ? then(result) : undefined,
    );
  }

  /** @param then runs when the answer tells success, before the next turn. */
  #ask(
    operation: string,
    { bearer = '', body = {} as object, parameter = '', query = '', key = '' },
    then: Answer = () => undefined,
  ): void {
    const route = routes.find((each) => each.operation === operation);
    assert(route !== undefined);
    const process = this.#process;
    const open = { userId: '', keyId: 0, scope: route.scope ?? 'signals:read' };
    let whenOver = (): void => undefined;
    const end = (status: number, text: string): void => {
      if (!process.open.delete(open)) return;
      whenOver();
      if (status < 300) then(status, text);
    };
    const exchange = {
      ...{ partition: '', address: new Uint8Array(4), isInFirstTurn: true },
      ...{ userId: '', keyId: 0, isOver: false },
      head: {
        bearer,
        isJson: true,
        idempotencyKey: key,
        idempotencyKeyCount: 1,
        lastEventId: '',
        lastEventIdCount: 0,
      },
      request: { parameter, query, startedAt: process.clock.monotonic(), traceId: '' },
      trailOf: (keyId: number) => ({ keyId }),
      onOver: (leave: () => void) => (whenOver = leave),
      run: (work: () => unknown) => work(),
      readBody: (_max: number, take: (bytes: Uint8Array) => unknown) =>
        take(Buffer.from(JSON.stringify(body))),
      reply: end,
      fail: (code: string) => end(400, code),
      openStream: (_preamble: string, { onClosed }: WriterCallbacks) => ({
        isBlocked: () => false,
        isClosed: () => !process.open.has(open),
        write: () => undefined,
        keepAlive: () => undefined,
        end: () => process.open.delete(open) && onClosed('ended'),
        abort: () => process.open.delete(open) && onClosed('aborted'),
      }),
    };
    process.open.add(open);
    this.#follow(Promise.resolve(process.enter(exchange as unknown as Exchange, route)));
    open.userId = exchange.userId;
    open.keyId = exchange.keyId;
  }

  #keep(secret: string, id: number): void {
    assert(!this.#secretsById.has(id), `two keys have the id ${id}`);
    this.#secretsById.set(id, secret);
    this.#secrets.push(secret);
  }

  #openTerminals(): Terminal[] {
    return this.#process.terminals.filter(({ plugin }) => plugin.closed === undefined);
  }

  #connect(token = ''): void {
    const { clock, gateway, terminals } = this.#process;
    const found = authenticateSession(gateway.store, token, clock.now());
    if (found === undefined || isMoving(found.user)) return;
    const { hash, session } = found;
    const { userId, expiresAt } = session;
    const plugin = new ScriptedPlugin();
    const trail = { traceId: '', clientAddress: '' };
    const { connections } = gateway.core.terminals;
    const authenticated = { userId, hash, expiresAt, ...trail };
    plugin.connection = new Connection(`con_${++this.#names}`, authenticated, plugin, connections);
    connections.handlers.onOpen(plugin.connection);
    plugin.hello();
    terminals.push({ userId, hash, plugin });
  }

  /** Lets some rows pass at once, and the next ones with a later act. */
  #rowsOf<T>(each: () => T, cut: T): () => Promise<T> {
    const { rows } = this.#process;
    let count = 0;
    return () =>
      count++ % rowsPerAct > 0
        ? Promise.resolve(each())
        : new Promise((resolve) => {
            rows.push({ pass: () => resolve(each()), cut: () => resolve(cut) });
          });
  }

  #move(email: string): void {
    const lines: (UserFileHead | UserRow)[] = [];
    const mayGoOn = this.#rowsOf(() => true, false);
    const send = (line: unknown): Promise<boolean> => {
      lines.push(plain(line) as UserRow);
      return mayGoOn();
    };
    const rows = { send } as Rows;
    this.#operate(
      'user.export',
      { email, freeze: true },
      () => {
        const [head, ...others] = lines as [UserFileHead, ...UserRow[]];
        const moved = new Set(others.map(({ key }) => String(key)));
        for (const [userId, requestId] of this.#memory.keys('requests', {
          prefix: [head.userId],
        })) {
          const isTaken = moved.has(String([userId, requestId]));
          assert(isTaken || !this.#accepted.includes(requestId), `${requestId} is left behind`);
        }
        this.#files.push({ head, rows: others });
      },
      rows,
    );
  }

  #import(file: MoveFile | undefined): void {
    if (file === undefined) return;
    const { userId, email, plan } = file.head;
    const left = [...file.rows];
    const next = this.#rowsOf<Next>(() => {
      const row = left.shift();
      return row === undefined ? 'end' : { row: plain(row) };
    }, 'lost');
    const keys = file.rows.filter((row) => row.collection === 'apiKeys');
    const keyIds = keys.map(({ record }) => record.id);
    const request = { userId, email, plan, keyIds };
    this.#operate(
      'user.import',
      request,
      () => {
        // The user may be deleted again by now.
        if (this.#memory.get('users', userId) === undefined) return;
        for (const row of file.rows) {
          if (row.collection === 'users') this.#passwords.set(email, row.record.passwordHash);
          if (row.collection === 'requests')
            assert(this.#memory.get('requests', row.key), 'a request');
          if (row.collection !== 'openExecutions' && row.collection !== 'finalExecutions') continue;
          assert(recordOf(this.#memory, ...row.key), 'an execution');
        }
      },
      { next } as Rows,
    );
  }

  look(): void {
    if (this.#faults.length > 0) throw this.#faults[0];
    const { gateway, clock, open, terminals } = this.#process;
    const { store, core } = gateway;
    for (const collection of heldCollections.keys()) {
      for (const key of this.#memory.keys(collection)) {
        this.#held.set(`${collection} ${String(key)}`, [collection, key]);
      }
    }
    for (const [name, [collection, key]] of this.#held) {
      assert.deepEqual(store.get(collection, key), this.#memory.get(collection, key), name);
    }
    const ids = this.#memory.range('apiKeys').map(({ record }) => record.id);
    assert.equal(new Set(ids).size, ids.length, 'two keys have the same id');
    for (const { userId, keyId, scope } of open) {
      if (keyId === 0) continue;
      const owner = findActiveKey(this.#memory, userId, keyId, clock.now());
      assert(owner !== undefined, `${scope} is open for a key that is not active`);
      assert.equal(core.rights.refusalNow(owner, scope), undefined, scope);
    }
    for (const { plugin, hash } of terminals) {
      if (plugin.closed !== undefined) continue;
      const valid = readSession(this.#memory, hash, clock.now());
      assert(valid !== undefined && !isMoving(valid.user), 'a terminal without the right to it');
    }
  }

  async recover(): Promise<void> {
    this.#disk.recover();
    await this.#pass(4_000);
    for (let i = 0; i < 100 && this.#asked > 0; i++) {
      this.#act['rows pass']('', 0);
      // An export ends its turns with real timers.
      await rest(1);
      await turns();
    }
    // The longest wait is 30 seconds.
    await this.#pass(31_000);
    this.look();
    assert.equal(this.#asked, 0, 'somebody waits for ever');
  }

  /** A fresh start knows the same. */
  async checkRestart(): Promise<void> {
    for (const { plugin } of this.#openTerminals()) plugin.drop();
    await turns();
    const before = this.#state();
    await this.#kill('lost');
    assert.deepEqual(this.#state(), before);
  }

  #state() {
    const { gateway, clock } = this.#process;
    const { store, registry } = gateway;
    const now = clock.now();
    return plain({
      keys: this.#secrets.map((secret) => authenticateApiKey(store, secret, now)?.key),
      sessions: this.#sessions.map((token) => authenticateSession(store, token, now)?.user),
      terminals: [...registry.all()]
        .filter(({ userId }) => store.get('users', userId) !== undefined)
        .map(
          ({ userId, numbers, capabilities }) =>
            `${userId} ${numbers.handled} ${capabilities.join()}`,
        )
        .sort(),
    });
  }

  /** Deletes all users; after the grace of an hour a sweep removes the rest. */
  async checkDeletion(): Promise<void> {
    for (const email of [ann, bob]) await this.#process.operate('user.delete', { email });
    for (const { head } of this.#files) await this.#process.operate('user.discard', { ...head });
    await turns();
    const { gateway, open } = this.#process;
    assert.deepEqual([gateway.book.size, [...gateway.registry.all()].length, open.size], [0, 0, 0]);
    this.#process.die();
    this.#process = this.#start(new SimulatedClock(this.#process.clock.now() + 2 * hourMs));
    for (let cycles = 0; cycles < 2;) if (await this.#process.sweep()) cycles++;
    this.#process.die();
    const left = collections.filter((each) => this.#memory.keys(each).length > 0);
    // Sessions are invalid without their user, and removed when they expire.
    const expected = new Set(['meta', 'sessions', 'switches']);
    assert.deepEqual(
      left.filter((each) => !expected.has(each)),
      [],
    );
    const marks = this.#memory.keys('meta').filter((key) => key.includes(':'));
    assert.deepEqual(
      marks.filter((key) => key !== 'sweep:idempotency'),
      [],
    );
  }
}

/** @returns one of the newest. */
function recent<T>(list: readonly T[], pick: number): T | undefined {
  return list.at(-1 - (pick % Math.max(1, Math.min(list.length, 4))));
}

t.test('what is open is allowed, and memory holds what the disk holds', () =>
  playStories(acts, { minLength: 10, maxLength: 120 }, 100, async (taken) => {
    const life = new Life();
    await life.begin();
    for (const { act, pick } of taken) await life.take(act, pick);
    for (let i = 0; i < 2; i++) {
      await life.recover();
      await life.checkRestart();
    }
    await life.checkDeletion();
  }),
);
