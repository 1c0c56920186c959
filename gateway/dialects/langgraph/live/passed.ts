export interface Passed {
  readonly pass: (ordinal: number) => void;
  readonly isPassed: (ordinal: number) => boolean;
  /** Whether this run and all before it are passed. */
  readonly isBelow: (ordinal: number) => boolean;
}

/** Which runs of a thread are passed, by their ordinals: nearly all of them stand in a row from the first. */
export function createPassed(begun: { readonly below: number; readonly also: readonly number[] } = none): Passed {
  let { below } = begun;
  const also = new Set(begun.also);
  const join = (): void => {
    while (also.delete(below + 1)) below += 1;
  };
  join();
  return {
    pass: (ordinal) => {
      also.add(ordinal);
      join();
    },
    isPassed: (ordinal) => ordinal <= below || also.has(ordinal),
    isBelow: (ordinal) => ordinal <= below,
  };
}

const none = { below: 0, also: [] };
