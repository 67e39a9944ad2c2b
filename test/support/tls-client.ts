/**
 * A bot, a user and a plugin that speak TLS to a server of any name on this machine, and check its
 * certificate as real ones do. Every request takes a connection of its own unless an agent is given.
 */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import type { LookupFunction } from 'node:net';
import { WebSocket } from 'ws';
import { scopes } from '../../src/model/scopes.js';
import { bearer, json, type Answer } from './api.js';
import { EventReader, sourceQuery } from './event-reader.js';
import { password } from './gateway-process.js';
import { hello, Plugin } from './plugin.js';

export interface TlsServer {
  readonly host: string;
  readonly port: number;
  /** The authority's certificate that the client trusts. */
  readonly authority: string;
  /** The client's own address, one of this machine's. */
  readonly from?: string;
}

interface Request {
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly agent?: Agent;
}

/** Every name is this machine. */
const lookup: LookupFunction = (_name, options, callback) => {
  if (options.all === true) callback(null, [{ address: '127.0.0.1', family: 4 }]);
  else callback(null, '127.0.0.1', 4);
};

async function respond(
  { host, port, authority: ca, from: localAddress }: TlsServer,
  method: string,
  path: string,
  { headers = {}, body, agent = new Agent() }: Request,
): Promise<IncomingMessage> {
  const target = { host, port, path, method, headers };
  const sent = request({ ...target, ca, servername: host, lookup, localAddress, agent });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

export async function tlsCall(
  server: TlsServer,
  method: string,
  path: string,
  options: Request = {},
): Promise<Answer> {
  const response = await respond(server, method, path, options);
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk as string;
  const isJson = response.headers['content-type']?.startsWith('application/json') === true;
  return {
    status: response.statusCode as number,
    headers: new Headers(response.headers as Record<string, string>),
    text,
    body: isJson ? JSON.parse(text) : undefined,
  };
}

export interface TlsMember {
  readonly token: string;
  readonly sessionToken: string;
  /** A key with every scope. */
  readonly key: string;
}

/** Logs in and makes a key. */
export async function tlsMember(server: TlsServer, email: string): Promise<TlsMember> {
  const login = await tlsCall(server, 'POST', '/api/auth/login', {
    headers: json,
    body: JSON.stringify({ email, password }),
  });
  if (login.status !== 200) throw new Error(`login: ${login.status} ${login.text}`);
  const { token, sessionToken } = login.body;
  const made = await tlsCall(server, 'POST', '/api/api-keys', {
    headers: { ...json, ...bearer(token) },
    body: JSON.stringify({ name: 'test', scopes }),
  });
  if (made.status !== 201) throw new Error(`create key: ${made.status} ${made.text}`);
  return { token, sessionToken, key: made.body.key };
}

export async function tlsReader(
  server: TlsServer,
  key: string,
  headers: Record<string, string> = {},
): Promise<EventReader> {
  const path = `/api/v1/terminal-events/stream?${sourceQuery()}`;
  const authorization = `Bearer ${key}`;
  return new EventReader(
    await respond(server, 'GET', path, { headers: { authorization, ...headers } }),
  );
}

/** Connects, says hello and waits for the welcome. Rejects when the upgrade is refused. */
export async function tlsPlugin(
  { host, port, authority: ca, from: localAddress }: TlsServer,
  sessionToken: string,
  fields: object = {},
): Promise<Plugin> {
  const headers = { authorization: `Bearer ${sessionToken}` };
  const socket = new WebSocket(`wss://${host}:${port}/plugin/v1`, 'signalbox.plugin.v1', {
    ca,
    lookup,
    headers,
    localAddress,
  });
  const plugin = new Plugin(socket);
  await once(socket, 'open');
  plugin.send({ ...hello, ...fields });
  await plugin.next('welcome');
  return plugin;
}
