/** A WebSocket that a handler serves. */
export interface Talk {
  /** The texts that come, one after the other, until the connection is closed. */
  readonly texts: AsyncIterable<string>;
  /** Sends a text; resolves when there is room for the next. */
  readonly send: (text: string) => Promise<void>;
  /** Counts what the caller asks for as a request. @throws RateLimited */
  readonly count: () => Promise<void>;
  /** @param code of RFC 6455, or one of 4000 to 4999 */
  readonly close: (code: number, reason: string) => void;
  /** Fires when the connection is closed. */
  readonly signal: AbortSignal;
}

/** A connection to serve, as the reply to a request for a WebSocket. */
export interface SocketReply {
  readonly talk: (talk: Talk) => Promise<void>;
}
