import { conflict } from '@agent-workflow/kit/errors';
import { createKeyedLock } from '@agent-workflow/kit/keyed-lock';
import { backoffMs, pause } from '@agent-workflow/kit/retry';
import type { Resource } from '@agent-workflow/protos/threads';

const inTurn = createKeyedLock();

/** How often a change is tried that other replicas and sweeps meet, and the pauses between. */
const attempts = 10;
const pauses = { firstMs: 20, maxMs: 500, jitter: 1 };

/**
 * Changes an object of the record, again where another write comes first. The changes of this process take their turns, so that they do not use up
 * each other's attempts: of many at the same time all count.
 * @param change reads the object and writes it; resolves with `undefined` where another write came first.
 * @throws Conflict when all attempts were met.
 */
export const changeInTurn = <T>(
  { kind, owner, id }: Pick<Resource, 'kind' | 'owner' | 'id'>,
  change: () => Promise<T | undefined>,
): Promise<T> =>
  inTurn(JSON.stringify([kind, owner, id]), async () => {
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const changed = await change();
      if (changed !== undefined) return changed;
      await pause(backoffMs(pauses, attempt));
    }
    throw conflict(`${kind} "${id}" keeps changing`);
  });
