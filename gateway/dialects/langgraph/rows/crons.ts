import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { userIdOf } from '@agent-workflow/kit/ids';
import { createQuota } from '@agent-workflow/kit/pages';
import { sizes } from '@agent-workflow/kit/sizes';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { deleted, paused, resumed } from '../../../schedules/advance.ts';
import { fromScheduleJson, threadOf, withNext, type Schedule } from '../../../schedules/schedule.ts';
import { metadataTest } from '../../common/metadata-filter.ts';
import type { Services } from '../../common/services.ts';
import { shownItems } from '../../common/shown-items.ts';
import {
  change,
  checkRun,
  claimsOf,
  createStored,
  find,
  recordNow,
  type Found,
} from '../../common/stored-schedules.ts';
import { assistantIdOf } from '../ids/assistant-id.ts';
import { toScheduleSpec } from '../in/cron.ts';
import { toCron } from '../out/cron.ts';
import { pageHeaders } from '../out/page-headers.ts';
import { selected } from '../out/selected.ts';
import { refusalWith } from '../replies/refusal.ts';
import * as schemas from '../schemas/crons.ts';
import type { RunTerms } from '../../../schedules/run-terms.ts';
import type { RunInput } from '../schemas/runs.ts';
import { ThreadParams } from '../schemas/threads.ts';
import { defaultAgentOf } from './known-assistant.ts';
import { orderRun } from './ordered-run.ts';
import { row } from './row.ts';

const kind = 'schedule';
const read = { resource: 'schedules', action: 'read' } as const;
const write = { resource: 'schedules', action: 'write' } as const;

type Shown = Readonly<Record<string, unknown>>;

const shown = async (
  found: Found,
  { owner, call }: Pick<EndpointRequest, 'owner' | 'call'>,
  { execution }: Services,
): Promise<Shown> => toCron(found, userIdOf(owner) ?? '', await defaultAgentOf(execution, call));

/** The run that a cron starts each time. */
async function runOf(
  request: EndpointRequest<unknown, RunInput>,
  threadId: string | undefined,
  services: Services,
): Promise<Pick<Stored, 'run' | 'terms'>> {
  const { input, call } = request;
  const { order, terms } = await orderRun(
    request,
    { body: input, ...(threadId !== undefined && { threadId }) },
    services,
  );
  const { on_completion: _c, on_disconnect: _d, ...config } = order.config ?? {};
  // What the request of a cron held is shown by the cron.
  const { keptRequest: _k, goesOn: isBare, ...ofCron } = terms;
  // A cron without input begins its graph each time.
  const begins = isBare && { initial_state: order.initial_state ?? {} };
  return { run: await checkRun({ ...order, ...begins, config }, ['body'], services, call()), terms: ofCron };
}

type Stored = Schedule & { readonly terms: RunTerms };

async function create(
  request: EndpointRequest<unknown, CronInput>,
  threadId: string | undefined,
  services: Services,
): Promise<string> {
  const { input, call, newId } = request;
  const { run, terms } = await runOf(request, threadId, services);
  const now = await recordNow(services.threads, call());
  const spec = toScheduleSpec(input, { hasThread: threadId !== undefined, now });
  const schedule = withNext(
    { spec, run, terms, ...claimsOf(request), paused: input.enabled === false, pending: [], past: [], unkept: [] },
    now,
  );
  const found = await createStored(request, services, newId('schedule'), schedule, ['body']);
  await request.markAccepted();
  return JSON.stringify(await shown(found, request, services));
}

type CronInput = RunInput & {
  readonly schedule: string;
  readonly enabled?: boolean;
};

const createCron = row({
  name: 'lgCreateCron',
  method: 'POST',
  path: '/langgraph/runs/crons',
  access: write,
  input: schemas.CreateCron,
  handle: (request, services) => create(request, undefined, services),
});

const createCronForThread = row({
  name: 'lgCreateCronForThread',
  method: 'POST',
  path: '/langgraph/threads/{thread_id}/runs/crons',
  access: write,
  params: ThreadParams,
  input: schemas.CreateCron,
  handle: (request, services) => create(request, request.params.thread_id, services),
});

/** A cron; a run that starts later is a schedule, too, and none. @throws NotFound */
async function cronOf(
  { owner, params, call }: Pick<EndpointRequest<{ readonly schedule_id: string }>, 'owner' | 'params' | 'call'>,
  { threads }: Services,
): Promise<Found> {
  const found = await find(threads, owner, params.schedule_id, call());
  if (found.schedule.delayed) throw refusalWith('NotFound', 'Not Found');
  return found;
}

const getCron = row({
  name: 'lgGetCron',
  method: 'GET',
  path: '/langgraph/runs/crons/{schedule_id}',
  access: read,
  params: schemas.CronParams,
  handle: async (request, services) => JSON.stringify(await shown(await cronOf(request, services), request, services)),
});

/** What changes the body of the runs, and not when they start. */
const ofRun = ['input', 'config', 'context', 'webhook', 'interrupt_before', 'interrupt_after', 'assistant_id'] as const;

