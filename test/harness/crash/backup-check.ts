/**
 * Checks backups taken under load and killed at any moment. A directory with a store in it is a
 * complete copy, whatever the command's exit; one without a store is no backup, and the doctor reports
 * it.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startGateway, type GatewayProcess } from '../../support/gateway-process.js';
import { configOf } from './config.js';
import { checkWithDoctor } from './doctor-check.js';
import { CliCommand } from './cli-command.js';
import type { AcknowledgedState } from './acknowledged-state.js';
import type { Ledger } from './ledger.js';
import { getStatus } from './tenant-access.js';
import type { Tenant } from './tenant.js';
import type { TenantState } from './tenant-state.js';
import type { Trader } from './trader.js';

export interface BackupCheckDeps {
  readonly dataDir: string;
  readonly ledger: Ledger;
  readonly traders: ReadonlyMap<string, Trader>;
  readonly tenants: readonly Tenant[];
}

interface RunningBackup {
  /** Whether the gateway was killed before the command had ended. */
  hasLostGateway: boolean;
  readonly command: CliCommand;
  readonly directory: string;
  readonly acknowledged: AcknowledgedState;
  /** Tenants whose state was certain when it began. */
  readonly tenants: ReadonlyMap<Tenant, TenantState>;
}

export class BackupCheck {
  /** Complete backups, and interrupted ones. */
  whole = 0;
  cutOff = 0;
  readonly #deps: BackupCheckDeps;
  #count = 0;
  #underWay: RunningBackup | undefined;

  constructor(deps: BackupCheckDeps) {
    this.#deps = deps;
  }

  /** Starts `signalbox backup`. */
  begin(acknowledged: AcknowledgedState): CliCommand {
    const { dataDir, tenants } = this.#deps;
    const directory = `${dataDir}.copy-${++this.#count}`;
    const certain = tenants.filter(({ isCertain }) => isCertain);
    this.#underWay = {
      hasLostGateway: false,
      acknowledged,
      directory,
      tenants: new Map(certain.map((tenant) => [tenant, tenant.state])),
      command: new CliCommand(dataDir, ['backup', directory]),
    };
    return this.#underWay.command;
  }

  /** To be called when the gateway is killed: the command, if it still runs, may not learn how it ended. */
  loseGateway(): void {
    if (this.#underWay !== undefined) this.#underWay.hasLostGateway = true;
  }

  /** Checks the backup that was begun last, once. */
  async inspect(): Promise<void> {
    if (this.#underWay === undefined) return;
    const { command, directory, acknowledged, tenants, hasLostGateway } = this.#underWay;
    this.#underWay = undefined;
    const { verdict } = this.#deps.ledger;
    const { code, stderr } = await command.ended;
    const files = existsSync(directory) ? readdirSync(directory) : [];
    const isWhole = files.includes('data.mdb');
    const evidence = () => ({ directory, code, stderr, files });
    const isUnknown = hasLostGateway && stderr.includes('has not reported its outcome');
    const isWell = code === 0 || command.isKilled || isUnknown;
    verdict.hold('a backup that is left alone succeeds', isWell, evidence);
    if (code === 0) {
      const expected = ['copy', 'data.mdb', 'jwt-secret', 'log'];
      const isExactly = expected.join() === files.sort().join();
      verdict.hold('a confirmed backup is complete', isExactly, evidence);
    }
    if (isWhole) await this.#inspectWhole(directory, acknowledged, tenants);
    else await this.#inspectCutOff(directory, files);
    if (verdict.violations.length === 0) rmSync(directory, { recursive: true, force: true });
  }

  async #inspectWhole(
    directory: string,
    acknowledged: AcknowledgedState,
    tenants: ReadonlyMap<Tenant, TenantState>,
  ): Promise<void> {
    const { ledger, traders } = this.#deps;
    this.whole++;
    await checkWithDoctor(directory, ledger.verdict, 'a copy is well');
    const gateway = await start(directory);
    ledger.verdict.hold('a copy can be started with', gateway !== undefined, () => directory);
    if (gateway === undefined) return;
    await this.#openApi(directory, gateway.url);
    await acknowledged.inspect(gateway.url, traders, ledger.verdict);
    for (const [tenant, state] of tenants) {
      // The backup may or may not hold a change that was made since it began.
      if (!tenant.isCertain || tenant.state !== state) continue;
      await tenant.inspect(gateway.url, 'a copy has what the operator did before');
    }
    await gateway.kill();
  }

  /** The Public API may have been closed at the moment of the backup. */
  async #openApi(directory: string, url: string): Promise<void> {
    const [trader] = this.#deps.traders.values();
    const status = await getStatus(url, '/api/v1/terminal-events/sources', trader?.key ?? '');
    if (status === 503) await new CliCommand(directory, ['api', 'enable']).ended;
  }

  async #inspectCutOff(directory: string, files: readonly string[]): Promise<void> {
    const { verdict } = this.#deps.ledger;
    this.cutOff++;
    if (files.length === 0) return;
    const again = await new CliCommand(this.#deps.dataDir, ['backup', directory]).ended;
    verdict.hold('what was cut off is not written over', again.code === 1, () => again);
    await checkWithDoctor(directory, verdict, 'what was cut off is no backup', false);
    const gateway = await start(directory);
    verdict.hold('nothing starts with what was cut off', gateway === undefined, () => files);
    await gateway?.kill();
    verdict.hold(
      'looking makes no backup of it',
      !existsSync(join(directory, 'data.mdb')),
      () => directory,
    );
  }
}

/** @returns undefined when no gateway starts with it. */
function start(dataDir: string): Promise<GatewayProcess | undefined> {
  return startGateway({ dataDir, config: configOf() }).catch(() => undefined);
}
