import type { Http2Server, Http2Session, ServerHttp2Stream } from 'node:http2';
import type { Server } from '@grpc/grpc-js';
import { ServiceError } from '@agent-workflow/kit/errors';
import type { Caller } from './pool-gate.ts';
import { tooMuch, type PoolLimiting } from './pool-limits.ts';

/** How much of a server callers may keep open. */
interface ConnectionBounds {
  /** Connections on which no known caller has made a call yet. */
  readonly unknown: number;
  /** How long a connection may be without such a call, in milliseconds. */
  readonly unknownMs: number;
  /** Calls under way on one connection by callers that are not known: of RPCs that everyone may call. */
  readonly openCalls: number;
  /** Connections of one pool. */
  readonly ofPool: number;
  /** Calls and streams under way on one connection of a pool. HTTP/2 shows the client this number, so that further calls wait there. */
  readonly callsOfPool: number;
  /** Streams of calls of one pool. */
  readonly streamsOfPool: number;
}

interface ConnectionsOptions {
  readonly bounds: ConnectionBounds;
  /** Called with each call of a pool that is refused. */
  readonly onLimited: PoolLimiting['onLimited'] | undefined;
}

interface Entering {
  /** Absent when the caller is not known. */
  readonly caller: Caller | undefined;
  /** Whether the call is a stream of calls. */
  readonly isStream: boolean;
}

/** The connections of one server. Each costs memory, also one on which nothing is sent. */
export interface Connections {
  /** Watches the connections of a server that listens. */
  readonly watch: (server: Server) => void;
  /** Notes who calls on the connection of a call. @throws RateLimited when the caller has too many connections, streams or calls. */
  readonly enter: (stream: ServerHttp2Stream, call: Entering) => void;
}

/** How long calls under way may take on a connection that is closed, in milliseconds. */
const closingMs = 10_000;
const retryAfterMs = 500;

/**
 * Bounds connections. A connection is unknown until a known caller makes a call on it. When there are too many unknown ones the oldest is closed, and
 * none stays unknown for long: so connections without a token do not shut out a caller that makes its first call soon. A connection of a pool beyond
 * its bound is closed when its first call comes. Connections of the platform are not counted.
 */
export function createConnections({ bounds, onLimited }: ConnectionsOptions): Connections {
  /** The oldest comes first. */
  const unknown = new Map<Http2Session, NodeJS.Timeout>();
  const pools = new Map<string, Set<Http2Session>>();
  const streams = new Map<string, number>();
  const openCalls = new Map<Http2Session, number>();

  const forget = (connection: Http2Session): void => {
    clearTimeout(unknown.get(connection));
    unknown.delete(connection);
  };

  const add = (connection: Http2Session): void => {
    const [oldest] = unknown.keys();
    if (oldest && unknown.size >= bounds.unknown) {
      forget(oldest);
      oldest.destroy();
    }
    const late = (): void => {
      connection.close();
      unknown.set(connection, setTimeout(() => connection.destroy(), closingMs).unref());
    };
    unknown.set(connection, setTimeout(late, bounds.unknownMs).unref());
    connection.once('close', () => forget(connection));
  };

  const refuse = (pool: string, bound: 'connections' | 'streams', most: number): never => {
    onLimited?.({ pool, bound, most });
    throw tooMuch({ pool, bound, most, tokens: 0 });
  };

  const addToPool = (connection: Http2Session, pool: string): void => {
    const known = pools.get(pool) ?? new Set();
    pools.set(pool, known);
    if (known.has(connection)) return;
    if (known.size >= bounds.ofPool) {
      connection.close();
      refuse(pool, 'connections', bounds.ofPool);
    }
    known.add(connection);
    if (!connection.destroyed) connection.settings({ maxConcurrentStreams: bounds.callsOfPool });
    connection.once('close', () => known.delete(connection));
  };

  const addStream = (stream: ServerHttp2Stream, pool: string): void => {
    if ((streams.get(pool) ?? 0) >= bounds.streamsOfPool) refuse(pool, 'streams', bounds.streamsOfPool);
    count(streams, pool, stream);
  };

  const addOpenCall = (stream: ServerHttp2Stream, connection: Http2Session): void => {
    if ((openCalls.get(connection) ?? 0) >= bounds.openCalls)
      throw new ServiceError('RateLimited', `more than ${String(bounds.openCalls)} calls under way`, { retryAfterMs });
    count(openCalls, connection, stream);
  };

  return {
    watch: (server) => {
      for (const each of serversOf(server)) each.on('session', add);
    },

    enter: (stream, { caller, isStream }) => {
      const { session: connection } = stream;
      if (!connection) return;
      if (!caller) {
        addOpenCall(stream, connection);
        return;
      }
      if (caller !== 'platform') {
        addToPool(connection, caller.name);
        if (isStream) addStream(stream, caller.name);
      }
      forget(connection);
    },
  };
}

/** Counts a call until it has ended. */
function count<K>(counts: Map<K, number>, key: K, stream: ServerHttp2Stream): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
  stream.once('close', () => {
    const left = (counts.get(key) ?? 0) - 1;
    if (left > 0) counts.set(key, left);
    else counts.delete(key);
  });
}

/** gRPC gives no other view of a connection before the first call on it. */
const serversOf = (server: Server): readonly Http2Server[] => [
  ...((server as unknown as { readonly http2Servers?: ReadonlyMap<Http2Server, unknown> }).http2Servers?.keys() ?? []),
];
