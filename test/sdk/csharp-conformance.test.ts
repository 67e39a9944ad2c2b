/** The paper example for .NET passes every rule of the judge of plugins. */
import t from 'tap';
import '../support/alone.js';
import { passesConformance } from '../conformance/judged-process.js';
import { compile, noMono } from './csharp.js';
import { startTerminal } from './terminal-process.js';

const directory = t.testdir();

await t.test('the paper example for .NET', { skip: noMono }, (t) => {
  const command = compile(directory, 'paper');
  const source = ['terminal_a', 'desk-1', 'Sim101', t.testdir()];
  return passesConformance(t, (login) => startTerminal(t, [...command, ...source], {}, login));
});
