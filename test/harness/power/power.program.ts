/**
 * Simulates power cuts: `npm run test:power -- --directories N [--seed S]`. Records what a working gateway
 * writes to its disk and its sockets, makes N of the directories that a power cut may leave, and judges each
 * by what the gateway had promised before. Needs strace. Stops at the first violation.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ledger } from '../crash/ledger.js';
import { runHarness } from '../harness-run.js';
import { chooseCuts, takeCuts } from './cuts.js';
import { JudgeProcess } from './judge-process.js';
import { leaveDirectory } from './power-cut.js';
import { judgeRealStart } from './real-start.js';
import { makeRecording } from './recording.js';

/** Further cuts of one recording find less than as many of another. */
const directoriesPerRecording = 1_000;
/** The real gateway starts on one of so many directories, and the doctor examines it. */
const realStartEvery = 100;

await runHarness(
  'power',
  { directories: 100 },
  async ({ options: { directories: wanted }, chance, directory, verdict }) => {
    const isClean = (): boolean => verdict.violations.length === 0;
    let made = 0;
    while (made < wanted && isClean()) {
      verdict.round++;
      made += await playRound(Math.min(directoriesPerRecording, wanted - made));
    }
    return `${made} directories`;

    /** @returns how many directories it made. */
    async function playRound(count: number): Promise<number> {
      const own = chance.child(`${verdict.round}`);
      const place = join(directory, `recording-${verdict.round}`);
      mkdirSync(place);
      const { recorder, facts } = await makeRecording(place, own, verdict);
      const factsFile = join(place, 'facts.json');
      writeFileSync(factsFile, JSON.stringify(facts));
      const judge = new JudgeProcess(factsFile);
      const ledger = new Ledger(verdict, new Map());
      const cuts = chooseCuts(recorder, count, own.child('cuts'));
      console.log(
        `recording ${verdict.round}: ${recorder.end} events, ${recorder.syncs.length} syncs, ` +
          `${facts.answers.length} answers with 202, ${facts.changes.length} changes by commands`,
      );
      let number = 0;
      for (const { disk, calls, time, fate } of takeCuts(recorder.replay(), cuts)) {
        if (!isClean()) break;
        const at = calls.now;
        const left = join(place, `cut-${++number}`);
        leaveDirectory(left, disk, calls, fate, own.child(`cut ${number}`));
        const dataDir = join(left, 'data');
        await judge.judge({ dataDir, at, time }, verdict);
        if (number % realStartEvery === 0) {
          await judgeRealStart(dataDir, at, facts, ledger, verdict);
        }
        if (isClean()) rmSync(left, { recursive: true });
        else console.log(`cut ${number} after event ${at}, leaving ${fate}: ${left}`);
      }
      judge.end();
      const isTried = number === cuts.length || !isClean();
      verdict.hold('every cut is tried', isTried, () => cuts[number]);
      if (isClean()) rmSync(place, { recursive: true });
      return number;
    }
  },
);
