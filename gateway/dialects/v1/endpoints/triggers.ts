import { randomBytes } from 'node:crypto';
import { conflict, ServiceError } from '@agent-workflow/kit/errors';
import { idFrom } from '@agent-workflow/kit/ids';
import { sizes } from '@agent-workflow/kit/sizes';
import type { Principal } from '../../../http/context.ts';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { invalidAt } from '../../../http/fields.ts';
import { jsonBytes, jsonText } from '../../../http/json.ts';
import { guardJson, refuseCostlyText } from '../../../http/json-guard.ts';
import type { ReceivedBytes } from '../../../http/received-bytes.ts';
import {
  countingAt,
  createTrigger as create,
  deleteTrigger as remove,
  eventHash,
  findTrigger,
  getTrigger as get,
  isRecent,
  isSigned,
  listTriggers as list,
  newSecret,
  readClaim,
  rotated,
  secretFault,
  triggerFormats,
  triggerOf,
  updateTrigger as update,
  type ReadHeader,
  type Trigger,
  type TriggerContent,
  type TriggerFormat,
} from '../../../triggers/index.ts';
import type { Services } from '../../common/services.ts';
import * as examples from '../examples/triggers.ts';
import { Done, maxLimit } from '../schemas/common.ts';
import type { RunInput } from '../schemas/graph.ts';
import * as schemas from '../schemas/triggers.ts';
import { tooLarge } from '../../common/bounded.ts';
import { endpoint } from './common/endpoint.ts';
import { shownItems } from '../../common/shown-items.ts';
import { createRun } from './runs.ts';
import { startRun } from '../../common/start-run.ts';

/** The bytes of what is kept of a trigger, with the claims of its owner. */
const maxBytes = 60 * 1024;

const pathOf = (id: string): string => `/v1/triggers/${id}/events`;

const shown = (trigger: Trigger): object => ({
  trigger_id: trigger.id,
  name: trigger.name ?? null,
  format: trigger.format,
  enabled: trigger.enabled,
  events: trigger.events ?? [],
  message: trigger.message ?? null,
  config: trigger.config,
  context: trigger.context,
  path: pathOf(trigger.id),
  created_at: new Date(trigger.createdAt).toISOString(),
  updated_at: new Date(trigger.updatedAt).toISOString(),
});

interface Given {
  readonly name?: string;
  readonly enabled?: boolean;
  readonly events?: readonly string[];
  readonly message?: string;
  readonly config?: TriggerContent['config'];
  readonly context?: TriggerContent['context'];
}

const changeOf = ({ name, enabled, events, message, config, context }: Given): Partial<TriggerContent> => ({
  ...(name !== undefined && { name: name.toWellFormed() }),
  ...(enabled !== undefined && { enabled }),
  ...(events && { events }),
  ...(message !== undefined && { message: message.toWellFormed() }),
  ...(config && { config }),
  ...(context && { context }),
});

type Kept = Parameters<typeof create>[2];

/** @throws Invalid naming the larger of its config and its context. */
function bounded(kept: Kept): Kept {
  const bytes = jsonBytes(kept).length;
  if (bytes <= maxBytes) return kept;
  const larger = jsonBytes(kept.config).length < jsonBytes(kept.context).length ? 'context' : 'config';
  throw tooLarge(['body', larger], bytes, maxBytes);
}

function secretOf(format: TriggerFormat, given: string | undefined): string {
  if (given === undefined) return newSecret(format, randomBytes(32));
  const fault = secretFault(format, given);
  if (fault !== undefined) throw invalidAt(['body', 'secret'], fault, 'value_error');
  return given;
}

const keptOf = ({ name, format, enabled, events, message, config, context, secrets }: Kept, user: Principal['user']) =>
  bounded({
    ...{ format, enabled, config, context, secrets },
    ...(name !== undefined && { name }),
    ...(events && { events }),
    ...(message !== undefined && { message }),
    ...(user && { user }),
  });

const read = { resource: 'triggers', action: 'read' } as const;
const write = { resource: 'triggers', action: 'write' } as const;

export const createTrigger = endpoint({
  name: 'createTrigger',
  tag: 'triggers',
  summary: 'Make an address whose signed events start runs',
  description:
    'Makes a trigger. Events that are sent to its `path` with the right signature start runs of the caller, with the claims that the caller has now. The secret is shown in this reply alone. An owner has at most 100 triggers; one more is 409.',
  example: examples.createTrigger,
  method: 'POST',
  path: '/v1/triggers',
  access: write,
  secret: true,
  input: schemas.CreateTrigger,
  reply: schemas.TriggerWithSecret,
  handle: async ({ input, owner, user, newId, call }, { threads }) => {
    const { format } = input;
    const secret = secretOf(format, input.secret);
    const defaults = { enabled: true, config: {}, context: {} };
    const kept = keptOf({ ...defaults, ...changeOf(input), format, secrets: [{ text: secret }] }, user);
    const made = await create(threads, { owner, id: newId('trigger') }, kept, call);
    return JSON.stringify({ ...shown(made), secret });
  },
});

