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
import { mergedMetadata, toScheduleSpec } from '../in/cron.ts';
import { isObject } from '../in/values.ts';
import { bodyOfRuns, toCron } from '../out/cron.ts';
import { toKeptRequest } from '../out/kept-request.ts';
import { pageHeaders } from '../out/page-headers.ts';
import { selected } from '../out/selected.ts';
import { refusalWith } from '../replies/refusal.ts';
import * as schemas from '../schemas/crons.ts';
import type { RunTerms } from '../../../schedules/run-terms.ts';
import { cronFields, type RunInput } from '../schemas/runs.ts';
import { ThreadParams } from '../schemas/threads.ts';
import { defaultAgentOf } from './known-assistant.ts';
import { namedAsSent, orderRun, startedOf } from './ordered-run.ts';
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

interface CronPlace {
  readonly cronId: string;
  /** Absent: each run has a thread of its own. */
  readonly threadId: string | undefined;
}

/** The run that a cron starts each time. */
async function runOf(
  request: EndpointRequest<unknown, RunInput>,
  { cronId, threadId }: CronPlace,
  services: Services,
): Promise<Pick<Stored, 'run' | 'terms'>> {
  const { input, call } = request;
  const body = { ...input, config: withCronId(input.config ?? {}, cronId) };
  const ordered = await orderRun(request, { body, ...(threadId !== undefined && { threadId }) }, services);
  const { order } = ordered;
  const { on_completion: _c, on_disconnect: _d, ...ofRun } = order.config ?? {};
  const { goesOn: isBare, ...terms } = ordered.terms;
  // A cron without input begins its graph each time.
  const begins = isBare && { initial_state: order.initial_state ?? {} };
  const checking = checkRun({ ...order, ...begins, config: ofRun }, ['body'], services, call());
  const run = await checking.catch(namedAsSent(ordered));
  const left = Math.max(leastKept, roomOfRuns - Buffer.byteLength(JSON.stringify(run)));
  return { run, terms: { ...terms, keptRequest: toKeptRequest(startedOf(ordered), left) } };
}

/** Nodes find the cron in their config. */
function withCronId(config: Shown, cronId: string): Shown {
  const configurable = config['configurable'] ?? {};
  return isObject(configurable) ? { ...config, configurable: { ...configurable, cron_id: cronId } } : config;
}

/** The bytes that the body of the runs and the request have together: the record takes some more. */
const roomOfRuns = 56 * 1024;
/** The metadata of a cron is kept in any case. */
const leastKept = 10 * 1024;

type Stored = Schedule & { readonly terms: RunTerms };

async function create(
  request: EndpointRequest<unknown, CronInput>,
  threadId: string | undefined,
  services: Services,
): Promise<string> {
  const { input, call, newId } = request;
  const cronId = newId('schedule');
  const { run, terms } = await runOf(request, { cronId, threadId }, services);
  const now = await recordNow(services.threads, call());
  const spec = toScheduleSpec(input, { run, now });
  const schedule = withNext(
    { spec, run, terms, ...claimsOf(request), paused: input.enabled === false, pending: [], past: [], unkept: [] },
    now,
  );
  const found = await createStored(request, services, cronId, schedule, ['body']);
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

/** What changes the runs, and not when they start. */
const ofRun = Object.keys(cronFields) as readonly (keyof typeof cronFields)[];

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
    const metadata = mergedMetadata(input.metadata, before.schedule.spec.metadata);
    const given = { ...input, assistant_id: input.assistant_id ?? known, ...(metadata && { metadata }) };
    const body: RunInput = { ...bodyOfRuns(before.schedule), ...given };
    const place = { cronId: before.resource.id, threadId };
    const isOfRun = ofRun.some((name) => input[name] !== undefined);
    const runs = isOfRun ? await runOf({ ...request, input: body }, place, services) : undefined;
    const changed = await change(request, services, (schedule, now) => {
      const changes = { ...schedule, ...(runs && { ...runs, run: changedRun(runs.run, schedule.run, input) }) };
      const spec = toScheduleSpec(input, { spec: schedule.spec, run: changes.run, now });
      const next = { ...changes, spec, ...claimsOf(request) };
      if (input.enabled === false) return paused(next);
      return input.enabled === true && schedule.paused ? resumed(next, now) : withNext(next, now);
    });
    return JSON.stringify(await shown(changed, request, services));
  },
});

/** The run of a cron after a change, with what only `/v1` can say of one. */
function changedRun(run: Run, before: Run, { webhook }: Pick<RunInput, 'webhook'>): Run {
  const { messages: _m, initial_state: _i, config, ...rest } = before;
  const known = Object.entries(config ?? {}).filter(([name]) => onlyByV1.includes(name));
  return {
    ...rest,
    ...run,
    config: { ...Object.fromEntries(known), ...(run['config'] as Shown) },
    ...(webhook === undefined && 'webhook' in before && { webhook: before['webhook'] }),
  };
}

type Run = Schedule['run'];

const onlyByV1: readonly string[] = ['thread_name', 'ttl', 'remote_tools'];

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
