/** What an examination says: one finding for each thing looked at, with a remedy where it is not well. */
export type Finding =
  | { readonly check: string; readonly level: 'ok'; readonly message: string }
  | {
      readonly check: string;
      /** A problem keeps the gateway from its work or loses something; a warning may come to that. */
      readonly level: 'warning' | 'problem';
      readonly message: string;
      /** What to do, in a sentence. */
      readonly remedy: string;
    };

export interface Reporter {
  readonly ok: (message: string) => Finding;
  readonly warning: (message: string, remedy: string) => Finding;
  readonly problem: (message: string, remedy: string) => Finding;
}

export function reporter(check: string): Reporter {
  return {
    ok: (message) => ({ check, level: 'ok', message }),
    warning: (message, remedy) => ({ check, level: 'warning', message, remedy }),
    problem: (message, remedy) => ({ check, level: 'problem', message, remedy }),
  };
}
