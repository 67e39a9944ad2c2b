/** Writes the tables of ops/limits.md anew, after a limit was changed in the code. */
import { readFileSync, writeFileSync } from 'node:fs';
import { pageFile, pageTables } from './limits-page.js';
import { withTables } from './page-tables.js';

writeFileSync(pageFile, withTables(readFileSync(pageFile, 'utf8'), pageTables()));
