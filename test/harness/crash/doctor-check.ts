/** What `signalbox doctor` says of a data directory, as far as it is about the data. */
import type { Verdict } from '../verdict.js';
import { runCommand } from '../../support/command.js';

interface Finding {
  readonly check: string;
  readonly level: string;
  readonly message: string;
}

/** Ports, clock and limits are the machine's. */
const checks = ['settings', 'permissions', 'store'];

/** Holds that everything that is looked at is well or, with `isWell` false, that something is not. */
export async function examine(
  dataDir: string,
  verdict: Verdict,
  rule: string,
  isWell = true,
): Promise<void> {
  const flags = ['--data-dir', dataDir, '--port', '0', '--ops-port', '0'];
  const { stdout, stderr } = await runCommand(['doctor', '--json', ...flags]);
  const { findings } = JSON.parse(stdout) as { findings: readonly Finding[] };
  const ofData = findings.filter(({ check }) => checks.includes(check));
  const isFound =
    ofData.some(({ check }) => check === 'store') && ofData.every(({ level }) => level === 'ok');
  verdict.hold(rule, isFound === isWell, () => ({ findings, stderr }));
}
