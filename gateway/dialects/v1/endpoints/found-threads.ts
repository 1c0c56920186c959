import { idText, readTime } from '@agent-workflow/protos/message';
import type { ThreadFilter, ThreadMatch } from '@agent-workflow/protos/threads';
import type { Static } from 'typebox';
import { jsonObject, jsonText, textOrNull, timeText } from '../../../http/json.ts';
import * as examples from '../examples/found-threads.ts';
import { maxLimit } from '../schemas/common.ts';
import {
  CountThreads,
  FoundThreads,
  Inbox,
  InboxQuery,
  SearchThreads,
  ThreadCount,
  selectable,
} from '../schemas/threads.ts';
import { boundedBytes } from '../../common/bounded.ts';
import { comparedBytes, metadataFilter } from '../../common/metadata-filter.ts';
import { endpoint } from './common/endpoint.ts';
import { nextPage, pageOf } from './common/page.ts';
import { shownItems } from '../../common/shown-items.ts';
import { threadText } from './common/shown-items.ts';

function filterOf(input: Static<typeof CountThreads>): ThreadFilter {
  const { thread_ids: ids = [], search, agent, status = [], waits_for: waitsFor, metadata, values } = input;
  return {
    threadIds: ids.map(idText),
    statuses: typeof status === 'string' ? [status] : status,
    ...(search && { search }),
    ...(agent !== undefined && { agent }),
    ...(waitsFor !== undefined && { waitsFor }),
    ...timesOf(input),
    ...(metadata && { metadataJson: metadataFilter(metadata, ['body', 'metadata']) }),
    ...(values && { valuesJson: boundedBytes(values, ['body', 'values'], comparedBytes) }),
  };
}

const timeNames = {
  createdFrom: 'created_from',
  createdTo: 'created_to',
  updatedFrom: 'updated_from',
  updatedTo: 'updated_to',
} as const;

/** The times of a request in milliseconds: those of threads have no smaller part. */
function timesOf(input: Static<typeof CountThreads>): Partial<Record<keyof typeof timeNames, number>> {
  const times = Object.entries(timeNames).flatMap(([name, field]) => {
    const at = readTime(input[field], ['body', field]);
    return at === undefined ? [] : [[name, Math.ceil(at)] as const];
  });
  return Object.fromEntries(times);
}

const unlessWhole = (atLeast: boolean): Record<string, string> => (atLeast ? { at_least: 'true' } : {});

const shownUnlessSelected = selectable.filter((name) => name !== 'interrupts' && name !== 'values');

/** A thread that was found, with the members that were selected. */
function foundText(
  { thread, interruptsJson, valuesJson }: ThreadMatch,
  owner: string,
  select: readonly string[],
): string {
  const whole = threadText(owner)(thread);
  if (select === shownUnlessSelected) return whole;
  const members = JSON.parse(whole) as Readonly<Record<string, unknown>>;
  const chosen = select.filter((name) => Object.hasOwn(members, name));
  const texts = Object.fromEntries(chosen.map((name) => [name, JSON.stringify(members[name])]));
  const hasInterrupts = interruptsJson && select.includes('interrupts');
  return jsonObject({
    ...texts,
    ...(hasInterrupts && { interrupts: jsonText(interruptsJson) }),
    ...(valuesJson && { values: jsonText(valuesJson) }),
  });
}

export const searchThreads = endpoint({
  name: 'searchThreads',
  tag: 'threads',
  summary: 'Search threads by metadata, state, status, agent and ids',
  description:
    "Those of the owner's 10,000 most recent threads that pass every filter given, sorted, in pages. A status is that of the moment at which the thread is read.",
  example: examples.searchThreads,
  method: 'POST',
  path: '/v1/threads/search',
  access: { resource: 'checkpointer', action: 'read' },
  input: SearchThreads,
  reply: FoundThreads,
  handle: async ({ input, owner, call }, { threads, log }) => {
    const select = input.select ?? shownUnlessSelected;
    const { limit, offset, cursor } = input;
    const page = await threads.searchThreads(
      {
        owner,
        filter: filterOf(input),
        limit: Math.min(limit, maxLimit),
        offset,
        ...(cursor !== undefined && { cursor }),
        sortBy: input.sort_by,
        ascending: input.sort_order === 'asc',
        withQuestions: select.includes('interrupts'),
        withValues: select.includes('values'),
      },
      call(),
    );
    const shown = shownItems(page.threads, {
      kind: 'thread',
      show: (match) => foundText(match, owner, select),
      idsOf: ({ thread }) => ({ threadId: thread.threadId }),
      log,
    });
    return jsonObject({ threads: `[${shown.join(',')}]`, ...nextPage(page.cursor), ...unlessWhole(page.atLeast) });
  },
});

export const countThreads = endpoint({
  name: 'countThreads',
  tag: 'threads',
  summary: 'Count threads by the filters of the search',
  description: "How many of the owner's 10,000 most recent threads pass every filter given.",
  example: examples.countThreads,
  method: 'POST',
  path: '/v1/threads/count',
  access: { resource: 'checkpointer', action: 'read' },
  input: CountThreads,
  reply: ThreadCount,
  handle: async ({ input, owner, call }, { threads }) => {
    const { count, atLeast } = await threads.countThreads({ owner, filter: filterOf(input) }, call());
    return jsonObject({ count: String(count), ...unlessWhole(atLeast) });
  },
});

/** An entry of the inbox. A question that is no longer on record leaves an empty list. */
const inboxText = ({ thread, interruptsJson, askedBy }: ThreadMatch): string =>
  jsonObject({
    thread_id: JSON.stringify(thread.threadId),
    thread_name: textOrNull(thread.threadName),
    title: textOrNull(thread.title),
    agent: textOrNull(thread.agent),
    metadata: thread.metadataJson ? jsonText(thread.metadataJson) : 'null',
    run_id: textOrNull(askedBy),
    waiting_since: timeText(thread.updatedAt),
    interrupts: interruptsJson ? jsonText(interruptsJson) : '[]',
  });

export const listInbox = endpoint({
  name: 'listInbox',
  tag: 'threads',
  summary: 'List what waits for a person, with its questions',
  description:
    "Those of the owner's 10,000 most recent threads that wait for an answer, with their open questions, in pages. An answer is a run of the thread with `resume`.",
  example: examples.listInbox,
  method: 'GET',
  path: '/v1/inbox',
  access: { resource: 'checkpointer', action: 'read' },
  input: InboxQuery,
  reply: Inbox,
  handle: async ({ input, owner, call }, { threads, log }) => {
    const { agent } = input;
    const filter = { threadIds: [], statuses: [], waitsFor: 'answer', ...(agent !== undefined && { agent }) } as const;
    const order = { sortBy: 'updated_at', ascending: false, withQuestions: true, withValues: false } as const;
    const page = await threads.searchThreads({ owner, filter, ...order, ...pageOf(input) }, call());
    const items = shownItems(page.threads, {
      kind: 'thread',
      show: inboxText,
      idsOf: ({ thread }) => ({ threadId: thread.threadId }),
      log,
    });
    return jsonObject({ items: `[${items.join(',')}]`, ...nextPage(page.cursor), ...unlessWhole(page.atLeast) });
  },
});