export const listTriggers = endpoint({
  name: 'listTriggers',
  tag: 'triggers',
  summary: 'List triggers, newest first',
  description: 'The triggers of the owner, the newest first, in pages, without their secrets.',
  example: examples.listTriggers,
  method: 'GET',
  path: '/v1/triggers',
  access: read,
  input: schemas.TriggersQuery,
  reply: schemas.TriggerList,
  handle: async ({ input: { limit, cursor }, owner, call }, { threads, log }) => {
    const page = { owner, limit: Math.min(limit, maxLimit), ...(cursor !== undefined && { cursor }) };
    const { rows, cursor: next } = await list(threads, page, call);
    const triggers = shownItems(rows, {
      kind: 'trigger',
      show: (row) => shown(triggerOf(row)),
      idsOf: ({ id }) => ({ triggerId: id }),
      log,
    });
    return JSON.stringify({ triggers, has_more: next !== undefined, cursor: next });
  },
});

export const getTrigger = endpoint({
  name: 'getTrigger',
  tag: 'triggers',
  summary: 'Get a trigger',
  description: 'A trigger, without its secret.',
  example: examples.getTrigger,
  method: 'GET',
  path: '/v1/triggers/{trigger_id}',
  access: read,
  params: schemas.TriggerParams,
  reply: schemas.Trigger,
  handle: async ({ params, owner, call }, { threads }) =>
    JSON.stringify(shown(await get(threads, { owner, id: params.trigger_id }, call))),
});

export const updateTrigger = endpoint({
  name: 'updateTrigger',
  tag: 'triggers',
  summary: 'Change a trigger',
  description:
    'Replaces the fields given. Runs of events that come from now on have them, and the claims that the caller has now.',
  example: examples.updateTrigger,
  method: 'PATCH',
  path: '/v1/triggers/{trigger_id}',
  access: write,
  params: schemas.TriggerParams,
  input: schemas.UpdateTrigger,
  reply: schemas.Trigger,
  handle: async ({ params, input, owner, user, call }, { threads }) => {
    const change = changeOf(input);
    const changed = (trigger: Trigger): Kept => keptOf({ ...trigger, ...change }, user);
    return JSON.stringify(shown(await update(threads, { owner, id: params.trigger_id }, changed, call)));
  },
});

export const rotateTriggerSecret = endpoint({
  name: 'rotateTriggerSecret',
  tag: 'triggers',
  summary: 'Give a trigger a new secret',
  description:
    'Makes a secret, or takes the one given, and shows it in this reply alone. The one before it counts for `overlap_seconds` more, so that no event is lost while its sender changes; `0` ends it at once.',
  example: examples.rotateTriggerSecret,
  method: 'POST',
  path: '/v1/triggers/{trigger_id}/secret',
  access: write,
  secret: true,
  params: schemas.TriggerParams,
  input: schemas.RotateTriggerSecret,
  reply: schemas.TriggerWithSecret,
  handle: async ({ params, input, owner, user, call }, { threads }) => {
    let secret = '';
    const now = Date.now();
    const changed = (trigger: Trigger): Kept => {
      secret = secretOf(trigger.format, input.secret);
      const secrets = rotated(trigger.secrets, secret, now + input.overlap_seconds * 1000, now);
      return keptOf({ ...trigger, secrets }, user);
    };
    const trigger = await update(threads, { owner, id: params.trigger_id }, changed, call);
    return JSON.stringify({ ...shown(trigger), secret });
  },
});

export const deleteTrigger = endpoint({
  name: 'deleteTrigger',
  tag: 'triggers',
  summary: 'Delete a trigger',
  description: 'Deletes a trigger for good: events that are sent to it are 401. Its runs and threads stay.',
  example: examples.deleteTrigger,
  method: 'DELETE',
  path: '/v1/triggers/{trigger_id}',
  access: { resource: 'triggers', action: 'delete' },
  params: schemas.TriggerParams,
  reply: Done,
  handle: async ({ params, owner, call }, { threads }) => {
    await remove(threads, { owner, id: params.trigger_id }, call);
    return '{"success":true}';
  },
});

/** An event that was signed. */
interface Event {
  /** The same when the sender sends it again. */
  readonly id: string;
  readonly type: string | undefined;
  readonly body: unknown;
  readonly text: string;
}

/** The run that an event is to start. */
function runInputOf(trigger: Trigger, { id, type, body, text }: Event, at: Date): RunInput {
  const event = {
    trigger_id: trigger.id,
    id,
    ...(type !== undefined && { type }),
    received_at: at.toISOString(),
    body,
  };
  const content = trigger.message === undefined || trigger.message === '' ? text : trigger.message;
  return {
    messages: content.trim() === '' ? [{ role: 'user', content: '{}' }] : [{ role: 'user', content }],
    config: trigger.config,
    context: { ...trigger.context, event },
    recursion_limit: 25,
  };
}

