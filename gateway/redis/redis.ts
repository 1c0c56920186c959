import { createHash } from 'node:crypto';

/** A Lua script, which Redis runs atomically. */
interface Script {
  readonly source: string;
  readonly sha1: string;
}

export const script = (source: string): Script => ({
  source,
  sha1: createHash('sha1').update(source).digest('hex'),
});

/** Lua that sets `now` to the milliseconds of Redis's clock, which is the same for all replicas. */
export const readClock = `local clock = redis.call('TIME') local now = clock[1] * 1000 + clock[2] / 1000`;

/** A value for a script. */
type Value = string | (() => string);

/** Receives the messages of a channel. */
export interface Listener {
  readonly onMessage: (message: string) => void;
  /** Messages may have been missed before this call. */
  readonly onGap: () => void;
  /** From here until the next `onGap` no message is missed. */
  readonly onListening?: () => void;
}

/** The longest pause between two attempts to connect to Redis, in milliseconds. */
export const maxReconnectMs = 500;

/**
 * The one connection to Redis of this process, which all adapters of Redis share. While Redis is unavailable every call rejects with
 * `Unavailable` at once; a command without a reply in time rejects then. A rejected command may have been executed.
 */
export interface Redis extends AsyncDisposable {
  /** The full key of a name, with our prefix. */
  readonly key: (name: string) => string;
  readonly send: (...command: readonly string[]) => Promise<unknown>;
  /**
   * Runs a script with one key or several. A script that Redis does not know yet is sent twice, and commands that are sent in
   * between are executed before it: a value that these may change is a function, which is called at each send.
   */
  readonly run: (script: Script, keys: string | readonly string[], ...values: readonly Value[]) => Promise<unknown>;
  /** Subscribes the listener to a channel, also on later connections. */
  readonly listen: (channel: string, listener: Listener) => void;
  /** Whether every message that is published on the channel from now on arrives, or `onGap` is called. */
  readonly isListening: (channel: string) => boolean;
}
