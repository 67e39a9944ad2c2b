/** Every bench, in the order of the report. `npm run bench -- NAME` names one of these rows. */
import type { Bench } from './bench.js';
import { dispatch } from './dispatch.js';
import { eventsCeiling } from './events-ceiling.js';
import { events } from './events.js';
import { generator } from './generator.js';
import { growth } from './growth.js';
import { indexLag } from './index-lag.js';
import { loginStorm } from './login-storm.js';
import { keyLimit } from './key-limit.js';
import { memory } from './memory.js';
import { refused } from './refused.js';
import { retention } from './retention.js';
import { status } from './status.js';
import { submitPeer } from './submit-peer.js';
import { submit, submitLog } from './submit.js';

export const benches: readonly Bench[] = [
  generator,
  submit,
  submitLog,
  submitPeer,
  status,
  refused,
  keyLimit,
  dispatch,
  events,
  eventsCeiling,
  memory,
  growth,
  indexLag,
  retention,
  loginStorm,
];
