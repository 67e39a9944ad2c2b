/**
 * The users during a soak: a fixed number, of whom the oldest is deleted and a new one added again and
 * again by CLI commands. Every row of the store belongs to a user, so its size must level off.
 */
import { createKey, login } from '../../support/api.js';
import type { Chance } from '../chance.js';
import { startCommand } from '../../support/command.js';
import { password } from '../../support/gateway-process.js';
import { SoakUser } from './soak-user.js';

export interface PopulationOptions {
  readonly url: string;
  readonly dataDir: string;
  readonly configFile: string;
  readonly heartbeatMs: number;
  readonly chance: Chance;
}

export const usersAtOnce = 3;

export class Population {
  readonly users: SoakUser[] = [];
  added = 0;
  deleted = 0;

  constructor(readonly options: PopulationOptions) {}

  async fill(): Promise<void> {
    while (this.users.length < usersAtOnce) await this.#addUser();
  }

  /** Adds a user and deletes the oldest. */
  async turnOver(): Promise<void> {
    await this.#addUser();
    await this.#deleteOldest();
  }

  async deleteAll(): Promise<void> {
    while (this.users.length > 0) await this.#deleteOldest();
  }

  async #addUser(): Promise<void> {
    const { url, heartbeatMs, chance } = this.options;
    const name = `soak-${++this.added}`;
    const email = `${name}@example.com`;
    await this.#run(['user', 'add', email, '--plan', 'business', '--password-stdin'], password);
    const { token, sessionToken } = await login(url, email);
    const { key } = await createKey(url, token);
    const user = new SoakUser(email, token, sessionToken, key, heartbeatMs, chance.child(name));
    for (const terminal of user.terminals) await terminal.connect(url, sessionToken);
    this.users.push(user);
  }

  async #deleteOldest(): Promise<void> {
    const user = this.users.shift();
    if (user === undefined) return;
    user.isLeaving = true;
    await this.#run(['user', 'delete', user.email]);
    this.deleted++;
    for (const terminal of user.terminals) await terminal.end();
  }

  async #run(args: readonly string[], input = ''): Promise<void> {
    const { dataDir, configFile } = this.options;
    const all = [...args, '--data-dir', dataDir, '--config', configFile];
    const { code, stderr } = await startCommand(all, `${input}\n`).ended;
    if (code !== 0) throw new Error(`signalbox ${args.join(' ')}: ${stderr}`);
  }
}
