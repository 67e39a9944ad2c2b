/**
 * The operator of a recording: one command after another, each carried out by the gateway before the next
 * begins, with the value that it gives to its subject.
 */
import { rmSync } from 'node:fs';
import { signalboxIn } from '../../support/in-process.js';
import type { Chance } from '../chance.js';
import type { Conditions } from '../crash/refusals.js';
import { closedPlan, openPlan } from '../crash/tenant-state.js';
import type { Verdict } from '../verdict.js';
import type { ChangeFact, SubjectKind } from './facts.js';

export type Change = Omit<ChangeFact, 'at'> & { readonly command: number };

interface Tenant {
  readonly email: string;
  plan: string | undefined;
  isFrozen: boolean;
  /** id → whether it is valid. */
  readonly keys: Map<number, boolean>;
}

const actions = {
  plan: 20,
  freeze: 15,
  addKey: 25,
  revokeKey: 15,
  delete: 5,
  halt: 10,
  close: 10,
  backup: 8,
};

export class Commands {
  readonly changes: Change[] = [];
  /** Commands so far. */
  count = 0;
  readonly #tenants: Tenant[];
  #backups = 0;

  constructor(
    readonly dataDir: string,
    readonly chance: Chance,
    readonly verdict: Verdict,
    readonly conditions: Conditions,
    tenants: readonly string[],
  ) {
    this.#tenants = tenants.map((email) => {
      return { email, plan: undefined, isFrozen: false, keys: new Map<number, boolean>() };
    });
  }

  async addUser(email: string, plan: string): Promise<void> {
    const args = ['user', 'add', email, '--plan', plan, '--password-stdin'];
    await this.#run(args, [['user', email, `${plan} false`]], 'correct horse\n');
  }

  async act(): Promise<void> {
    const tenant = this.chance.pick(this.#tenants);
    const { email } = tenant;
    if (tenant.plan === undefined) {
      await this.addUser(email, openPlan);
      Object.assign(tenant, { plan: openPlan, isFrozen: false });
      return;
    }
    const action = this.chance.weigh(actions);
    if (action === 'plan') {
      tenant.plan = tenant.plan === openPlan ? closedPlan : openPlan;
      await this.#set(tenant, ['--plan', tenant.plan]);
    } else if (action === 'freeze') {
      tenant.isFrozen = !tenant.isFrozen;
      await this.#set(tenant, ['--frozen', `${tenant.isFrozen}`]);
    } else if (action === 'addKey') await this.#addKey(tenant);
    else if (action === 'revokeKey') await this.#revokeKey(tenant);
    else if (action === 'delete') await this.#delete(tenant);
    else if (action === 'halt') await this.#halt();
    else if (action === 'close') await this.#close();
    else await this.#backup();
  }

  #set({ email, plan, isFrozen }: Tenant, flags: readonly string[]): Promise<string> {
    return this.#run(['user', 'set', email, ...flags], [['user', email, `${plan} ${isFrozen}`]]);
  }

  async #addKey({ email, plan, keys }: Tenant): Promise<void> {
    if (plan === closedPlan) return;
    // The id is known when the command has ended.
    const args = ['key', 'add', email, '--name', 'a key', '--scopes', 'events:read', '--json'];
    const { id } = JSON.parse(await this.#run(args, [])) as { id: number };
    keys.set(id, true);
    this.#note('key', `${id}`, 'valid');
  }

  async #revokeKey({ keys }: Tenant): Promise<void> {
    const [id] = [...keys].find(([, isValid]) => isValid) ?? [];
    if (id === undefined) return;
    keys.set(id, false);
    await this.#run(['key', 'revoke', `${id}`], [['key', `${id}`, 'revoked']]);
  }

  async #delete(tenant: Tenant): Promise<void> {
    const { email, keys } = tenant;
    tenant.plan = undefined;
    const gone = [...keys.keys()].map((id): [SubjectKind, string, string] => [
      'key',
      `${id}`,
      'gone',
    ]);
    keys.clear();
    await this.#run(['user', 'delete', email], [['user', email, 'gone'], ...gone]);
  }

  /** Halts trading for a moment, in which the gateway refuses the bots' signals. */
  async #halt(): Promise<void> {
    const stop = this.conditions.stops.begin('halt', '');
    await this.#run(['halt'], [['halt', '', 'true']]);
    stop.inForceAt = Date.now();
    stop.endingAt = Date.now();
    await this.#run(['resume'], [['halt', '', 'false']]);
    stop.endedAt = Date.now();
  }

  async #close(): Promise<void> {
    this.conditions.mayBeClosed = true;
    await this.#run(['api', 'disable'], [['public api', '', 'false']]);
    await this.#run(['api', 'enable'], [['public api', '', 'true']]);
    this.conditions.mayBeClosed = false;
  }

  /** The backup is outside the recorded directory; only its staged copy is made and removed inside. */
  async #backup(): Promise<void> {
    const target = `${this.dataDir}.backup-${++this.#backups}`;
    await this.#run(['backup', target], []);
    rmSync(target, { recursive: true });
  }

  /** @returns what it printed. */
  async #run(
    args: readonly string[],
    changes: readonly (readonly [SubjectKind, string, string])[],
    input = '',
  ): Promise<string> {
    const { code, stdout, stderr } = await signalboxIn(this.dataDir, args, input);
    this.verdict.hold('a command that is left alone succeeds', code === 0, () => ({
      args,
      stderr,
    }));
    this.count++;
    for (const change of changes) this.#note(...change);
    return stdout;
  }

  #note(subject: SubjectKind, name: string, value: string): void {
    this.changes.push({ subject, name, value, command: this.count - 1 });
  }
}
