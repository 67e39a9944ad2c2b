/** Processor time, user and system, as /proc has it. */
import { readFileSync } from 'node:fs';

/** What /proc counts processor time in; fixed on every Linux that Node runs on. */
const ticksPerSecond = 100;

/** Of all threads of a process, since its start. */
export function processSeconds(pid: number): number {
  return processorSeconds(`/proc/${pid}/stat`);
}

/** Of its main thread alone, where the event loop runs: near the wall time it is saturated. */
export function loopSeconds(pid: number): number {
  return processorSeconds(`/proc/${pid}/task/${pid}/stat`);
}

/** The command's name may hold spaces, so fields count from its closing bracket. */
function processorSeconds(file: string): number {
  const stat = readFileSync(file, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}
