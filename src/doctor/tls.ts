/** How long the certificate is valid; that it fits its key was checked with the settings. */
import { dayMs } from '../lib/durations.js';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { toIsoTime } from '../lib/clock.js';
import type { Check } from './check.js';
import { type Finding, reporter } from './finding.js';

const warningDays = 14;
const remedy = 'Put a new certificate and its key in place, and start the gateway again.';
const report = reporter('tls');

export const checkTls: Check = ({ settings: { tlsCert }, clock }) =>
  tlsCert === undefined ? [] : [judgeCertificate(readFileSync(tlsCert), clock.now())];

export function judgeCertificate(pem: Buffer, now: number): Finding {
  const { validFrom, validTo } = new X509Certificate(pem);
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)] as const;
  if (now < from) {
    return report.problem(`The certificate is valid only from ${toIsoTime(from)}.`, remedy);
  }
  if (now >= to) return report.problem(`The certificate expired at ${toIsoTime(to)}.`, remedy);
  const message = `The certificate is valid until ${toIsoTime(to)}`;
  if (to - now < warningDays * dayMs) return report.warning(`${message}, which is soon.`, remedy);
  return report.ok(`${message}.`);
}
