/** The fields of a request by which it is known when its caller sends it again. */
export interface Repeatable {
  /** Of a request whose outcome its caller may never learn: it sends it again under the same id. */
  readonly attemptId?: string;
  /** Of a request that is to be done once, whoever sends it again within a day. */
  readonly onceKey?: string;
}

/** How a store knows a request, and for how long. */
export interface KnownRequest {
  readonly id: string;
  /** In milliseconds. */
  readonly keptMs: number;
}

/** A little longer than a key is known to the gateway. */
const keyKeptMs = 25 * 60 * 60 * 1000;
/** Longer than a caller goes on trying, and than a frozen replica holds a request that its caller has given up. */
const attemptKeptMs = 15 * 60 * 1000;

/**
 * How a request is known to a store; `undefined` when it is sent once. A key is stronger than the id of an attempt. The method tells
 * two requests apart that are made for one key.
 */
export const requestOf = (method: string, { attemptId, onceKey }: Repeatable): KnownRequest | undefined => {
  const id = onceKey ?? attemptId;
  if (id === undefined) return undefined;
  return { id: `${method} ${id}`, keptMs: onceKey === undefined ? attemptKeptMs : keyKeptMs };
};
