/** Writes the tables of ops/limits.md anew, after a limit was changed in the code. */
import { readFileSync, writeFileSync } from 'node:fs';
import { pageFile, withTables } from './limits-page.js';

writeFileSync(pageFile, withTables(readFileSync(pageFile, 'utf8')));
