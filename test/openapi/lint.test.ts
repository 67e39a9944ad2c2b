import { createConfig, lintFromString } from '@redocly/openapi-core';
import t from 'tap';
import { toOpenApi30 } from '../../src/openapi/three-zero.js';
import { apiDocument } from '../support/api-document.js';

/** Recommended rules, in the form that takes warnings for errors. */
const config = await createConfig({ extends: ['recommended-strict'] });

async function problemsOf(document: object): Promise<string[]> {
  const source = JSON.stringify(document);
  const problems = await lintFromString({ source, absoluteRef: '/openapi.json', config });
  return problems.map(
    ({ ruleId, message, location }) => `${ruleId} at ${location[0]?.pointer ?? ''}: ${message}`,
  );
}

t.test('the linter finds nothing in the document', async (t) => {
  t.same(await problemsOf(apiDocument), []);
});

t.test('the linter finds nothing in the document as OpenAPI 3.0', async (t) => {
  t.same(await problemsOf(toOpenApi30(apiDocument)), []);
});

t.test('the linter finds what 3.0 does not know', async (t) => {
  const problems = await problemsOf({ ...apiDocument, openapi: '3.0.3' });
  t.match(problems.join('\n'), 'struct');
});

t.test('the linter finds what is wrong', async (t) => {
  const schemas = apiDocument.components['schemas'];
  const unused = { ...schemas, Unused: { type: 'object' } };
  const wrong = {
    ...apiDocument,
    components: { ...apiDocument.components, schemas: unused },
    paths: { ...apiDocument.paths, '/other': { get: { responses: {} } } },
  };
  const problems = (await problemsOf(wrong)).join('\n');
  for (const rule of ['no-unused-components', 'operation-summary', 'security-defined']) {
    t.match(problems, rule);
  }
});
