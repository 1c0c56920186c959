import { cursorsByTime, type Cursors } from '@agent-workflow/kit/cursors';
import type { ListRequest } from '@agent-workflow/protos/memory';
import type { ListPosition } from '../ports/records.ts';

/** The cursors of the list of an owner's memories that a selection gives. */
export function cursorsOf({ owner, selection }: Pick<ListRequest, 'owner' | 'selection'>): Cursors<ListPosition> {
  const { memoryType, category, threadId, filtersJson } = selection;
  const filters = filtersJson && Buffer.from(filtersJson).toString();
  return cursorsByTime(['memories', owner, memoryType, category, threadId, filters], {
    toParts: ({ timestamp, memoryId }) => [timestamp, memoryId],
    fromParts: (timestamp, memoryId) => ({ timestamp, memoryId }),
  });
}
