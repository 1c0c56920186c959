import { cursorsByNumber, cursorsByTime, type Cursors } from '@agent-workflow/kit/cursors';
import type { Page } from '@agent-workflow/kit/pages';
import type {
  ListCheckpointsRequest,
  ListAllRunsRequest,
  ListFilesRequest,
  ListMessagesRequest,
  ListOwnRunsRequest,
  ListResourcesRequest,
  ListRunMessagesRequest,
  ListRunsRequest,
  ListThreadsRequest,
  SearchThreadsRequest,
} from '@agent-workflow/protos/threads';
import type { DueMark } from '../ports/files.ts';
import type { RecencyMark, RunMark } from '../ports/lists.ts';
import type { Listing } from './paging.ts';
import type { RunSelection } from './run-filter.ts';

/** A search ignores case, and an empty one finds everything. */
const searched = (search = ''): string => search.toLowerCase();

export const threadsCursors = ({ owner, search }: Pick<ListThreadsRequest, 'owner' | 'search'>): Cursors<RecencyMark> =>
  cursorsByTime(['threads', owner, searched(search)], {
    toParts: ({ updatedAt, threadId }) => [updatedAt, threadId],
    fromParts: (updatedAt, threadId) => ({ updatedAt, threadId }),
  });

/** The place of a thread in an order of a search: by a number, then by a text. */
export interface SortMark {
  readonly time: number;
  readonly text: string;
}

export const foundThreadsCursors = ({
  owner,
  filter,
  sortBy,
  ascending,
}: Pick<SearchThreadsRequest, 'owner' | 'filter' | 'sortBy' | 'ascending'>): Cursors<SortMark> => {
  const { metadataJson, metadataIfAnyJson, valuesJson, ...rest } = filter;
  const texts = [metadataJson, metadataIfAnyJson, valuesJson].map((json) => json && Buffer.from(json).toString());
  return cursorsByTime(['found threads', owner, rest, ...texts, sortBy, ascending], {
    toParts: ({ time, text }) => [time, text],
    fromParts: (time, text) => ({ time, text }),
  });
};

export const messagesCursors = ({
  owner,
  threadId,
  search,
  newestFirst = false,
}: Pick<ListMessagesRequest, 'owner' | 'threadId' | 'search' | 'newestFirst'>): Cursors<number> =>
  cursorsByNumber(['messages', owner, threadId, searched(search), newestFirst]);

export const runMessagesCursors = ({
  owner,
  runId,
}: Pick<ListRunMessagesRequest, 'owner' | 'runId'>): Cursors<number> =>
  cursorsByNumber(['messages of a run', owner, runId]);

export const checkpointsCursors = ({
  owner,
  threadId,
}: Pick<ListCheckpointsRequest, 'owner' | 'threadId'>): Cursors<number> =>
  cursorsByNumber(['checkpoints', owner, threadId]);

const runMarks = {
  toParts: ({ createdAt, runId }: RunMark) => [createdAt, runId] as const,
  fromParts: (createdAt: number, runId: string): RunMark => ({ createdAt, runId }),
};

/** A place in a list of runs, and how many of them were read up to there. */
export interface ListEnd {
  readonly mark: RunMark;
  readonly read: number;
}

export const runsCursors = ({ owner, threadId }: Pick<ListRunsRequest, 'owner' | 'threadId'>): Cursors<RunMark> =>
  cursorsByTime(['runs', owner, threadId], runMarks);

export const ownRunsCursors = (selection: Pick<ListOwnRunsRequest, 'owner'> & RunSelection): Cursors<RunMark> =>
  cursorsByTime(['runs of an owner', selection.owner, ...selectionParts(selection)], runMarks);

export const allRunsCursors = ({
  newestOfThread,
  waiting,
  owner,
  ...selection
}: RunSelection &
  Pick<ListAllRunsRequest, 'newestOfThread' | 'waiting'> & { readonly owner: string | undefined }): Cursors<ListEnd> =>
  cursorsByTime(['all runs', owner ?? null, newestOfThread, waiting, ...selectionParts(selection)], {
    toParts: ({ mark: { createdAt, runId }, read }) => [createdAt, `${String(read)} ${runId}`],
    fromParts: (createdAt, text) => {
      const end = text.indexOf(' ');
      const read = Number(text.slice(0, Math.max(0, end)));
      return { mark: { createdAt, runId: text.slice(end + 1) }, read: read > 0 ? read : 0 };
    },
  });

/**
 * The same for what selects the same, whatever the order of its parts. Without a filter it is as it was before there were any: pages of one
 * list may be read from replicas of both versions.
 */
function selectionParts({ statuses, agent, filter = {} }: RunSelection): readonly unknown[] {
  const further = Object.entries(filter).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return [
    [...new Set(statuses)].toSorted(),
    ...(agent === undefined ? [] : [agent]),
    ...(further.length === 0 ? [] : [further]),
  ];
}

/** A name that is searched for may be long: the cursor has it as a hash. */
export const filesCursors = ({ owner, filter = {} }: Pick<ListFilesRequest, 'owner' | 'filter'>): Cursors<string> => {
  const { search, mediaType, from, to } = filter;
  const selection = [searched(search), mediaType, from, to].map((part) => part ?? null);
  return cursorsByTime(['files', owner, ...selection], { toParts: (id) => [0, id], fromParts: (_, id) => id });
};

export const dueCursors: Cursors<DueMark> = cursorsByTime(['due files'], {
  toParts: ({ dueAt, fileId }) => [dueAt, fileId],
  fromParts: (dueAt, fileId) => ({ dueAt, fileId }),
});

export const resourcesCursors = ({ owner, kind }: Pick<ListResourcesRequest, 'owner' | 'kind'>): Cursors<string> =>
  cursorsByTime(['resources', owner, kind], { toParts: (id) => [0, id], fromParts: (_, id) => id });

/** Where a page begins: after its cursor, else after so many items. @throws Invalid for the cursor of another list. */
export const startOf = <Mark>(
  { fromCursor }: Cursors<Mark>,
  { cursor, offset = 0 }: { readonly cursor?: string; readonly offset?: number },
): { readonly offset: number; readonly after?: Mark } =>
  cursor === undefined ? { offset } : { offset: 0, after: fromCursor(cursor) };

/** The cursor of the page after this one, if there is one. */
export function nextOf<Row, Mark>(
  { items, hasMore }: Page<Row>,
  { markOf, toCursor }: Pick<Listing<Row, Mark>, 'markOf'> & Pick<Cursors<Mark>, 'toCursor'>,
): { readonly cursor?: string } {
  const last = items.at(-1);
  return hasMore && last !== undefined ? { cursor: toCursor(markOf(last)) } : {};
}
