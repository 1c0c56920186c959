import { createHash } from 'node:crypto';

/** A Lua script that Redis runs as one step. */
export interface Script {
  readonly source: string;
  readonly sha1: string;
}

export const script = (source: string): Script => ({
  source,
  sha1: createHash('sha1').update(source).digest('hex'),
});

/** In a script: milliseconds of Redis's own clock, which is every replica's, as `now`. */
export const readClock = `local clock = redis.call('TIME') local now = clock[1] * 1000 + clock[2] / 1000`;

/** Who is told what is published on a channel. */
export interface Listener {
  readonly onMessage: (message: string) => void;
  /** Messages may have been missed. What is asked from now on is answered after this. */
  readonly onGap: () => void;
  /** From now on no message is missed until the next gap. */
  readonly onListening?: () => void;
}

/** While Redis is away it is asked for a connection at least this often, in milliseconds. */
export const longestWaitMs = 500;

/**
 * What the adapters of Redis share: the one connection of this process. While Redis is away every call rejects with
 * `Unavailable` at once; a command that gets no answer in time rejects then. What became of a command that was rejected
 * is not known.
 */
export interface Redis extends AsyncDisposable {
  /** The key of this name among those that are ours. */
  readonly key: (name: string) => string;
  readonly send: (...command: readonly string[]) => Promise<unknown>;
  /** Runs a script on a key, or several. */
  readonly run: (script: Script, keys: string | readonly string[], ...values: readonly string[]) => Promise<unknown>;
  /** Tells the listener from now on, across connections. */
  readonly listen: (channel: string, listener: Listener) => void;
  /** Whether nothing that is published on the channel from now on can be missed without `onGap` being called. */
  readonly isListening: (channel: string) => boolean;
}
