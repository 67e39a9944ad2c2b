/** `TestGateway` by its older names, for tests that do not use the new ones yet. */
import type { Test } from 'tap';
import { dataDirIn, signalboxCli, type GatewayProcess } from './gateway-process.js';
import { openTestGateway, TestGateway, type TestGatewayOptions, type TestUser } from './gateway.js';

export { codeOf, get, verdict } from './api.js';
export { until } from './eventually.js';

export class World extends TestGateway {
  get gateway(): GatewayProcess {
    return this.process;
  }

  cli(...args: string[]): string {
    const flags = ['--config', `${this.dataDir}.config.json`];
    const { code, stdout, stderr } = signalboxCli(this.dataDir, [...args, ...flags]);
    if (code !== 0) throw new Error(`signalbox ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  member(plan = 'business'): Promise<TestUser> {
    return this.user({ plan });
  }
}

export function openWorld(t: Test, options: TestGatewayOptions = {}): Promise<World> {
  return openTestGateway(t, new World(dataDirIn(t.testdir()), options));
}
