/**
 * Random changes of users, keys and stops on a disk that hangs, fails, refuses and recovers, across kills. A
 * change that was confirmed is in the store, one that was refused is not, and one whose outcome is unknown
 * may be; a later change covers an earlier one. No caller waits for ever, and nothing of a deleted user stays
 * in memory.
 */
import assert from 'node:assert/strict';
import t from 'tap';
import { operations } from '../../src/admin/operations.js';
import type { Operation, OperationContext, Rows } from '../../src/admin/operation.js';
import { findUser } from '../../src/auth/accounts.js';
import { authenticateApiKey } from '../../src/auth/api-key.js';
import { readHalt } from '../../src/auth/brakes.js';
import { authenticateSession } from '../../src/auth/session-token.js';
import { createCreateKey } from '../../src/endpoints/create-key.js';
import { createLogin } from '../../src/endpoints/login.js';
import { createRevokeKey } from '../../src/endpoints/revoke-key.js';
import type { Exchange } from '../../src/http/exchange.js';
import type { Gate } from '../../src/http/gate.js';
import { createIdSource } from '../../src/lib/ids.js';
import type { User } from '../../src/model/records.js';
import { importKeyOf } from '../../src/store/key-layout.js';
import { StoreFailure, WriteRefused } from '../../src/store/store.js';
import { importUser } from '../../src/transfer/import-user.js';
import type { UserRow } from '../../src/transfer/user-file.js';
import { actsOf, diskWeights, FailingDisk, playStories } from '../support/random-acts.js';
import { SimulatedGateway, turns, user as someUser } from '../support/simulated-gateway.js';
import { shippedSettings } from '../support/shipped-settings.js';

const ann: User = { ...someUser, email: 'ann@example.com', passwordHash: 'p0' };
const bob = 'bob@example.com';

const weights = {
  'make a key': 5,
  'make a key as the operator': 2,
  'revoke a key': 5,
  'revoke a key as the operator': 2,
  'log in': 5,
  'change the password': 3,
  'revoke the sessions': 1,
  freeze: 3,
  unfreeze: 4,
  halt: 3,
  resume: 4,
  'delete ann': 2,
  'import ann': 4,
  'add bob': 2,
  'delete bob': 2,
  submit: 4,
  connect: 2,
  drop: 1,
  turn: 8,
  turns: 6,
  ...diskWeights,
  'half a second passes': 3,
  'four seconds pass': 2,
  'kill in a commit that is lost': 1,
  'kill in a commit that is kept': 1,
};

type Act = keyof typeof weights;

const acts = actsOf(weights, 1_000);

/** An attempt under way may be on disk by now; it becomes unknown when its process dies. */
interface Attempt {
  fate: 'under way' | 'unknown' | 'done' | 'refused';
}

/** A value, and the changes of it in the order in which they were asked for. */
class Field<Value> {
  readonly #changes: { readonly value: Value; readonly attempt: Attempt }[] = [];

  constructor(readonly initial: Value) {}

  change(value: Value, attempt: Attempt): void {
    this.#changes.push({ value, attempt });
  }

  /** Values that the store may show, the newest first. */
  get possible(): Value[] {
    const values: Value[] = [];
    for (const { value, attempt } of this.#changes.toReversed()) {
      if (attempt.fate !== 'refused') values.push(value);
      if (attempt.fate === 'done') return values;
    }
    return [...values, this.initial];
  }

  get(): Value | undefined {
    const [only, ...others] = new Set(this.possible);
    return others.length === 0 ? only : undefined;
  }
}

interface MadeKey {
  readonly id: number;
  readonly secret: string;
  readonly isRevoked: Field<boolean>;
  /** Deletions of its user until it was made. */
  readonly deletions: number;
}

type Answer = { readonly status: number; readonly body: string } | { readonly code: string };

