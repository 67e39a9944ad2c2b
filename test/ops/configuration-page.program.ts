/** Writes the tables of ops/configuration.md anew, after a setting was changed in the code. */
import { readFileSync, writeFileSync } from 'node:fs';
import { pageFile, pageTables } from './configuration-page.js';
import { withTables } from './page-tables.js';

writeFileSync(pageFile, withTables(readFileSync(pageFile, 'utf8'), pageTables()));
