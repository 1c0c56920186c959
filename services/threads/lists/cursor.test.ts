import { cursorsByTime } from '@agent-workflow/kit/cursors';
import { isServiceError } from '@agent-workflow/kit/errors';
import type { RunStatus } from '@agent-workflow/protos/lists';
import test from 'ava';
import fc from 'fast-check';
import {
  checkpointsCursors,
  dueCursors,
  messagesCursors,
  ownRunsCursors,
  runMessagesCursors,
  runsCursors,
  threadsCursors,
} from './cursor.ts';
import type { RunSelection } from './run-filter.ts';

interface Request {
  readonly owner: string;
  readonly id: string;
  readonly search?: string;
  readonly newestFirst?: boolean;
  readonly statuses: readonly RunStatus[];
}

const request: fc.Arbitrary<Request> = fc.record(
  {
    owner: fc.constantFrom('u:ada', 'anon'),
    id: fc.constantFrom('a', 'b'),
    search: fc.constantFrom('', 'tea', 'TEA', 'coffee'),
    newestFirst: fc.boolean(),
    statuses: fc.constantFrom<readonly RunStatus[]>([], ['failed'], ['failed', 'queued'], ['queued', 'failed']),
  },
  { requiredKeys: ['owner', 'id', 'statuses'] },
);

interface List {
  readonly give: (of: Request) => string;
  readonly take: (of: Request, cursor: string) => unknown;
  /** What decides which items the list has. */
  readonly identity: (of: Request) => unknown;
}

const time = 1_790_000_000_000;
const searched = ({ search = '' }: Request): string => search.toLowerCase();

const selectionOf = ({ statuses, search }: Request): RunSelection => ({
  statuses,
  filter: search === undefined ? {} : { search },
});

/** Every list of the service, with a request to each. */
const lists: Readonly<Record<string, List>> = {
  threads: {
    give: (of) => threadsCursors(of).toCursor({ updatedAt: time, threadId: of.id }),
    take: (of, cursor) => threadsCursors(of).fromCursor(cursor),
    identity: (of) => [of.owner, searched(of)],
  },
  messages: {
    give: (of) => messagesCursors({ ...of, threadId: of.id }).toCursor(7),
    take: (of, cursor) => messagesCursors({ ...of, threadId: of.id }).fromCursor(cursor),
    identity: (of) => [of.owner, of.id, searched(of), of.newestFirst ?? false],
  },
  runMessages: {
    give: (of) => runMessagesCursors({ ...of, runId: of.id }).toCursor(7),
    take: (of, cursor) => runMessagesCursors({ ...of, runId: of.id }).fromCursor(cursor),
    identity: (of) => [of.owner, of.id],
  },
  checkpoints: {
    give: (of) => checkpointsCursors({ ...of, threadId: of.id }).toCursor(7),
    take: (of, cursor) => checkpointsCursors({ ...of, threadId: of.id }).fromCursor(cursor),
    identity: (of) => [of.owner, of.id],
  },
  runs: {
    give: (of) => runsCursors({ ...of, threadId: of.id }).toCursor({ createdAt: time, runId: 'r' }),
    take: (of, cursor) => runsCursors({ ...of, threadId: of.id }).fromCursor(cursor),
    identity: (of) => [of.owner, of.id],
  },
  ownRuns: {
    give: (of) => ownRunsCursors({ owner: of.owner, ...selectionOf(of) }).toCursor({ createdAt: time, runId: 'r' }),
    take: (of, cursor) => ownRunsCursors({ owner: of.owner, ...selectionOf(of) }).fromCursor(cursor),
    identity: (of) => [of.owner, of.statuses.toSorted(), of.search ?? null],
  },
  dueFiles: {
    give: () => dueCursors.toCursor({ dueAt: time, fileId: 'f' }),
    take: (_, cursor) => dueCursors.fromCursor(cursor),
    identity: () => [],
  },
};

test('a list takes its own cursors, and none of another list, owner, thread or filter', (t) => {
  const name = fc.constantFrom(...Object.keys(lists));
  fc.assert(
    fc.property(name, name, request, request, (from, to, given, asked) => {
      const [giver, taker] = [lists[from] as List, lists[to] as List];
      const cursor = giver.give(given);
      const isOwn = from === to && JSON.stringify(giver.identity(given)) === JSON.stringify(taker.identity(asked));
      if (isOwn) t.notThrows(() => taker.take(asked, cursor));
      else
        t.true(
          isServiceError(
            t.throws(() => taker.take(asked, cursor)),
            'Invalid',
          ),
          `${from} to ${to}`,
        );
    }),
    { numRuns: 1000 },
  );
});

test('a cursor of a list of runs without further filters is that of a replica that knows none', (t) => {
  const before = cursorsByTime(['runs of an owner', 'anon', ['failed', 'queued'], 'billing'], {
    toParts: (mark: { readonly at: number; readonly id: string }) => [mark.at, mark.id],
    fromParts: (at, id) => ({ at, id }),
  });
  const { toCursor } = ownRunsCursors({ owner: 'anon', statuses: ['queued', 'failed'], agent: 'billing', filter: {} });
  t.deepEqual(before.fromCursor(toCursor({ createdAt: time, runId: 'r' })), { at: time, id: 'r' });
});
