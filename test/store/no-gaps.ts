/** Known gaps for a writer whose store is not read. */
export const noGaps = { leave: (): void => undefined };
