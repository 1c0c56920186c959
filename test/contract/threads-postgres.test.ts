import { randomUUID } from 'node:crypto';
import test from 'ava';
import { sizes } from '@agent-workflow/kit/sizes';
import { link } from '@agent-workflow/protos/wire/link';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import { createThreads } from '@agent-workflow/threads/threads';
import { dropSchemas, openSchema, type Schema } from '../servers/postgres-schema.ts';
import { postgres } from '../servers/postgres.ts';
import { withServer } from '../servers/real-suite.ts';
import { storeApart } from './apart.ts';
import { threadSizesContract } from './thread-sizes.ts';
import { threadStoreContract } from './thread-store.ts';
import type { Scale } from './threads-open.ts';
import { threadsContract } from './threads.ts';
import { createTurns } from './turns.ts';

/** The number of stories and races is met on the embedded record: here each costs several round trips for every change. */
const scale: Scale = { waitingRuns: sizes.queuedRuns / 20, forkedMessages: 2000, stories: 4, races: 4 };

/** Tests that run at once: all of them together would need more connections than the server has. */
const atOnce = 8;

withServer(test, postgres, (server) => {
  const takeTurn = createTurns(atOnce);
  const places = new Map<string, Promise<Schema>>();
  test.after.always(async () => {
    await dropSchemas((await Promise.all(places.values())).map(({ options }) => options));
  });

  /** The store of a place: a schema that nobody else uses. Disposal lets the next test begin. */
  const open = async (place: string): Promise<ThreadStore> => {
    const opening = places.get(place) ?? server().then(openSchema);
    places.set(place, opening);
    return (await opening).open();
  };
  const inTurn = (openOne: (place: string) => Promise<ThreadStore>) => {
    const held = new Set<string>();
    return async (place: string): Promise<ThreadStore> => {
      // A test that opens its place twice has one turn.
      const end = held.has(place) ? () => undefined : await takeTurn();
      held.add(place);
      const leave = (): void => {
        held.delete(place);
        end();
      };
      try {
        const store = await openOne(place);
        const close = async (): Promise<void> => {
          await store[Symbol.asyncDispose]();
          leave();
        };
        return { ...store, [Symbol.asyncDispose]: close };
      } catch (error) {
        leave();
        throw error;
      }
    };
  };

  threadStoreContract(test, 'postgres', { open: inTurn(open), keeps: true });
  threadSizesContract(test, 'postgres', { open: () => inTurn(open)(randomUUID()), stories: 2 });

  const apart = inTurn(async (place) => storeApart(await open('shared'), place));
  const openApart = (): Promise<ThreadStore> => apart(randomUUID());

  threadsContract(
    test,
    'in process, on PostgreSQL',
    async (options) => {
      const store = await openApart();
      return {
        ...link(createThreads({ store, ...options })),
        [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
      };
    },
    scale,
  );
});
