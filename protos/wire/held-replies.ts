import type { ServerHttp2Stream } from 'node:http2';
import type { Metadata } from '@grpc/grpc-js';
import type { PoolLimits } from './pool-limits.ts';

/** Counts the replies that are kept for the workers of pools until they read them; those to the platform are not counted. */
export interface HeldReplies {
  /** Notes whose call this is, before its handler is called. `metadata` is what the handler is given. */
  readonly watch: (metadata: Metadata, call: { readonly stream: ServerHttp2Stream; readonly pool: string }) => void;
  /** Counts bytes that are sent to the caller. They count until the result is called, or the call is closed: it is, once its caller has read all of it. */
  readonly hold: (metadata: Metadata, bytes: number) => () => void;
}

interface Call {
  readonly pool: string;
  readonly stream: ServerHttp2Stream;
  readonly held: Set<() => void>;
}

export function createHeldReplies(hold: PoolLimits['hold']): HeldReplies {
  const calls = new WeakMap<Metadata, Call>();
  return {
    watch: (metadata, { stream, pool }) => {
      const held: Call['held'] = new Set();
      stream.once('close', () => {
        calls.delete(metadata);
        for (const release of held) release();
      });
      calls.set(metadata, { stream, pool, held });
    },

    hold: (metadata, bytes) => {
      const call = calls.get(metadata);
      // gRPC sends nothing more on a stream that is gone.
      if (!call || call.stream.destroyed) return notHeld;
      const { stream, pool, held } = call;
      const end = hold(pool, bytes, () => stream.session?.destroy());
      const release = (): void => {
        if (held.delete(release)) end();
      };
      held.add(release);
      return release;
    },
  };
}

const notHeld = (): void => undefined;
