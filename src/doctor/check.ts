/** What one check of `signalbox doctor` is given, and what it returns. */
import type { Clock } from '../lib/clock.js';
import type { Settings } from '../settings.js';
import type { Finding } from './finding.js';

export interface Subject {
  readonly settings: Settings;
  readonly clock: Clock;
  /** Path of the config file that the settings came from; undefined without one. */
  readonly configFile: string | undefined;
  /** Process of the gateway that holds the data directory; undefined when none does. */
  readonly gatewayPid: number | undefined;
}

export type Check = (subject: Subject) => Finding[] | Promise<Finding[]>;
