import { randomUUID } from 'node:crypto';
import { sizes } from '@agent-workflow/kit/sizes';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import { postgres } from '../../servers/postgres.ts';
import { dropSchemas, openSchema, type Schema } from '../../servers/postgres-schema.ts';
import { withServer } from '../../servers/real-suite.ts';
import { storeApart } from './apart.ts';
import type { Scale } from './threads-open.ts';
import { createSlots, withSlot } from './slots.ts';
import type { WithStore } from './tested.ts';

/** The full number of stories and races is played on the embedded record: here each costs several round trips for every change. */
const scale: Scale = { waitingRuns: sizes.queuedRuns / 20, forkedMessages: 2000, stories: 4, races: 4 };

/** Tests that run at once: all of them together would need more connections than the server has. */
const atOnce = 8;

/** PostgreSQL, with a schema for each place. */
export const withPostgres: WithStore = (test, suite) => {
  withServer(test, postgres, (server) => {
    const takeSlot = createSlots(atOnce);
    const places = new Map<string, Promise<Schema>>();
    test.after.always(async () => {
      await dropSchemas((await Promise.all(places.values())).map(({ options }) => options));
    });
    const openAt = async (place: string): Promise<ThreadStore> => {
      const opening = places.get(place) ?? server().then(openSchema);
      places.set(place, opening);
      return (await opening).open();
    };
    const openPart = withSlot(takeSlot, async (place) => storeApart(await openAt('shared'), place));
    suite({
      ...{ name: 'PostgreSQL', open: withSlot(takeSlot, openAt), openPart: () => openPart(randomUUID()) },
      ...{ keeps: true, ages: false, sizeStories: 2, scale },
    });
  });
};
