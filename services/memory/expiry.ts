import { every } from '@agent-workflow/kit/life';
import type { MemoryRecords } from './ports/records.ts';

/** How often expired memories are removed. Until then they count as absent already. */
const sweepEveryMs = 60_000;

/** Removes expired memories until it is disposed. Every replica may do so. */
export const sweepExpired = (
  store: Pick<MemoryRecords, 'removeExpired'>,
  onFailure: (error: unknown) => void,
): AsyncDisposable => every(sweepEveryMs, async () => store.removeExpired(Date.now(), onFailure), onFailure);
