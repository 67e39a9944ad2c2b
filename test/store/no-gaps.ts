/** For a writer whose store nobody reads. */
export const noGaps = { leave: (): void => undefined };
