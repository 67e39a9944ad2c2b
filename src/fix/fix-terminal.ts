/**
 * The FIX terminal: a plugin of the gateway on one side, an initiator of a FIX session on the other. It joins the
 * gateway at the first logon, so that no order comes while there is no venue. Owns both connections and both
 * journals from its creation until it is stopped.
 */
import type { Clock } from '../lib/clock.js';
import { random } from '../lib/ids.js';
import { withoutUndefined } from '../lib/without-undefined.js';
import { readVersion } from '../version.js';
import { openJournal } from '../terminal/journal-file.js';
import {
  createPlugin,
  type ClientNotice,
  type Plugin,
  type PluginNotice,
} from '../terminal/plugin.js';
import { logonFields } from './credentials.js';
import type { FixConfig } from './fix-config.js';
import { FixDesk } from './fix-desk.js';
import { FixJournal } from './fix-journal.js';
import { FixLink, type FixNotice } from './fix-link.js';
import { types } from './tags.js';

export interface FixWarning {
  readonly kind: 'fix_warning';
  readonly message: string;
  readonly executionId?: string;
}

export type FixTerminalNotice = FixNotice | FixWarning | ClientNotice | PluginNotice;

export interface FixTerminalOptions {
  readonly config: FixConfig;
  /** Content of `session.tlsCa`. */
  readonly ca: string | undefined;
  /** Password, API secret or private key of the FIX session. */
  readonly secret: string | undefined;
  /** Returns the session token; called at each attempt to connect to the gateway. */
  readonly token: () => Promise<string> | string;
  /** Logs on to the venue and does not join the gateway. */
  readonly isCheck: boolean;
  readonly clock: Clock;
  readonly onNotice: (notice: FixTerminalNotice) => void;
}

export interface FixTerminal {
  start(): void;
  /** Logs out; resolves when both connections and the journals are closed. */
  stop(): Promise<void>;
}

const supported: readonly string[] = [
  types.ExecutionReport,
  types.OrderCancelReject,
  types.BusinessMessageReject,
];

/** @throws JournalRefused when a journal is in use, damaged, or cannot be written. */
export function createFixTerminal(options: FixTerminalOptions): FixTerminal {
  const { config, clock, onNotice, secret } = options;
  const { source, stateDir, session, venue, orders } = config;
  let hasJoined = false;
  let stopped: Promise<void> | undefined;

  const plugin: Plugin = createPlugin({
    url: config.gateway.url,
    token: options.token,
    source,
    journalDir: stateDir,
    software: { name: 'signalbox-fix', version: readVersion() },
    queuesEvents: true,
    clock,
    random,
    terminal: {
      submit: (command) => desk.submit(command),
      cancel: (request) => desk.cancel(request),
      inDoubt: (command) => desk.inDoubt(command),
      restore: (executions) => desk.restore(executions),
      notice(notice) {
        onNotice(notice);
        if (notice.kind === 'connected') sayConnection();
      },
    },
  });
  const journal = openFixJournal();

  const link: FixLink = new FixLink({
    host: session.host,
    port: session.port,
    tls: session.tls ? { ca: options.ca } : undefined,
    session: {
      beginString: session.beginString,
      senderCompId: session.senderCompId,
      targetCompId: session.targetCompId,
      heartBtIntSec: session.heartBtIntSec,
      resetOnLogon: session.resetOnLogon,
      confirmsLogon: !session.resetOnLogon,
      headerFields: venue.header,
      logonFields: (seq, sendingTime) => [
        ...venue.logon,
        ...logonFields(venue.credentials, { ...session, secret }, seq, sendingTime),
      ],
      supports: (type) => supported.includes(type),
    },
    journal,
    clock,
    random,
    flushReports: () => plugin.flush(),
    mayLeave: (message) => desk.mayLeave(message),
    onLoggedOn() {
      if (options.isCheck) return;
      desk.loggedOn();
      if (hasJoined) return sayConnection();
      hasJoined = true;
      plugin.start();
    },
    onMessage: (message) => desk.received(message),
    onMissed: (from, to) => desk.missed(from, to),
    onUnread: (message) => desk.unread(message),
    onTick: () => desk.tick(),
    onNotice(notice) {
      onNotice(notice);
      if (notice.kind === 'fix_lost' && hasJoined) sayConnection();
    },
  });

  const desk: FixDesk = new FixDesk({
    plugin,
    warn(text, executionId) {
      const about = withoutUndefined({ executionId });
      onNotice({ kind: 'fix_warning', message: text, ...about });
      plugin.event({ event: 'terminal_message', data: { level: 'warning', text }, ...about });
    },
    journal,
    rules: { ...orders, venue, beginString: session.beginString },
    clock,
    session: link,
  });

  /** Closes the plugin's journal if this one cannot be opened. */
  function openFixJournal(): FixJournal {
    try {
      const isKnown = (executionId: string): boolean => plugin.known(executionId) !== undefined;
      return openJournal(stateDir, source, 'fix', (file) => new FixJournal(file, isKnown, clock));
    } catch (error) {
      void plugin.stop();
      throw error;
    }
  }

  function sayConnection(): void {
    const status = link.isLoggedOn ? 'connected' : 'disconnected';
    plugin.event({ event: 'connection_status', data: { status } });
  }

  async function stop(): Promise<void> {
    await link.stop();
    await plugin.stop();
    journal.close();
  }

  return {
    start: () => link.start(),
    stop: () => (stopped ??= stop()),
  };
}
