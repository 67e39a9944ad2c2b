/** Defines the scopes of an API key as requests name them, and as answers do. */
import { oneOf, openEnum } from '../lib/json-types.js';
import { scopes } from '../model/scopes.js';

export const knownScope = oneOf(scopes);
export const scope = openEnum(knownScope, 'What an API key may do.');
