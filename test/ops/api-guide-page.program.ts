/** Writes the tables of ops/api-guide.md anew, after an error or a state was changed in the code. */
import { readFileSync, writeFileSync } from 'node:fs';
import { pageFile, pageTables } from './api-guide-page.js';
import { withTables } from './page-tables.js';

writeFileSync(pageFile, withTables(readFileSync(pageFile, 'utf8'), pageTables()));
