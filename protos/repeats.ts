/** The fields of a request that identify it when its caller sends it again. */
export interface Repeatable {
  /** Made by the wire for one request. When its outcome is not known, the wire sends it again with the same id. */
  readonly attemptId?: string;
  /** The idempotency key of the request: its effect is made once, also when the caller itself sends it again within a day. */
  readonly onceKey?: string;
}

/** The id under which a store keeps the outcome of a request, and for how long. */
export interface KnownRequest {
  readonly id: string;
  /** In milliseconds. */
  readonly keptMs: number;
}

/** A little longer than the gateway keeps a key. */
const keyKeptMs = 25 * 60 * 60 * 1000;
/** Longer than a caller tries again, and longer than a frozen replica may hold a request whose caller has gone. */
const attemptKeptMs = 15 * 60 * 1000;

/**
 * The identity of a request for a store; `undefined` when it has neither id. An idempotency key counts in place of an attempt id. The
 * method is a part of the identity, because two methods may be called for one key.
 */
export const requestOf = (method: string, { attemptId, onceKey }: Repeatable): KnownRequest | undefined => {
  const id = onceKey ?? attemptId;
  if (id === undefined) return undefined;
  return { id: `${method} ${id}`, keptMs: onceKey === undefined ? attemptKeptMs : keyKeptMs };
};
