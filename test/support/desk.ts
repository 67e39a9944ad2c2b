/** `TestGateway` by its older names, for tests that do not use the new ones yet. */
import type { Test } from 'tap';
import { dataDirIn, type GatewayProcess } from './gateway-process.js';
import { openTestGateway, TestGateway, type TestGatewayOptions, type TestUser } from './gateway.js';

export * from './frames.js';
export type { TestUser as Trader } from './gateway.js';

export class Desk extends TestGateway {
  get gateway(): GatewayProcess {
    return this.process;
  }

  set gateway(process: GatewayProcess) {
    this.process = process;
  }

  /** What the config file holds. */
  get config(): object {
    const { limits, plans, config } = this.options;
    return { ...config, limits, plans };
  }

  trader(keyFields: object = {}): Promise<TestUser> {
    return this.user({ key: keyFields });
  }
}

export function openDesk(
  t: Test,
  { traders, ...options }: TestGatewayOptions & { readonly traders?: number } = {},
): Promise<Desk> {
  const users = traders === undefined ? {} : { users: traders };
  const limits = {
    loginAttemptsPerMinute: 10_000,
    unauthenticatedAttemptsPerMinute: 10_000,
    ...options.limits,
  };
  return openTestGateway(t, new Desk(dataDirIn(t.testdir()), { ...options, ...users, limits }));
}
