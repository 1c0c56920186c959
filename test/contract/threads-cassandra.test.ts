import { randomUUID } from 'node:crypto';
import test from 'ava';
import { sizes } from '@agent-workflow/kit/sizes';
import { connect } from '@agent-workflow/protos/wire/connect';
import { link } from '@agent-workflow/protos/wire/link';
import { serve } from '@agent-workflow/protos/wire/serve';
import type { ThreadStore } from '@agent-workflow/threads/ports/port';
import { createThreads } from '@agent-workflow/threads/threads';
import { cassandra } from '../servers/cassandra.ts';
import { openKeyspace, type Keyspace } from '../servers/cassandra-keyspace.ts';
import { withServer } from '../servers/real-suite.ts';
import { storeApart } from './apart.ts';
import type { Scale } from './threads-open.ts';
import { threadsContract } from './threads.ts';

/**
 * Every write of the queue writes all of it, and every write is conditional: the limit of waiting runs, a matter of the decision
 * and not of the store, is met on the embedded record. The random stories are told there in their full number too.
 */
const scale: Scale = { waitingRuns: sizes.queuedRuns / 20, forkedMessages: 2000, stories: 2, races: 4 };

/** All tests at once would only time each other out. */
const atOnce = 6;

withServer(test, cassandra, (server) => {
  let opening: Promise<Opened> | undefined;
  const openStore = async (): Promise<Opened> => {
    const keyspace = await openKeyspace(await server());
    return { keyspace, store: await keyspace.open() };
  };
  test.after.always(async () => {
    const opened = await opening;
    await opened?.store[Symbol.asyncDispose]();
    await opened?.keyspace[Symbol.asyncDispose]();
  });
  const takeTurn = createTurns(atOnce);
  /** Whose threads nobody else sees. Disposal lets the next test begin. */
  const openApart = async (): Promise<ThreadStore> => {
    const end = await takeTurn();
    try {
      const store = storeApart((await (opening ??= openStore())).store, randomUUID());
      // The one below stays open for the others.
      return { ...store, [Symbol.asyncDispose]: () => Promise.resolve().then(end) };
    } catch (error) {
      end();
      throw error;
    }
  };

  threadsContract(
    test,
    'in process, on Cassandra',
    async (options) => {
      const store = await openApart();
      return {
        ...link(createThreads({ store, ...options })),
        [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
      };
    },
    scale,
  );

  threadsContract(
    test,
    'over gRPC, on Cassandra',
    async (options) => {
      const store = await openApart();
      const wire = { host: '127.0.0.1', port: 0, drainMs: 1000, onFailure: () => undefined };
      const server = await serve({ threads: createThreads({ store, ...options }) }, wire);
      const client = connect('threads', `127.0.0.1:${String(server.port)}`);
      return {
        ...client,
        [Symbol.asyncDispose]: async () => {
          await client[Symbol.asyncDispose]();
          await server[Symbol.asyncDispose]();
          await store[Symbol.asyncDispose]();
        },
      };
    },
    scale,
  );
});

/** Lets so many go on at once; whoever has had a turn ends it. Who came last is next: a test of many turns comes to an end. */
function createTurns(count: number): () => Promise<() => void> {
  const waiting: (() => void)[] = [];
  let free = count;
  const end = (): void => {
    const next = waiting.pop();
    if (next) next();
    else free += 1;
  };
  return async () => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    return end;
  };
}

interface Opened {
  readonly keyspace: Keyspace;
  readonly store: ThreadStore;
}
