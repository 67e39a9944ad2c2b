/** A program that tries to break the gateway, played in its short form by the test beside it. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

interface Played {
  readonly status: number | null;
  readonly stdout: string;
  /** What there is to read when it went wrong. */
  readonly output: string;
}

/** @param path of the program below test/, without `.program.ts`. Blocks until it ends. */
export function playProgram(path: string, args: readonly string[], timeoutMs: number): Played {
  const program = fileURLToPath(new URL(`../${path}.program.js`, import.meta.url));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--enable-source-maps', program, ...args],
    { encoding: 'utf8', timeout: timeoutMs },
  );
  return { status, stdout, output: `${stdout}${stderr}` };
}
