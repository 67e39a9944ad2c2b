/**
 * Backups taken under load and cut off at any moment. A directory with a store in it is a whole copy,
 * whatever became of the command; one without is no backup, and the doctor says so.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startGateway, type GatewayProcess } from '../../support/gateway-process.js';
import { configOf } from './config.js';
import { examine } from './doctor-check.js';
import { Errand } from './cli-command.js';
import type { Keepsake } from './acknowledged-state.js';
import type { Ledger } from './ledger.js';
import { getStatus } from './tenant-access.js';
import type { Tenant } from './tenant.js';
import type { TenantState } from './tenant-state.js';
import type { Trader } from './trader.js';

/** Signals a day: as good as no limit. */
const unlimited = 1_000_000;

export interface CopiesDeps {
  readonly dataDir: string;
  readonly ledger: Ledger;
  readonly traders: ReadonlyMap<string, Trader>;
  readonly tenants: readonly Tenant[];
}

interface Copying {
  readonly errand: Errand;
  readonly directory: string;
  readonly keepsake: Keepsake;
  /** Those that were certain when it began. */
  readonly tenants: ReadonlyMap<Tenant, TenantState>;
}

export class Copies {
  /** Copies that were whole, and those that were cut off. */
  whole = 0;
  cutOff = 0;
  readonly #deps: CopiesDeps;
  #count = 0;
  #underWay: Copying | undefined;
  #gateway: GatewayProcess | undefined;

  constructor(deps: CopiesDeps) {
    this.#deps = deps;
  }

  /** @returns the command that copies. */
  begin(keepsake: Keepsake): Errand {
    const { dataDir, tenants } = this.#deps;
    const directory = `${dataDir}.copy-${++this.#count}`;
    const certain = tenants.filter(({ isCertain }) => isCertain);
    this.#underWay = {
      keepsake,
      directory,
      tenants: new Map(certain.map((tenant) => [tenant, tenant.state])),
      errand: new Errand(dataDir, ['backup', directory]),
    };
    return this.#underWay.errand;
  }

  /** Looks at the copy that was begun last, unless that has been done. */
  async inspect(): Promise<void> {
    if (this.#underWay === undefined) return;
    const { errand, directory, keepsake, tenants } = this.#underWay;
    this.#underWay = undefined;
    const { verdict } = this.#deps.ledger;
    const { code, stderr } = await errand.ended;
    const files = existsSync(directory) ? readdirSync(directory) : [];
    const isWhole = files.includes('data.mdb');
    const evidence = () => ({ directory, code, stderr, files });
    verdict.hold('a backup that is left alone succeeds', code === 0 || errand.isKilled, evidence);
    if (code === 0) {
      const expected = ['data.mdb', 'jwt-secret'];
      const isExactly = expected.join() === files.sort().join();
      verdict.hold('a confirmed backup is complete', isExactly, evidence);
    }
    if (isWhole) await this.#inspectWhole(directory, keepsake, tenants);
    else await this.#inspectCutOff(directory, files);
    if (verdict.violations.length === 0) rmSync(directory, { recursive: true, force: true });
  }

  /** Whatever ends this process must not leave a gateway behind. */
  abandon(): void {
    this.#gateway?.process.kill('SIGKILL');
  }

  async #inspectWhole(
    directory: string,
    keepsake: Keepsake,
    tenants: ReadonlyMap<Tenant, TenantState>,
  ): Promise<void> {
    const { ledger, traders } = this.#deps;
    this.whole++;
    await examine(directory, ledger.verdict, 'a copy is well');
    this.#gateway = await start(directory);
    ledger.verdict.hold('a copy can be started with', this.#gateway !== undefined, () => directory);
    if (this.#gateway === undefined) return;
    await this.#openApi(directory, this.#gateway.url);
    await keepsake.inspect(this.#gateway.url, traders, ledger.verdict);
    for (const [tenant, state] of tenants) {
      // What was changed since the copy began may be in it or not.
      if (!tenant.isCertain || tenant.state !== state) continue;
      await tenant.inspect(this.#gateway.url, 'a copy has what the operator did before');
    }
    await this.#gateway.kill();
  }

  /** The operator may have closed it for the moment that was copied. */
  async #openApi(directory: string, url: string): Promise<void> {
    const [trader] = this.#deps.traders.values();
    const status = await getStatus(url, '/api/v1/terminal-events/sources', trader?.key ?? '');
    if (status === 503) await new Errand(directory, ['api', 'enable']).ended;
  }

  async #inspectCutOff(directory: string, files: readonly string[]): Promise<void> {
    const { verdict } = this.#deps.ledger;
    this.cutOff++;
    if (files.length === 0) return;
    const again = await new Errand(this.#deps.dataDir, ['backup', directory]).ended;
    verdict.hold('what was cut off is not written over', again.code === 1, () => again);
    await examine(directory, verdict, 'what was cut off is no backup', false);
    this.#gateway = await start(directory);
    verdict.hold('nothing starts with what was cut off', this.#gateway === undefined, () => files);
    await this.#gateway?.kill();
    verdict.hold(
      'looking makes no backup of it',
      !existsSync(join(directory, 'data.mdb')),
      () => directory,
    );
  }
}

/** @returns undefined when no gateway starts with it. */
function start(dataDir: string): Promise<GatewayProcess | undefined> {
  return startGateway({ dataDir, config: configOf(unlimited) }).catch(() => undefined);
}
