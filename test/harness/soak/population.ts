/**
 * Who uses the gateway during a soak: a fixed number of users, of whom the eldest is deleted and a new
 * one added again and again, by the operator's command. All that the store holds belongs to users, so
 * that it must come to a level.
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

  async settle(): Promise<void> {
    while (this.users.length < usersAtOnce) await this.#arrive();
  }

  /** One comes, the eldest goes. */
  async turnOver(): Promise<void> {
    await this.#arrive();
    await this.#leave();
  }

  async leaveAll(): Promise<void> {
    while (this.users.length > 0) await this.#leave();
  }

  async #arrive(): Promise<void> {
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

  async #leave(): Promise<void> {
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
