/** `signalbox openapi`: the document of the API, as a gateway with these settings would serve it. */
import type { Command } from 'commander';
import { readVersion } from '../version.js';
import { createOpenApiDocument } from '../openapi/document.js';
import { describeCommand, finish, settingsFor, type SharedOptions } from './command.js';
import type { Io } from './io.js';

export function openapiCommand(io: Io): Command {
  return describeCommand({
    usage: 'openapi',
    summary: 'print the document of the HTTP API',
    description:
      'Prints the OpenAPI 3.1 document of the HTTP API with the limits and platforms that "signalbox ' +
      'serve" would start with when given the same config file. A running gateway serves its own ' +
      'under /openapi.json. It is JSON with and without --json.',
    examples: [
      'signalbox openapi > openapi.json',
      'signalbox openapi --config /etc/signalbox.json > openapi.json',
    ],
  }).action((options: SharedOptions) => {
    const settings = settingsFor(io, options);
    if (settings === undefined) return;
    const { limits, platforms } = settings;
    const json = createOpenApiDocument({ limits, platforms, version: readVersion() });
    finish(io, { ok: true, json, text: JSON.stringify(json, null, 2) }, options);
  });
}
