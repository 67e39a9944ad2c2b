/** The plugin base for .NET under Mono, by its paper example and by a terminal of the tests. */
import t from 'tap';
import { compile, noMono } from './csharp.js';
import { testPluginPromises } from './plugin-promises.js';

/** Of the file: those of the tests in it are emptied when they begin. */
const directory = t.testdir();

t.setTimeout(300_000);
await t.test('the plugin base for .NET', { skip: noMono }, (t) =>
  testPluginPromises(t, {
    paper: compile(directory, 'paper'),
    ledger: compile(directory, 'ledger'),
    environment: {},
    stop: (paper) => paper.stdin?.write('\n'),
  }),
);
