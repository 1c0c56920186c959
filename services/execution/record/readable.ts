/** For how long the result of a run can be read whose thread goes with its end, in milliseconds. */
export const readableMs = 60_000;
