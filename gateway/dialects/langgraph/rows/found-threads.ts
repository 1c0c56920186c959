import { eachOf } from '@agent-workflow/kit/each';
import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { createQuota } from '@agent-workflow/kit/pages';
import { sizes } from '@agent-workflow/kit/sizes';
import type { ThreadFilter, ThreadMatch } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { knownAgents } from '../../common/known-agents.ts';
import type { Services } from '../../common/services.ts';
import { checkExtract } from '../in/extract.ts';
import { neededValues } from '../in/needed-values.ts';
import { toThreadFilter } from '../in/thread-filter.ts';
import { extracted } from '../out/extracted.ts';
import { pageHeaders } from '../out/page-headers.ts';
import { selected } from '../out/selected.ts';
import { toThread } from '../out/thread.ts';
import * as schemas from '../schemas/threads.ts';
import { askedByTask } from './asked-by-task.ts';
import { row } from './row.ts';
import { fieldsOf, readHeld } from './thread-values.ts';

const read = { resource: 'checkpointer', action: 'read' } as const;

type Requested<Input> = Pick<EndpointRequest<unknown, Input>, 'owner' | 'input' | 'call'>;
type Calls = Pick<Services, 'threads' | 'execution'>;

const filterOf = async (
  { input, call }: Requested<schemas.ThreadFilterInput>,
  { execution }: Calls,
): Promise<ThreadFilter | undefined> => toThreadFilter(input, (await knownAgents(execution, call())).names);

const countAll = async (
  { owner, call }: Requested<unknown>,
  filter: ThreadFilter,
  { threads }: Calls,
): Promise<number> => (await threads.countThreads({ owner, filter }, call())).count;

const searchThreads = row({
  name: 'lgSearchThreads',
  method: 'POST',
  path: '/langgraph/threads/search',
  access: read,
  input: schemas.SearchThreads,
  handle: async (request, services) => {
    const { owner, input, call, addReplyHeaders } = request;
    const { limit, offset, select, extract, sort_by: by = 'updated_at' } = input;
    if (extract) checkExtract(extract);
    const filter = await filterOf(request, services);
    if (!filter) {
      addReplyHeaders(pageHeaders({ offset, count: 0, total: 0 }));
      return '[]';
    }
    const order = {
      sortBy: by === 'state_updated_at' ? 'updated_at' : by,
      ascending: input.sort_order === 'asc',
    } as const;
    const withQuestions = !select?.length || select.includes('interrupts') || extract !== undefined;
    const page = await services.threads.searchThreads(
      { owner, filter, limit, offset, ...order, withQuestions, withValues: neededValues(input) === 'fields' },
      call(),
    );
    const texts = await textsOf(request, page.threads, services);
    const isWhole = page.cursor === undefined && texts.length === page.threads.length;
    const total = isWhole && texts.length > 0 ? offset + texts.length : await countAll(request, filter, services);
    addReplyHeaders(pageHeaders({ offset, count: texts.length, total }));
    return `[${texts.join(',')}]`;
  },
});

interface Showing {
  readonly select?: readonly string[];
  readonly extract?: Readonly<Record<string, string>>;
}

/** Threads that are read at a time: each may have megabytes of values. */
const atOnce = 4;

/** The threads of a page, as many as one reply has room for. */
async function textsOf(
  request: Requested<Showing>,
  matches: readonly ThreadMatch[],
  services: Calls,
): Promise<readonly string[]> {
  const texts: string[] = [];
  const isEnough = createQuota(sizes.page);
  for (let from = 0; from < matches.length; from += atOnce) {
    const part: string[] = [];
    await eachOf([...matches.slice(from, from + atOnce).entries()], atOnce, async ([index, match]) => {
      part[index] = await textOf(request, match, services);
    });
    for (const text of part) {
      if (isEnough(Buffer.byteLength(text))) return texts;
      texts.push(text);
    }
  }
  return texts;
}

async function textOf(request: Requested<Showing>, match: ThreadMatch, services: Calls): Promise<string> {
  const { thread } = match;
  const { select, extract } = request.input;
  let reading: ReturnType<typeof readHeld> | undefined;
  // It is read once, and not where nothing of it is shown.
  const held = () => (reading ??= readHeld(request, thread.threadId, services));
  const asked = await undefinedIfNotFound(askedByTask(request, match, async () => (await held()).tasks, services));
  const paths = Object.entries(extract ?? {});
  const whole = { ...toThread(thread, asked ?? {}), values: await valuesOf(request, match, held, services) };
  return JSON.stringify({
    ...selected(whole, select),
    ...(extract && { extracted: Object.fromEntries(paths.map(([name, path]) => [name, extracted(whole, path)])) }),
  });
}

/** What a search shows of the values of a thread; `null` where it has none. */
async function valuesOf(
  request: Requested<Showing>,
  match: ThreadMatch,
  held: () => Promise<{ readonly values: string }>,
  services: Calls,
): Promise<unknown> {
  const needed = neededValues(request.input);
  if (needed === 'nothing') return null;
  const fields = needed === 'fields' ? await fieldsOf(request, match, services) : undefined;
  // One that was deleted meanwhile has no values any more.
  return fields ?? JSON.parse((await undefinedIfNotFound(held()))?.values ?? 'null');
}

const countThreads = row({
  name: 'lgCountThreads',
  method: 'POST',
  path: '/langgraph/threads/count',
  access: read,
  input: schemas.CountThreads,
  handle: async (request, services) => {
    const filter = await filterOf(request, services);
    return String(filter ? await countAll(request, filter, services) : 0);
  },
});

export const foundThreadRows = [searchThreads, countThreads];
