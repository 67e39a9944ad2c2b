/**
 * Operations on the store as a whole, and on all that belongs to a user. What they need is loaded when
 * they are asked for, so that the everyday commands start fast.
 */
import { existsSync } from 'node:fs';
import { findUser, suspendUser } from '../auth/accounts.js';
import { type Operation, pause } from './operation.js';
import type { RequestOf } from './requests.js';

export const upkeepOperations = {
  'user.export': {
    async run({ store, clock, effects }, { email, file, freeze }) {
      if (findUser(store, email) === undefined) return { refused: 'user_not_found', email };
      if (existsSync(file)) return { refused: 'file_exists', file };
      const user = freeze ? await suspendUser(store, email) : findUser(store, email);
      if (user === undefined) return { refused: 'user_not_found', email };
      if (freeze) {
        effects.userChanged(user.userId);
        await effects.settled();
      }
      const { exportUser } = await import('../transfer/export-user.js');
      try {
        const departure = exportUser(store, email, file, clock.now());
        return departure ?? { refused: 'user_not_found', email };
      } catch (error) {
        const { message: reason } = error as Error;
        return { refused: 'file_unwritable', file, reason, frozen: freeze ? email : null };
      }
    },
  },
  'user.import': {
    makesDirectory: true,
    refuse: ({ plans }, { head: { plan } }) =>
      Object.hasOwn(plans, plan)
        ? undefined
        : { refused: 'unknown_plan', plan, known: Object.keys(plans) },
    async run(context, { file, head }) {
      const { importUser } = await import('../transfer/import-user.js');
      const { importing, effects, store, clock } = context;
      const rows = await importUser({ store, clock, effects, importing }, file, head);
      return typeof rows === 'string' ? { refused: rows, email: head.email } : { rows };
    },
  },
  'user.discard': {
    async run({ store, clock, effects, importing }, { userId, email }) {
      const { discardImport } = await import('../transfer/import-user.js');
      const isDone = await discardImport({ store, clock, effects, importing }, userId);
      return isDone ? { discarded: true } : { refused: 'nothing_to_discard', email };
    },
  },
  backup: {
    async run({ store, settings }, { directory }) {
      const { backUp } = await import('../store/backup.js');
      const backup = await backUp(store, settings.dataDir, directory);
      return 'reason' in backup ? { refused: 'backup_refused', ...backup } : backup;
    },
  },
  'store.examine': {
    async run({ store }) {
      const { walkStore } = await import('../doctor/store-walk.js');
      return walkStore(store, pause);
    },
  },
} as const satisfies Operations;

type UpkeepOperation = 'user.export' | 'user.import' | 'user.discard' | 'backup' | 'store.examine';
type Operations = { readonly [N in UpkeepOperation]: Operation<RequestOf<N>> };
