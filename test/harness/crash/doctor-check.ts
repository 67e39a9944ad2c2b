/** Runs `signalbox doctor` on a data directory and reads its findings on the data. */
import type { Verdict } from '../verdict.js';
import { runCommand } from '../../support/command.js';

interface Finding {
  readonly check: string;
  readonly level: string;
  readonly message: string;
}

/** The other checks concern the machine: ports, clock, limits. */
const checks = ['settings', 'permissions', 'store'];

/** Expects every finding to be `ok` or, with `isWell` false, one that is not. */
export async function checkWithDoctor(
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
