/**
 * A generator that works in steps: each line on standard input names one of its commands and is
 * answered by one line, so that the bench can look at the server between two steps.
 */
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