const codesOf: Readonly<Record<string, Attempt['fate']>> = {
  change_not_confirmed: 'unknown',
  storage_unavailable: 'refused',
  active_key_limit_reached: 'refused',
  invalid_token: 'refused',
  invalid_credentials: 'refused',
};

class Story {
  gateway = new SimulatedGateway();
  readonly #disk = new FailingDisk(() => this.gateway.memory);
  readonly #frozen = new Field(false);
  readonly #halted = new Field(false);
  readonly #password = new Field('p0');
  readonly #hasAnn = new Field(true);
  readonly #hasBob = new Field(false);
  readonly #names = new Map<string, Attempt>();
  readonly #keys = new Map<number, MadeKey>();
  readonly #logins: { readonly token: string; readonly place: number; readonly end: number }[] = [];
  /** Changes that end sessions, each with its place among the acts. */
  readonly #ends: { readonly place: number; readonly attempt: Attempt }[] = [];
  readonly #deletions: Attempt[] = [];
  readonly #open = new Set<Attempt>();
  #importing = new Set<string>();
  #ending: OperationContext['ending'] = new Set();
  readonly #faults: unknown[] = [];
  #place = 0;
  #signals = 0;
  #plugin: Awaited<ReturnType<SimulatedGateway['plugin']>> | undefined;

  readonly act: Readonly<Record<Act, (pick: number) => unknown>> = {
    'make a key': () => this.#makeKey((name) => this.#post('create', { name })),
    'make a key as the operator': () =>
      this.#makeKey((name) =>
        this.#operate('key.add', { email: ann.email, name, scopes: ['signals:read'] }),
      ),
    'revoke a key': (pick) => this.#revokeKey(pick, (id) => this.#post('revoke', {}, `${id}`)),
    'revoke a key as the operator': (pick) =>
      this.#revokeKey(pick, (id) => this.#operate('key.revoke', { id })),
    'log in': () => this.#logIn(),
    'change the password': () => {
      const passwordHash = `p${++this.#place}`;
      const attempt = this.#begin();
      this.#password.change(passwordHash, attempt);
      this.#ends.push({ place: this.#place, attempt });
      void this.#settle(attempt, this.#operate('user.set', { email: ann.email, passwordHash }));
    },
    'revoke the sessions': () => {
      const attempt = this.#begin();
      this.#ends.push({ place: this.#place, attempt });
      void this.#settle(attempt, this.#operate('session.revoke', { email: ann.email }));
    },
    freeze: () => this.#setFrozen(true),
    unfreeze: () => this.#setFrozen(false),
    halt: () => this.#change(this.#halted, true, 'trading.halt', {}),
    resume: () => this.#change(this.#halted, false, 'trading.resume', {}),
    'delete ann': () => {
      const attempt = this.#begin();
      this.#hasAnn.change(false, attempt);
      this.#deletions.push(attempt);
      this.#ends.push({ place: this.#place, attempt });
      void this.#settle(attempt, this.#operate('user.delete', { email: ann.email }));
    },
    'import ann': () => this.#import(),
    'add bob': () => {
      const fields = { email: bob, plan: 'business', passwordHash: '$', confirmed: true };
      this.#change(this.#hasBob, true, 'user.add', fields);
    },
    'delete bob': () => this.#change(this.#hasBob, false, 'user.delete', { email: bob }),
    submit: () => this.#submit(),
    connect: async () => {
      this.act.drop(0);
      this.#plugin = await this.gateway.plugin();
    },
    drop: () => {
      if (this.#plugin?.closed === undefined) this.#plugin?.drop();
      this.#plugin = undefined;
    },
    turn: () => turns(1),
    turns: () => turns(),
    ...this.#disk.acts,
    'half a second passes': () => this.gateway.clock.advance(500),
    'four seconds pass': () => this.#pass(4_000),
    'kill in a commit that is lost': () => this.#kill('lost'),
    'kill in a commit that is kept': () => this.#kill('kept'),
  };

