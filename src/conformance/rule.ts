/** A rule of the protocol that a plugin is judged by. */
import type { PluginFrameOf } from '../plugins/protocol.js';
import { Broken, type Desk } from './desk.js';

export interface Rule {
  /** What a conforming plugin does. */
  readonly says: string;
  /** Heading of PROTOCOL.md or COMMANDS.md that says so. */
  readonly place: string;
  /** A source without this capability is never asked. */
  readonly capability?: PluginFrameOf<'hello'>['capabilities'][number];
  /** Throws `Broken` when the plugin breaks the rule. The return value is ignored. */
  readonly check: (desk: Desk) => unknown;
}

/** @throws Broken with the reason, unless `isKept`. */
export function demand(isKept: boolean, why: string): void {
  if (!isKept) throw new Broken(why);
}
