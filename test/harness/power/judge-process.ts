/** Runs the judge in a process. A directory that ends the process is a violation; the next gets a new one. */
import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Verdict } from '../verdict.js';
import type { Case, Judgement } from './judge.program.js';

const program = fileURLToPath(new URL('judge.program.js', import.meta.url));

export class JudgeProcess {
  #process: ChildProcess | undefined;

  constructor(readonly factsFile: string) {}

  async judge(each: Case, verdict: Verdict): Promise<void> {
    const judge = (this.#process ??= fork(program, [this.factsFile]));
    const outcome = await new Promise<Judgement | string>((resolve) => {
      judge.once('message', (judgement: Judgement) => resolve(judgement));
      judge.once('exit', (code, signal) => resolve(`it ended with ${signal ?? code}`));
      judge.send(each);
    });
    judge.removeAllListeners();
    if (typeof outcome === 'string') {
      this.#process = undefined;
      verdict.hold('a gateway starts with what is left', false, () => outcome);
      return;
    }
    verdict.checks += outcome.checks;
    verdict.violations.push(
      ...outcome.violations.map((each) => ({ ...each, round: verdict.round })),
    );
  }

  end(): void {
    this.#process?.kill('SIGKILL');
    this.#process = undefined;
  }
}