  async begin(): Promise<void> {
    await this.gateway.store.write((batch) => {
      batch.put('users', ann.userId, ann);
      batch.put('emails', ann.email, ann.userId);
    });
  }

  async take(act: Act, pick: number): Promise<void> {
    this.#place++;
    await this.act[act](pick);
    this.#tell();
  }

  /** Looks in the moment of an answer, inside the gateway's call; `#tell` throws the error later. */
  #lookLater(): void {
    try {
      this.look();
    } catch (error) {
      this.#faults.push(error);
    }
  }

  #tell(): void {
    if (this.#faults.length > 0) throw this.#faults[0];
  }

  async #pass(ms: number): Promise<void> {
    await this.gateway.pass(ms, 500);
  }

  async #kill(fate: 'lost' | 'kept'): Promise<void> {
    // No answer of the killed process reaches its caller.
    for (const attempt of this.#open) attempt.fate = 'unknown';
    this.#open.clear();
    this.act.drop(0);
    await this.#disk.die(fate);
    this.#importing = new Set();
    this.#ending = new Set();
    this.gateway = this.gateway.restart();
    await turns();
  }

  #begin(): Attempt {
    const attempt: Attempt = { fate: 'under way' };
    this.#open.add(attempt);
    return attempt;
  }

  /** @returns the result of a change that is done; undefined otherwise, and after a kill. */
  async #settle<T>(attempt: Attempt, work: Promise<T>): Promise<T | undefined> {
    let fate: Attempt['fate'] = 'done';
    let result: T | undefined;
    try {
      result = await work;
      const { code, refused } = result as { code?: string; refused?: string };
      if (refused !== undefined) fate = 'refused';
      else if (code !== undefined) {
        assert(codesOf[code] !== undefined, code);
        fate = codesOf[code];
      }
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      fate = error instanceof WriteRefused ? 'refused' : 'unknown';
    }
    if (!this.#open.delete(attempt)) return undefined;
    attempt.fate = fate;
    this.#lookLater();
    return fate === 'done' ? result : undefined;
  }

  #change<V>(field: Field<V>, value: V, operation: string, request: object): void {
    const attempt = this.#begin();
    field.change(value, attempt);
    void this.#settle(attempt, this.#operate(operation, request));
  }

  #setFrozen(frozen: boolean): void {
    this.#change(this.#frozen, frozen, 'user.set', { email: ann.email, frozen });
  }

  async #operate(name: string, request: object): Promise<object> {
    const { gateway } = this;
    const { store, clock, trail, core } = gateway;
    const operation = (operations as unknown as Record<string, Operation<object>>)[name];
    assert(operation !== undefined);
    const context: OperationContext = {
      ...{ store, clock, trail, effects: core, ids: createIdSource(clock) },
      ...{ importing: this.#importing, ending: this.#ending },
      settings: { ...shippedSettings, dataDir: '' },
    };
    return operation.run(context, request, {} as Rows);
  }

  /** Asks an endpoint as ann. */
  #post(name: 'create' | 'revoke' | 'login', fields: object, parameter = ''): Promise<Answer> {
    const { gateway } = this;
    const { store, clock, trail, core, health } = gateway;
    const gate = {
      admitLogin: () => true,
      userRefusal: (reader: typeof store) =>
        reader.get('users', ann.userId) === undefined ? 'invalid_token' : undefined,
    } as unknown as Gate;
    const limits = gateway.limits;
    const deps = { store, clock, trail, limits, gate, deadlines: core.deadlines, storage: health };
    const onRevoked = (userId: string): Promise<void> => {
      core.userChanged(userId);
      return core.endUnsent(userId);
    };
    const hashPool = { verify: (is: string, told: string) => Promise.resolve(is === told) };
    const userTokens = { issue: () => 'token' };
    const endpoints = {
      create: createCreateKey(deps),
      revoke: createRevokeKey({ ...deps, onRevoked }),
      login: createLogin({ ...deps, hashPool, userTokens } as never),
    };
    const body = { scopes: ['signals:read'], ...fields };
    const text = JSON.stringify(name === 'login' ? fields : body);
    return new Promise((resolve, reject) => {
      const exchange = {
        isOver: false,
        head: { isJson: true },
        request: { parameter, traceId: '' },
        readBody: (_: number, then: (bytes: Uint8Array) => unknown) => then(Buffer.from(text)),
        reply(status: number, body: string) {
          this.isOver = true;
          resolve({ status, body });
        },
        fail(code: string) {
          this.isOver = true;
          resolve({ code });
        },
      };
      const endpoint = endpoints[name] as (exchange: Exchange, user: User) => unknown;
      void Promise.resolve(endpoint(exchange as unknown as Exchange, ann)).catch(reject);
    });
  }

  #makeKey(make: (name: string) => Promise<object>): void {
    const name = `key ${this.#place}`;
    const attempt = this.#begin();
    this.#names.set(name, attempt);
    const deletions = this.#deletions.length;
    void this.#settle(attempt, make(name)).then((made) => {
      if (made === undefined) return;
      const text = (made as { body?: string }).body;
      const { id, secret } =
        text === undefined
          ? {
              id: (made as { key: { id: number } }).key.id,
              secret: (made as { secret: string }).secret,
            }
          : (({ id, key }: { id: number; key: string }) => ({ id, secret: key }))(
              JSON.parse(text) as { id: number; key: string },
            );
      assert(!this.#keys.has(id), `two keys have the id ${id}`);
      this.#keys.set(id, { id, secret, isRevoked: new Field(false), deletions });
      this.#lookLater();
    });
  }

  #revokeKey(pick: number, revoke: (id: number) => Promise<object>): void {
    if (this.#keys.size === 0) return;
    const key = [...this.#keys.values()][pick % this.#keys.size] as MadeKey;
    const attempt = this.#begin();
    key.isRevoked.change(true, attempt);
    const done = revoke(key.id).then((answer) => {
      const { code } = answer as { code?: string };
      return code === 'key_not_found' ? { refused: code } : answer;
    });
    void this.#settle(attempt, done);
  }

  #logIn(): void {
    const [password = ''] = this.#password.possible;
    const attempt = this.#begin();
    const place = this.#place;
    const done = this.#post('login', { email: ann.email, password });
    void this.#settle(attempt, done).then((answer) => {
      if (answer === undefined || !('body' in answer)) return;
      const { sessionToken: token } = JSON.parse(answer.body) as { sessionToken: string };
      this.#logins.push({ token, place, end: this.#place });
      this.#lookLater();
    });
  }

  #import(): void {
    const attempt = this.#begin();
    const passwordHash = `p${this.#place}`;
    this.#hasAnn.change(true, attempt);
    this.#frozen.change(false, attempt);
    this.#password.change(passwordHash, attempt);
    // An import ends sessions, since its user has another generation.
    this.#ends.push({ place: this.#place, attempt });
    const record = { ...ann, passwordHash, sessionGeneration: 1_000 * this.#place };
    const rows: UserRow[] = [
      { collection: 'signalIds', key: [ann.userId, 'moved'], record: 'req_moved' },
      { collection: 'users', key: ann.userId, record },
    ];
    const next: Rows['next'] = () => {
      const row = rows.shift();
      return Promise.resolve(row === undefined ? 'end' : { row });
    };
    void this.#settle(attempt, this.#importRows(next));
  }

  /** Imports as the operation does, but for loading the module. */
  async #importRows(next: Rows['next']): Promise<object> {
    const { store, clock, core } = this.gateway;
    const { userId, email } = ann;
    const deps = { store, clock, effects: core, importing: this.#importing };
    const rows = await importUser(deps, { userId, email, keyIds: [] }, next);
    if (typeof rows === 'string') return { refused: rows };
    await core.endUnsent(userId);
    return { rows };
  }

  #submit(): void {
    const { gateway } = this;
    const known = findUser(gateway.store, ann.email);
    if (known === undefined || gateway.health.refuses()) return;
    const name = `s${++this.#signals}`;
    gateway.accept({ signalId: name, idempotencyKey: name, ttlMs: 60_000 }, () => undefined);
  }

  look(): void {
    const { store, clock } = this.gateway;
    const known = findUser(store, ann.email);
    isOneOf(known !== undefined, this.#hasAnn, 'ann');
    isOneOf(findUser(store, bob) !== undefined, this.#hasBob, 'bob');
    isOneOf(readHalt(store).halted, this.#halted, 'the halt');
    if (known !== undefined) {
      isOneOf(known.frozen, this.#frozen, 'the freeze');
      isOneOf(known.passwordHash, this.#password, 'the password');
    }
    for (const { id, secret, isRevoked, deletions } of this.#keys.values()) {
      const works = authenticateApiKey(store, secret, clock.now()) !== undefined;
      const since = this.#deletions.slice(deletions).filter(({ fate }) => fate !== 'refused');
      if (since.some(({ fate }) => fate === 'done')) assert(!works, `${id} outlives its user`);
      else if (since.length === 0) isOneOf(!works, isRevoked, `the end of the key ${id}`);
    }
    for (const { token, place, end } of this.#logins) {
      const works = authenticateSession(store, token, clock.now()) !== undefined;
      const ends = this.#ends.filter(({ attempt }) => attempt.fate !== 'refused');
      const isOver = ends.some((each) => each.place > end && each.attempt.fate === 'done');
      if (isOver) assert(!works, 'a session outlives its end');
      if (!ends.some((each) => each.place > place)) assert(works, 'a session is lost');
    }
  }

  async recover(): Promise<void> {
    this.#disk.recover();
    await this.#pass(8_000);
  }

  async finish(): Promise<void> {
    this.#tell();
    assert.equal(this.#open.size, 0, 'somebody waits for ever');
    assert.equal(this.#importing.size + this.#ending.size, 0, 'what has ended is under way');
    this.look();
    const { gateway } = this;
    const { store, book, health, writer, deadlines } = gateway;
    assert.deepEqual([health.isHealthy, writer.isHeld, writer.backlog], [true, false, 0]);
    const made = store.range('apiKeys').map(({ record }) => record.name);
    for (const [name, { fate }] of this.#names) {
      const count = made.filter((each) => each === name).length;
      assert(count <= (fate === 'refused' ? 0 : 1), `${count} of ${name}, ${fate}`);
    }
    const isHere = findUser(store, ann.email) !== undefined;
    const isMarked = store.get('meta', importKeyOf(ann.userId)) !== undefined;
    if (isHere) assert(!isMarked, 'an import is done and under way');
    // An import that was cut off does not prevent the next one.
    if (isMarked) {
      this.act['import ann'](0);
      await turns(40);
      assert.equal(this.#hasAnn.get(), true, 'the next import');
    }
    this.act.drop(0);
    await this.#pass(2_000);
    await gateway.pass(200_000, 20_000);
    assert.equal(book.size, 0, 'what is over stays in memory');
    assert.equal(book.openOrders.of(1), 0, 'open orders');
    assert.equal(deadlines.size, 0, 'deadlines that are left behind');
  }
}

function isOneOf<V>(is: V, field: Field<V>, name: string): void {
  const { possible } = field;
  assert(possible.includes(is), `${name} is ${String(is)} and not ${possible.join(' or ')}`);
}

t.test('a change of an account is made once, whatever the disk does', () =>
  playStories(acts, { minLength: 10, maxLength: 60 }, 60, async (all) => {
    const story = new Story();
    await story.begin();
    for (const { act, pick } of all) await story.take(act, pick);
    await story.recover();
    await story.finish();
  }),
);
