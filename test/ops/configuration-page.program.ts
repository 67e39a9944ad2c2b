/** Writes the tables of ops/configuration.md anew, after a setting was changed in the code. */
import { readFileSync, writeFileSync } from 'node:fs';
import { pageFile, withTables } from './configuration-page.js';

writeFileSync(pageFile, withTables(readFileSync(pageFile, 'utf8')));
