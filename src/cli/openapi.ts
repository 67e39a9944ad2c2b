/** `signalbox openapi`: the document of the API, as a gateway with these settings would serve it. */
import { type Command, Option } from 'commander';
import { readVersion } from '../version.js';
import { createOpenApiDocument } from '../openapi/document.js';
import { toOpenApi30 } from '../openapi/three-zero.js';
import { describeCommand, type SharedOptions, withSettings } from './command.js';
import type { Io } from './io.js';

interface Options extends SharedOptions {
  readonly openapiVersion: '3.1' | '3.0';
}

export function openapiCommand(io: Io): Command {
  return describeCommand({
    usage: 'openapi',
    summary: 'print the document of the HTTP API',
    description:
      'Prints the OpenAPI 3.1 document of the HTTP API with the limits and platforms that "signalbox ' +
      'serve" would start with when given the same config file. A running gateway serves its own ' +
      'under /openapi.json and /openapi-3.0.json. It is JSON with and without --json.',
    examples: [
      'signalbox openapi > openapi.json',
      'signalbox openapi --config /etc/signalbox.json > openapi.json',
      'signalbox openapi --openapi-version 3.0 > openapi-3.0.json',
    ],
  })
    .addOption(
      new Option('--openapi-version <VERSION>', '3.0 is for generators that do not read 3.1')
        .choices(['3.1', '3.0'])
        .default('3.1'),
    )
    .action(
      withSettings(
        io,
        ({ limits, platforms }, { openapiVersion }: Options) => {
          const document = createOpenApiDocument({ limits, platforms, version: readVersion() });
          const json = openapiVersion === '3.0' ? toOpenApi30(document) : document;
          return { ok: true, json, text: JSON.stringify(json, null, 2) };
        },
        'values',
      ),
    );
}