const updateCron = row({
  name: 'lgUpdateCron',
  method: 'PATCH',
  path: '/langgraph/runs/crons/{schedule_id}',
  access: write,
  params: schemas.CronParams,
  input: schemas.UpdateCron,
  handle: async (request, services) => {
    const { input } = request;
    const before = await cronOf(request, services);
    const threadId = threadOf(before.schedule.run);
    const agent = await defaultAgentOf(services.execution, request.call);
    const known = toCron(before, '', agent)['assistant_id'] as string;
    const body = { ...input, assistant_id: input.assistant_id ?? known };
    const isOfRun = ofRun.some((name) => input[name] !== undefined);
    const given = isOfRun ? await runOf({ ...request, input: body }, threadId, services) : undefined;
    const changed = await change(request, services, (schedule, now) => {
      const spec = toScheduleSpec(input, { spec: schedule.spec, hasThread: threadId !== undefined, now });
      const next = { ...schedule, spec, ...(given && changedOf(given, schedule, input)), ...claimsOf(request) };
      if (input.enabled === false) return paused(next);
      return input.enabled === true && schedule.paused ? resumed(next, now) : withNext(next, now);
    });
    return JSON.stringify(await shown(changed, request, services));
  },
});

/** The run of a schedule with the members that a request has given. */
function changedOf(
  { run, terms }: Pick<Schedule, 'run' | 'terms'>,
  before: Pick<Schedule, 'run' | 'terms'>,
  input: Readonly<Record<string, unknown>>,
): Pick<Schedule, 'run' | 'terms'> {
  const names = ['context', 'webhook', 'interrupt_before', 'interrupt_after'].filter(
    (name) => input[name] !== undefined,
  );
  const ofInput = input['input'] === undefined ? [] : ['messages', 'initial_state'];
  const isOfConfig = input['config'] !== undefined || input['assistant_id'] !== undefined;
  const given = [...names, ...ofInput, ...(isOfConfig ? ['config'] : [])].map((name) => [name, run[name]] as const);
  const changed: Schedule['run'] = Object.fromEntries(given);
  return { run: { ...before.run, ...changed }, ...(isOfConfig && { terms }) };
}

const deleteCron = row({
  name: 'lgDeleteCron',
  method: 'DELETE',
  path: '/langgraph/runs/crons/{schedule_id}',
  access: { resource: 'schedules', action: 'delete' },
  params: schemas.CronParams,
  status: 204,
  handle: async (request, services) => {
    await cronOf(request, services);
    await change(request, services, deleted);
    return '';
  },
});

interface CronFilter {
  readonly assistant_id?: string;
  readonly thread_id?: string;
  readonly enabled?: boolean;
  readonly metadata?: Shown;
}

/** Schedules that are read at a time. */
const atOnce = 100;

/** The crons that pass every condition, without what their runs are given. */
async function findAll(
  request: Pick<EndpointRequest<unknown, CronFilter>, 'owner' | 'call' | 'input'>,
  { threads, execution, log }: Services,
): Promise<readonly Shown[]> {
  const { owner, call, input } = request;
  const agent = await defaultAgentOf(execution, call);
  const { assistant_id: assistant, thread_id: thread, enabled } = input;
  const hasMetadata = metadataTest(input.metadata, ['body', 'metadata']);
  const crons: Shown[] = [];
  let cursor: string | undefined;
  do {
    const page = await threads.listResources(
      { kind, owner, limit: atOnce, ...(cursor !== undefined && { cursor }) },
      call(),
    );
    const shown = shownItems(page.resources, {
      kind,
      show: (resource) => {
        const schedule = fromScheduleJson(resource.json);
        return schedule.deleted || schedule.delayed
          ? []
          : [toCron({ resource, schedule }, userIdOf(owner) ?? '', agent)];
      },
      idsOf: ({ id }) => ({ scheduleId: id }),
      log,
    });
    for (const cron of shown.flat()) {
      const isMeant =
        (assistant === undefined || [assistant, assistantIdOf(assistant)].includes(cron['assistant_id'] as string)) &&
        (thread === undefined || cron['thread_id'] === thread) &&
        (enabled === undefined || cron['enabled'] === enabled) &&
        hasMetadata(cron['metadata'] as Shown);
      if (isMeant) crons.push({ ...cron, payload: null });
    }
    ({ cursor } = page);
  } while (cursor !== undefined);
  return crons;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const compare = (a: unknown, b: unknown): number => {
  const [one, other] = [textOf(a), textOf(b)];
  return one < other ? -1 : one > other ? 1 : 0;
};

const searchCrons = row({
  name: 'lgSearchCrons',
  method: 'POST',
  path: '/langgraph/runs/crons/search',
  access: read,
  input: schemas.SearchCrons,
  handle: async (request, services) => {
    const { input, addReplyHeaders } = request;
    const { limit, offset, select, sort_by: by = 'created_at', sort_order: order } = input;
    const sign = order === 'asc' ? 1 : -1;
    const all = await findAll(request, services);
    const page = all.toSorted((a, b) => sign * compare(a[by], b[by])).slice(offset, offset + limit);
    const texts: string[] = [];
    const isEnough = createQuota(sizes.page);
    for (const { cron_id: id } of page) {
      const found = await undefinedIfNotFound(find(services.threads, request.owner, String(id), request.call()));
      const text = found ? JSON.stringify(selected(await shown(found, request, services), select)) : '';
      if (isEnough(text.length)) break;
      if (found) texts.push(text);
    }
    addReplyHeaders(pageHeaders({ offset, count: texts.length, total: all.length }));
    return `[${texts.join(',')}]`;
  },
});

const countCrons = row({
  name: 'lgCountCrons',
  method: 'POST',
  path: '/langgraph/runs/crons/count',
  access: read,
  input: schemas.CountCrons,
  handle: async (request, services) => String((await findAll(request, services)).length),
});

export const cronRows = [
  ...[createCron, createCronForThread, searchCrons, countCrons],
  ...[getCron, updateCron, deleteCron],
];
