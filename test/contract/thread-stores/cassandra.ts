import { randomUUID } from 'node:crypto';
import { sizes } from '@agent-workflow/kit/sizes';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import { cassandra } from '../../servers/cassandra.ts';
import { openKeyspace, type Keyspace } from '../../servers/cassandra-keyspace.ts';
import { withServer } from '../../servers/real-suite.ts';
import { storeApart } from './apart.ts';
import type { Scale } from './threads-open.ts';
import { createSlots, withSlot } from './slots.ts';
import type { WithStore } from './tested.ts';

/**
 * Every write of the queue writes all of it, and every write is conditional: the limit of waiting runs, a matter of the decision
 * and not of the store, is met on the embedded record. The full number of random stories is played there too.
 */
const scale: Scale = { waitingRuns: sizes.queuedRuns / 20, forkedMessages: 2000, stories: 2, races: 4 };

/** Tests that run at once: all of them together would only time each other out. */
const atOnce = 6;

/** Segments of so few rows that every log has many. */
const manySegments = { width: 3, maxRows: 4, maxBytes: 1000, keptRows: 2 };

/** Cassandra as it is set up by default, and with every log cut into many segments, in one keyspace. */
export const withCassandra: WithStore = (test, suite) => {
  withServer(test, cassandra, (server) => {
    let opening: Promise<Keyspace> | undefined;
    const keyspace = (): Promise<Keyspace> => (opening ??= server().then(openKeyspace));
    const shared: Promise<ThreadStore>[] = [];
    test.after.always(async () => {
      for (const store of await Promise.all(shared)) await store[Symbol.asyncDispose]();
      await (await opening)?.[Symbol.asyncDispose]();
    });
    const takeSlot = createSlots(atOnce);

    const openers = (options: Parameters<Keyspace['open']>[0]) => {
      const openStore = async (): Promise<ThreadStore> => (await keyspace()).open(options);
      let sharing: Promise<ThreadStore> | undefined;
      const share = (): Promise<ThreadStore> => {
        if (!sharing) shared.push((sharing = openStore()));
        return sharing;
      };
      const openPart = withSlot(takeSlot, async (place) => {
        const part = storeApart(await share(), place);
        // What they share stays open for the others.
        return { ...part, [Symbol.asyncDispose]: () => Promise.resolve() };
      });
      return {
        open: withSlot(takeSlot, async (place) => storeApart(await openStore(), place)),
        openPart: () => openPart(randomUUID()),
      };
    };
    const promises = { keeps: true, ages: true, sizeStories: 2 };
    suite({ name: 'Cassandra', ...openers({}), ...promises, scale });
    suite({ name: 'Cassandra with every log in many segments', ...openers({ sizes: manySegments }), ...promises });
  });
};
