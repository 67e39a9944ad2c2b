/** The paper example for Python passes every rule of the judge of plugins. */
import t from 'tap';
import '../support/alone.js';
import { passesConformance } from '../conformance/judged-process.js';
import { environment, noPython, python, sdk } from './python.js';
import { startTerminal } from './terminal-process.js';

await t.test('the paper example for Python', { skip: noPython }, (t) => {
  const command = [String(python), `${sdk}/examples/paper_terminal.py`];
  const source = ['terminal_a', 'desk-1', 'Sim101', t.testdir()];
  return passesConformance(t, (login) =>
    startTerminal(t, [...command, ...source], environment, login),
  );
});