/** Starts the run of an event once, however often the event comes within a day. */
async function startEventRun(
  request: EndpointRequest,
  trigger: Trigger,
  { event, hash }: { readonly event: Event; readonly hash: string },
  services: Services,
): Promise<string> {
  const { threads, authorizeRun } = services;
  const { call } = request;
  const { owner, user } = trigger;
  const onceKey = event.id;
  const begun = await threads.beginOnce({ owner, onceKey, bodyHash: hash }, call());
  const withDuplicate = (reply: string): string => (begun.isNew ? reply : `${reply.slice(0, -1)},"duplicate":true}`);
  if (begun.replyJson) return withDuplicate(jsonText(begun.replyJson));
  const at = new Date(begun.at);
  const input = runInputOf(trigger, event, at);
  const agent = await authorizeRun({ owner, ...(user && { user }) }, createRun, input);
  const run: EndpointRequest<unknown, RunInput> = {
    ...request,
    ...{ input, owner, user, agent, at, idempotency: { onceKey } },
    newId: (what) => idFrom(onceKey, what),
  };
  const { runId, threadId } = await startRun(run, { granularity: 'low' }, services);
  const started = { run_id: runId, thread_id: threadId };
  await threads.endOnce({ owner, onceKey, replyJson: jsonBytes(started) }, call());
  return withDuplicate(JSON.stringify(started));
}

/** The largest event, in bytes. */
const maxEventBytes = sizes.metadata;

export const receiveEvent = endpoint({
  name: 'receiveEvent',
  tag: 'triggers',
  summary: 'Send an event to a trigger',
  description:
    'Takes an event of at most 256 KiB, of any content type, and starts a run of the owner of the trigger. It needs no credentials, but the right signature: without it, and for a trigger that does not exist, it is 401. The same event again within 24 hours starts no second run.',
  example: examples.receiveEvent,
  method: 'POST',
  path: '/v1/triggers/{trigger_id}/events',
  access: 'every caller',
  takesBytes: maxEventBytes,
  answer: 'bare',
  params: schemas.TriggerParams,
  reply: schemas.TriggerEvent,
  handle: async (request, services) => {
    const { received, params, call } = request;
    if (!received) throw notSigned();
    const { header } = received;
    if (!triggerFormats.some((format) => readClaim(format, header))) throw notSigned();
    const trigger = await findTrigger(services.threads, params.trigger_id, call);
    const claim = trigger && readClaim(trigger.format, header);
    if (!trigger || !claim || !isRecent(claim, Date.now())) throw notSigned();
    const body = await received.read();
    const secrets = countingAt(trigger.secrets, Date.now()).map(({ text }) => text);
    if (!isSigned(trigger.format, claim, { body: body.bytes, secrets })) throw notSigned();
    const { owner, user } = trigger;
    await received.enter({ owner, ...(user && { user }) });

    const text = textOf(body);
    const value = valueOf(text, body);
    const fields = value as { readonly type?: unknown; readonly challenge?: unknown } | null;
    if (trigger.format === 'slack' && fields?.type === 'url_verification' && typeof fields.challenge === 'string')
      return JSON.stringify({ challenge: fields.challenge.slice(0, 1024) });
    if (!trigger.enabled) throw conflict(`trigger "${trigger.id}" is disabled`);
    const type = typeOf(trigger.format, fields?.type, header);
    const { events = [] } = trigger;
    if (events.length > 0 && (type === undefined || !events.includes(type))) return '{"ignored":true}';
    const hash = eventHash(trigger.id, claim, body.bytes);
    return startEventRun(
      request,
      trigger,
      { event: { id: idFrom(hash, 'event'), type, body: value, text }, hash },
      services,
    );
  },
});

const notSigned = (): ServiceError =>
  new ServiceError('Unauthenticated', 'the signature is absent, wrong or too old, or there is no such trigger');

const utf8 = new TextDecoder('utf-8', { fatal: true });

function textOf({ bytes }: ReceivedBytes): string {
  try {
    return utf8.decode(bytes);
  } catch (error) {
    throw new ServiceError('BadRequest', 'the body is not valid UTF-8', { cause: error });
  }
}

/** JSON as its value, a form as an object of its fields, anything else as text. */
function valueOf(text: string, { contentType }: ReceivedBytes): unknown {
  if (contentType.startsWith('application/x-www-form-urlencoded'))
    return guarded(Object.fromEntries([...new URLSearchParams(text)].filter(([name]) => name !== '__proto__')));
  refuseCostlyText(text, 'the body');
  try {
    return guarded(JSON.parse(text));
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    return text;
  }
}

function guarded(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) guardJson(value, { where: 'the body', loc: ['body'] });
  return value;
}

function typeOf(format: TriggerFormat, inBody: unknown, header: ReadHeader): string | undefined {
  const type = format === 'github' ? header('x-github-event') : inBody;
  return typeof type === 'string' ? type.slice(0, 128) : undefined;
}
