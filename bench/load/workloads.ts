/** The kinds of requests that the generator can send. */
import type { Workload } from './workload.js';
import { refused401, refused429, refused422 } from './workloads/refused.js';
import { login } from './workloads/login.js';
import { mixed } from './workloads/mixed.js';
import { status } from './workloads/status.js';
import { submit } from './workloads/submit.js';

export const workloads = {
  submit,
  status,
  mixed,
  login,
  'refused-401': refused401,
  'refused-429': refused429,
  'refused-422': refused422,
} as const satisfies Record<string, Workload>;

export type WorkloadName = keyof typeof workloads;
