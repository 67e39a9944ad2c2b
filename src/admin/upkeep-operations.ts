/**
 * Operations on the store as a whole, and on all that belongs to a user. Their modules are loaded when
 * they are needed, so that the everyday commands start fast.
 */
import { findUser, suspendUser } from '../auth/accounts.js';
import { isMoving } from '../auth/moving.js';
import { refusePlan, stopAgain, userNotFound } from './account-operations.js';
import { type Operations, pause } from './operation.js';

export const upkeepOperations = {
  'user.export': {
    hasRows: true,
    async run({ store, clock, effects, ending }, { email, freeze }, { send }) {
      if (freeze) stopAgain({ ending }, email);
      const user = freeze ? await suspendUser(store, email) : findUser(store, email);
      if (user === undefined) return userNotFound(email);
      if (freeze) effects.userChanged(user.userId);
      // What was begun before the suspension comes with the user, also at a second export.
      if (isMoving(user)) await effects.settled();
      const { exportUser } = await import('../transfer/export-user.js');
      const exported = await exportUser({ reader: store, clock, pause, send }, user);
      return typeof exported === 'string' ? { refused: exported, email } : exported;
    },
  },
  'user.import': {
    hasRows: true,
    refuse: refusePlan,
    async run({ store, clock, effects, importing }, user, { next }) {
      const { userId, email } = user;
      const { importUser } = await import('../transfer/import-user.js');
      const rows = await importUser({ store, clock, effects, importing }, user, next);
      if (typeof rows === 'string') return { refused: rows, email };
      await effects.endUnsent(userId);
      return { rows };
    },
  },
  'user.discard': {
    async run({ store, clock, effects, importing }, { userId, email }) {
      const { discardImport } = await import('../transfer/import-user.js');
      const refused = await discardImport({ store, clock, effects, importing }, userId);
      return refused === undefined ? { discarded: true } : { refused, email };
    },
  },
  'store.copy': {
    hasRows: true,
    async run({ store, settings }, _request, rows) {
      const { withStagedCopy } = await import('../store/staged-copy.js');
      const refusal = await withStagedCopy(store, settings.dataDir, async (staging) => {
        // The copy is there until the command ends its rows, or its connection.
        if (await rows.send({ staging })) await rows.next();
      });
      return refusal === undefined ? { copied: true } : { refused: 'copy_refused', ...refusal };
    },
  },
} as const satisfies Partial<Operations>;
