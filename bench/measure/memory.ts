/** Memory of a process, as /proc has it. What the kernel holds for sockets is in no process's books. */
import { readFileSync } from 'node:fs';

const kinds = {
  /** With the files that it maps. */
  resident: { file: 'status', field: 'VmRSS' },
  own: { file: 'status', field: 'RssAnon' },
  /** Shared pages count by their share, so that what workers share counts once. */
  proportional: { file: 'smaps_rollup', field: 'Pss' },
} as const;

export function memoryBytes(pid: number, kind: keyof typeof kinds): number {
  const { file, field } = kinds[kind];
  const text = readFileSync(`/proc/${pid}/${file}`, 'latin1');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]) * 1024;
}
