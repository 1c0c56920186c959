import { conflict, isServiceError, notFound, ServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { refuseOver, sizes } from '@agent-workflow/kit/sizes';
import type { Call } from '@agent-workflow/protos/call';
import type { Resource } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../http/endpoint.ts';
import { invalidAt, type Loc } from '../../http/fields.ts';
import { dueAtOf, fromScheduleJson, toScheduleJson, type Schedule } from '../../schedules/schedule.ts';
import { changeInTurn } from '../../upstream/change-in-turn.ts';
import type { Services } from './services.ts';
import type { RunOrder } from './run-order.ts';
import { boundedTools, declaredTools, toRemoteTool } from './start-run.ts';
import { boundedBytes, tooLarge } from './bounded.ts';
import { agentOf } from './named-agent.ts';
import { webhookJsonOf } from './run-webhook.ts';

const kind = 'schedule';
type Threads = Services['threads'];

/** Schedules, delayed runs included, that one owner may have. */
const schedulesPerOwner = 10_000;

/** The clock of the record, which decides when slots are due. */
export const recordNow = async (threads: Threads, call: Call): Promise<number> =>
  (await threads.listDueResources({ kind, limit: 1 }, call)).now;

/** The body of the runs, checked as far as it can be before one is started. */
export async function checkRun(
  run: RunOrder,
  loc: Loc,
  { execution }: Pick<Services, 'execution'>,
  call: Call,
): Promise<Schedule['run']> {
  if (run.resume !== undefined)
    throw invalidAt([...loc, 'resume'], 'must be absent: what starts later answers nothing');
  // A repeated slot would make such a thread again.
  if (run.config?.on_completion === 'delete')
    throw invalidAt(
      [...loc, 'config', 'on_completion'],
      'must be keep: a thread that is there stays when a run starts later in it, and keep_threads of a schedule removes its threads',
    );
  const webhook = run.webhook && { webhookJson: webhookJsonOf(run.webhook, loc) };
  const tools = boundedTools(declaredTools(run).map(({ tool }) => toRemoteTool(tool)));
  const state = initialStateOf(run, loc);
  await execution.checkTools({ tools, ...webhook, ...state, ...agentOf(run.config ?? {}) }, call).catch(atPlaceOf(loc));
  return { ...run };
}

/** The initial state, where it is known which agent will take it: that of a thread or of an assistant may be another one by then. */
function initialStateOf({ config = {}, initial_state: fields }: RunOrder, loc: Loc) {
  const isLeftToRun = config.agent === undefined && (config.thread_id ?? config.assistant_id) !== undefined;
  if (!fields || isLeftToRun) return undefined;
  return { initialStateJson: boundedBytes(fields, [...loc, 'initial_state'], sizes.state) };
}

/** The error of a check, which knows no place of the run, with the place that its field has in the request. Each dialect names the state of its own body. */
const atPlaceOf =
  (loc: Loc) =>
  (error: unknown): never => {
    const [detail] = error instanceof ServiceError ? error.details : [];
    if (!detail) throw error;
    const [name, ...rest] = detail.field;
    const isInside = loc.length > 1;
    if (name === 'initialState' && isInside)
      throw invalidAt([...loc, 'initial_state', ...rest], detail.msg, detail.type);
    if (name === 'webhook') throw invalidAt([...loc, ...detail.field], detail.msg, detail.type);
    throw error;
  };

/** @throws Invalid for a schedule that is too large, with room for the slots that it may have pending. */
function refuseLarge(schedule: Schedule, loc: Loc): void {
  const { spec, run, terms, user } = schedule;
  boundedBytes(spec.metadata ?? {}, ['body', 'metadata'], metadataBytes);
  const bytes = Buffer.byteLength(JSON.stringify({ run, terms, user }));
  if (bytes > runBytes) throw tooLarge(loc, bytes, runBytes);
}

const metadataBytes = 8 * 1024;
/** The bounds of slots, threads and past slots take less than the rest. */
const runBytes = 60 * 1024;

async function put(
  { threads }: Pick<Services, 'threads'>,
  key: { readonly owner: string; readonly id: string; readonly version: number },
  schedule: Schedule,
  call: Call,
): Promise<number> {
  const json = toScheduleJson(schedule);
  refuseOver(json.byteLength, sizes.resource, ['run']);
  const dueAt = dueAtOf(key.id, schedule);
  const due = dueAt === undefined ? {} : { dueAt };
  return (await threads.putResource({ kind, ...key, json, ...due }, call)).at;
}

export interface Found {
  readonly resource: Resource;
  readonly schedule: Schedule;
}

/** @throws NotFound also for one that was deleted and whose threads are being removed. */
export async function find(threads: Threads, owner: string, id: string, call: Call): Promise<Found> {
  const resource = await threads.getResource({ kind, owner, id }, call).catch((error: unknown) => {
    throw isServiceError(error, 'NotFound') ? noSchedule(id) : error;
  });
  const schedule = fromScheduleJson(resource.json);
  if (schedule.deleted) throw noSchedule(id);
  return { resource, schedule };
}

const noSchedule = (id: string) => notFound(`there is no schedule "${id}"`);

interface Params {
  readonly schedule_id: string;
}
type ChangeRequest = Pick<EndpointRequest<Params>, 'owner' | 'params' | 'call'>;

/** Changes a schedule as it is on record. What a sweep fires meanwhile comes first. */
export async function change(
  { owner, params: { schedule_id: id }, call }: ChangeRequest,
  services: Pick<Services, 'threads'>,
  decide: (schedule: Schedule, now: number) => Schedule,
): Promise<Found> {
  const { threads } = services;
  const now = await recordNow(threads, call());
  return changeInTurn({ kind, owner, id }, async () => {
    const { resource, schedule } = await find(threads, owner, id, call());
    const changed = decide(schedule, Math.max(now, resource.updatedAt));
    if (changed === schedule) return { resource, schedule };
    refuseLarge(changed, ['body', 'run']);
    const version = resource.version + 1;
    try {
      const updatedAt = await put(services, { owner, id, version }, changed, call());
      return { resource: { ...resource, version, updatedAt }, schedule: changed };
    } catch (error) {
      if (isServiceError(error, 'Conflict')) return undefined;
      throw error;
    }
  });
}

/** The claims with which the runs are started and the authorization backend is asked. */
export const claimsOf = ({ user }: Pick<EndpointRequest, 'user'>): Pick<Schedule, 'user'> => (user ? { user } : {});

/** What an earlier request with this idempotency key has stored: that was checked then, and its webhook may not be sent to by now. */
export async function storedBefore(
  { owner, call, idempotency }: Pick<EndpointRequest, 'owner' | 'call' | 'idempotency'>,
  { threads }: Pick<Services, 'threads'>,
  id: string,
): Promise<Found | undefined> {
  return idempotency.onceKey === undefined ? undefined : undefinedIfNotFound(find(threads, owner, id, call()));
}

/** Stores a schedule under a new id. A repeated request with an idempotency key finds what the first one made. */
export async function createStored(
  { owner, call, isRepeated }: Pick<EndpointRequest, 'owner' | 'call' | 'isRepeated'>,
  services: Pick<Services, 'threads'>,
  id: string,
  schedule: Schedule,
  loc: Loc,
): Promise<Found> {
  const { threads } = services;
  refuseLarge(schedule, loc);
  if (isRepeated) return find(threads, owner, id, call());
  const { count } = await threads.countResources({ kind, owner, atMost: schedulesPerOwner }, call());
  if (count >= schedulesPerOwner)
    throw conflict(`${String(schedulesPerOwner)} schedules are there, which is the limit`);
  try {
    await put(services, { owner, id, version: 1 }, schedule, call());
  } catch (error) {
    if (!isServiceError(error, 'Conflict')) throw error;
  }
  return find(threads, owner, id, call());
}
