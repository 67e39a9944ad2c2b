/**
 * What a bench tells a process of its own, line by line on standard input, each answered by one line. A generator
 * that works in steps has commands, so that the bench can look at the server between two of them; any other program
 * does one work.
 */
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** `do` names the command; what else the line holds is for the command. */
export interface Command {
  readonly do: string;
}

type Commands = Readonly<Record<string, (line: never) => Promise<object>>>;

/** Says that the generator is ready, and answers until standard input closes. */
export async function answerCommands(commands: Commands): Promise<void> {
  const lines = createInterface({ input: process.stdin });
  console.log('{}');
  for await (const line of lines) {
    const command = JSON.parse(line) as Command;
    const work = commands[command.do];
    if (work === undefined) throw new Error(`the generator has no command "${command.do}"`);
    console.log(JSON.stringify(await work(command as never)));
  }
}

/** Says that the program is ready, and answers the one order that comes. */
export async function answerOnce(work: (order: never) => Promise<object>): Promise<void> {
  const asked = once(createInterface({ input: process.stdin }), 'line') as Promise<[string]>;
  console.log('{}');
  console.log(JSON.stringify(await work(JSON.parse((await asked)[0]) as never)));
}
