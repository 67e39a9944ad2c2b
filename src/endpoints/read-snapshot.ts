/**
 * GET /api/v1/terminal-events/snapshot: asks one connected terminal what it holds. The answer is the event that the
 * terminal's streams have as well.
 */
import type { KeyRights } from '../auth/key-rights.js';
import type { KeyEndpoint } from '../http/endpoint.js';
import type { Limits } from '../limits.js';
import type { Scope } from '../model/scopes.js';
import { sourceKey } from '../model/source-name.js';
import type { Registry } from '../plugins/registry.js';
import type { Snapshots } from '../plugins/snapshots.js';
import { readTerminalSource } from './terminal-source.js';

const scope: Scope = 'events:read';

export interface ReadSnapshotDeps {
  readonly limits: Limits;
  readonly rights: KeyRights;
  readonly registry: Pick<Registry, 'findActive'>;
  readonly snapshots: Pick<Snapshots, 'request'>;
}

export function createReadSnapshot(deps: ReadSnapshotDeps): KeyEndpoint {
  const { limits, rights, registry, snapshots } = deps;

  return async (exchange, caller) => {
    const name = readTerminalSource(exchange.request.query, limits);
    if (name === undefined) return exchange.fail('invalid_terminal_source');
    const source = registry.findActive(caller.user.userId, sourceKey(name));
    if (source === undefined) return exchange.fail('terminal_source_not_found');
    const { event, failure } = await snapshots.request(source);
    // The key may have been revoked while the terminal was asked.
    const refusal = rights.refusalNow(caller, scope);
    if (refusal !== undefined) return exchange.fail(refusal);
    if (event === undefined) return exchange.fail(failure);
    exchange.reply(200, event);
  };
}
