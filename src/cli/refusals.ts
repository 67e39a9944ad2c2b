/** The messages of the operations' refusals, by code: the last sentence of each is the remedy. */
import type { NotPerformed } from '../admin/client.js';
import type { Refusal, Refusals } from '../admin/operation.js';
import { errors } from '../errors.js';
import { misused, type Outcome, refused } from './command.js';

export const undoFreeze = (email: string): string =>
  `"signalbox user set ${email} --frozen false" resumes the user here.`;

// oxfmt-ignore
const sentences: { readonly [C in keyof Refusals]: (values: Refusals[C]) => string } = {
  user_not_found:   ({ email }) => `There is no user ${JSON.stringify(email)}. "signalbox user list" shows the users.`,
  invalid_email:    ({ email }) => `${JSON.stringify(email)} is not an email address.`,
  email_taken:      ({ email }) => `There is a user ${email} here already, and users are never merged. Change it with "signalbox user set ${email}", or delete it with "signalbox user delete ${email}".`,
  unknown_plan:     ({ plan, known }) => `There is no plan ${JSON.stringify(plan)}. The plans are ${known.join(', ')}; more can be defined under "plans" in the config file.`,
  invalid_filter:  ({ field }) => `The ${field} is not valid: a platform must be one of the gateway’s, and a name must not be empty or too long.`,
  key_not_found:    ({ id }) => `There is no API key ${id}. "signalbox key list EMAIL" shows the ids.`,
  signal_not_found: ({ requestId }) => `There is no signal ${JSON.stringify(requestId)}: the id may be misspelt, the signal may have been removed at the end of its retention, or its user may have been deleted. "signalbox signal list" shows the signals.`,
  stopped_again:    () => 'While this command was under way, another command halted or froze the same again, or deleted the user. This command has changed nothing. Run it again to end the new stop.',
  invalid_name:     () => errors.invalid_name.message,
  invalid_scopes:   () => errors.invalid_scopes.message,
  invalid_expiration: () => errors.invalid_expiration.message,
  invalid_limits:   ({ errors: faults }) => `These limits are not valid: ${faults.map(({ field, code }) => `${field} (${code})`).join(', ')}. "signalbox key add --help" names the limits and shows an example.`,
  active_key_limit_reached: () => errors.active_key_limit_reached.message,
  user_exists:      ({ email }) => `The user of this file is here already: the file of ${email} was imported before, or it was exported here. Users are never merged, and nothing was changed. "signalbox user list" shows the users.`,
  import_under_way: ({ email }) => `An import of ${email}, or the discard of one, is under way. Wait until it has ended.`,
  leftovers:        ({ email }) => `User ${email} was deleted here, and some of its data is not removed yet. A running gateway removes it within minutes: try again then.`,
  nothing_to_discard: ({ email }) => `There is no import of ${email} here that was cut off. If the user is here, "signalbox user delete ${email}" deletes it.`,
  user_moving:      ({ email }) => `User ${email} is being moved to another gateway, and a cancel here would be lost with the move. Cancel the orders on the other gateway once the user is there, or first stop the move: ${undoFreeze(email)}`,
  user_changed:     ({ email }) => `User ${email} was changed during the export, and the file was not kept. Run the export again.`,
  foreign_row:      ({ email }) => `The file holds rows that do not belong to ${email}; the user was not added. Export the user again.`,
  command_gone:     ({ email }) => `The command for ${email} was cut off. Run it again.`,
  copy_refused:     ({ reason }) => reason,
};

export function refusalOutcome(refusal: Refusal | NotPerformed): Outcome {
  if (refusal.refused === 'not_performed') {
    const { code, message } = refusal;
    return code === 'invalid_settings' ? misused(message, code) : refused(code, message);
  }
  const code = refusal.refused === 'copy_refused' ? refusal.code : refusal.refused;
  const sentence = sentences[refusal.refused] as (values: Refusal) => string;
  return refused(code, sentence(refusal));
}
