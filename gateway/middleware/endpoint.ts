import { newId } from '@agent-workflow/kit/ids';
import { ServiceError } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import { within, type Replicas } from '@agent-workflow/protos/call';
import { decide } from '../access/decide.ts';
import type { AccessRules } from '../access/rules.ts';
import type { Access, Authorize, Subject } from '../http/access.ts';
import { leastPace } from '../http/arrival.ts';
import { bodyReader } from '../http/body.ts';
import type { Context, Principal } from '../http/context.ts';
import type { Dialect, SentParameters } from '../http/dialect.ts';
import {
  changes,
  takesIdempotencyKey,
  type Endpoint,
  type EndpointRequest,
  type Received,
  accessOf,
  type Route,
  type Row,
} from '../http/endpoint.ts';
import { receiveFile, type FormLimits, takesForm } from '../http/form.ts';
import { originOf, type Reached } from '../http/target.ts';
import { receiveBytes } from '../http/received-bytes.ts';
import { sizeOf } from '../http/json.ts';
import { writeData, writeDataParts, writeJson, writeNothing } from '../http/reply.ts';
import type { RequestConfig } from '../http/settings.ts';
import { idMaker, readIdempotencyKey, type IdempotentRequest, type RunIdempotently } from '../idempotency/index.ts';
import { writeContent } from '../replies/content.ts';
import { atExpiry, writeEvents, writeThread } from '../replies/events.ts';
import type { Feeds } from '../replies/feeds.ts';
import { refuseSocket, serveSocket } from '../replies/socket.ts';
import type { TakeRequest } from '../limits/index.ts';
import type { SubjectOf } from './subject.ts';
import type { Admission } from './admission.ts';
import type { GatewayMeters } from './metrics.ts';
import { inputChecker, queryChecker } from './validate.ts';

/**
 * Asks the authorization backend. A caller with a ticket was authorized when the ticket was made.
 * @throws PermissionDenied when the backend refuses; what `authorize` throws.
 */
async function checkAccess(
  { state }: Context,
  authorize: Authorize,
  { resource, action }: Access,
  subject?: Subject,
): Promise<void> {
  if (state.byTicket || (await authorize(state.principal, resource, action, subject))) return;
  throw notAllowed({ resource, action });
}

/** @throws PermissionDenied when no role of the caller lets them at what belongs to others. */
function checkRoles({ state }: Context, { access, forOperators }: Row, rules: AccessRules): void {
  if (!forOperators || (!state.byTicket && decide(rules, state.principal, { kind: 'admin', ...forOperators }))) return;
  throw notAllowed(accessOf({ access }) ?? { resource: 'admin', action: 'read' });
}

/** The same for what the input of a request asks for besides. A ticket gives nothing but the events that it was made for. */
async function checkMore(
  ctx: Context,
  authorize: Authorize | undefined,
  access: Access,
  subject: Subject | undefined,
): Promise<void> {
  if (ctx.state.byTicket) throw notAllowed(access);
  if (authorize) await checkAccess(ctx, authorize, access, subject);
}

const notAllowed = ({ resource, action }: Access): ServiceError =>
  new ServiceError('PermissionDenied', `${action} on ${resource} is not allowed`);

type Params = Parameters<SubjectOf>[0]['params'];

interface RunAuthorization {
  readonly authorize: Authorize | undefined;
  readonly subjectOf: SubjectOf;
  readonly dialect: Dialect;
}

/**
 * Asks the authorization backend about a run that another request than that of its row starts, as the request of the owner would be. `params` are
 * those of the path of the row.
 * @returns the agent for which it was allowed; `undefined` where that does not depend on the agent.
 */
export const runAuthorizer =
  ({ authorize, subjectOf, dialect }: RunAuthorization) =>
  async (principal: Principal, row: Row, input: unknown, params?: Params): Promise<string | undefined> => {
    const access = accessOf(row);
    if (!authorize || !access) return undefined;
    const subject = authorize.needsAgent ? await subjectOf({ principal, params, input, dialect }, row) : undefined;
    if (await authorize(principal, access.resource, access.action, subject)) return subject?.agent;
    throw new ServiceError('PermissionDenied', `${access.action} on ${access.resource} is not allowed`);
  };

/** Asks the authorization backend about one of the things that a request touches; `undefined` where it does not decide by agents. */
export const touchAuthorizer = (authorize: Authorize | undefined) =>
  authorize?.needsAgent
    ? (principal: Principal, { resource, action }: Access, subject: Subject): Promise<boolean> =>
        authorize(principal, resource, action, subject)
    : undefined;

interface AnswerOptions {
  readonly config: Pick<RequestConfig, 'CALL_TIMEOUT_MS' | 'STREAM_COMMENT_SECONDS' | 'MAX_BODY_BYTES'>;
  readonly log: Log;
  readonly runIdempotently: RunIdempotently;
  /** Streams read the events of their runs from these. */
  readonly feeds: Feeds;
  /** Bounds the bytes of large replies. */
  readonly admission: Admission;
  /** Of forms with a file. */
  readonly forms: FormLimits;
  readonly reached: Reached;
  /** Counts a request whose principal is known late; absent: requests have no limit. */
  readonly takeRequest: TakeRequest | undefined;
}

/** The last step of an endpoint: calls its handler and writes the reply. */
function answerer<Services>(
  row: Endpoint<Services>,
  services: Services,
  { config, log, runIdempotently, feeds, admission, forms, reached, takeRequest }: AnswerOptions,
): (ctx: Context) => Promise<void> {
  const { handle, answer: kind, status, startsRun = false, takesLastEventId = false, takesBytes } = row;
  const takesKey = takesIdempotencyKey(row);
  const isRead = !changes(row);
  const isOfOthers = row.isOfOthers ?? row.forOperators !== undefined;
  return async (ctx) => {
    const calls = callsOf(ctx, { callTimeoutMs: config.CALL_TIMEOUT_MS, isOfOthers });
    const mayTake = takesKey && row.mayStartRun?.(ctx.state.input as never) !== false;
    const hasKey = mayTake && ctx.req.headers['idempotency-key'] !== undefined;
    const read = hasKey ? readIdempotencyKey(ctx, startsRun) : undefined;
    const idempotent = read && {
      ...read,
      ...(row.mayStartRun && { mayStartNone: true as const }),
      ...(isOfOthers && { isOfOthers: true as const }),
    };
    const request = toEndpointRequest(ctx, calls, { idempotent, takesLastEventId, forms, reached });
    if (takesBytes !== undefined) Object.assign(request, { received: receivedOf(ctx, takesBytes, takeRequest) });
    const replying = idempotent
      ? runIdempotently(
          ctx,
          idempotent,
          () => calls.call(),
          (attempt) => handle(Object.assign(request, attempt), services),
        )
      : handle(request, services);
    const reply = await (isOfOthers ? unlessExpired(replying, calls) : replying);
    // Not awaited: the request and its calls need not stand in memory as long as the stream.
    const streaming = { config, log, feeds, abort: calls.abort };
    if (typeof reply === 'object' && 'follow' in reply) return writeEvents(ctx, reply, streaming);
    if (typeof reply === 'object' && 'runs' in reply) return writeThread(ctx, reply, streaming);
    if (typeof reply === 'object' && 'talk' in reply)
      return serveSocket(ctx, reply, { config, log, admission, takeRequest });
    if (typeof reply === 'object' && 'open' in reply) {
      await writeContent(ctx, reply);
      return;
    }
    admission.reply(ctx, typeof reply === 'string' ? reply.length : sizeOf(reply), isRead);
    const { replyStatus = status } = ctx.state;
    if (replyStatus === 204 || reply === '') writeNothing(ctx, replyStatus);
    else if (typeof reply !== 'string') writeDataParts(ctx, reply, replyStatus);
    else if (kind === 'bare') writeJson(ctx, replyStatus, reply);
    else writeData(ctx, reply, replyStatus);
  };
}

/** Makes the calls to services of one request; `abort` ends them. */
interface Calls extends Pick<EndpointRequest, 'call'> {
  readonly abort: () => void;
  /** Whether they were ended since the credentials of the caller have expired. */
  readonly isExpired: () => boolean;
}

/** What the headers of a request mean to its row, and how a form is read. */
interface Reading {
  readonly idempotent: IdempotentRequest | undefined;
  readonly takesLastEventId: boolean;
  readonly forms: FormLimits;
  readonly reached: Reached;
}

function toEndpointRequest(
  ctx: Context,
  { call }: Calls,
  { idempotent, takesLastEventId, forms, reached }: Reading,
): EndpointRequest {
  const { state, req, res } = ctx;
  const { params, input, requestId, principal, agent } = state;
  const { owner, user, roles } = principal;
  const lastEventId = takesLastEventId ? req.headers['last-event-id'] : undefined;
  const request: { -readonly [name in keyof EndpointRequest]: EndpointRequest[name] } = {
    params,
    input,
    requestId,
    owner,
    user,
    ...(roles && { roles }),
    dialect: state.dialect.name,
    agent,
    expiresAt: state.expiresAt,
    call,
    idempotency: idempotent ? { onceKey: idempotent.key } : {},
    at: new Date(),
    isRepeated: false,
    markAccepted: () => Promise.resolve(),
    releaseInput: () => {
      request.input = undefined;
      state.input = undefined;
      state.body = undefined;
      state.called = undefined;
      state.bodyReservation?.resize(0);
    },
    newId: idempotent ? idMaker(idempotent) : newId,
    rpc: state.rpc,
    origin: () => originOf(ctx, reached),
    lastEventId: typeof lastEventId === 'string' && lastEventId !== '' ? lastEventId : undefined,
    header: (name) => headerOf(ctx, name),
    setReplyStatus: (status) => {
      state.replyStatus = status;
    },
    addReplyMetadata: (entries) => {
      state.replyMetadata = { ...state.replyMetadata, ...entries };
    },
    addReplyHeaders: (headers) => {
      state.headers.push(...Object.entries(headers).flat());
    },
    receiveFile: (take) => receiveFile(ctx, forms, take),
    onClose: (act) => {
      if (res.closed) act();
      else res.once('close', act);
    },
    onDisconnect: (act) => {
      res.once('close', () => {
        if (!res.writableFinished) act();
      });
    },
  };
  return request;
}

/** What the request has beside its path and its body. */
export const sentWith = (ctx: Context): SentParameters => ({
  header: (name) => headerOf(ctx, name),
  query: (name) => {
    const [value] = ctx.querystring === '' ? [] : [ctx.query[name]].flat();
    return value;
  },
});

const headerOf = ({ req }: Context, name: string): string | undefined => {
  const value = req.headers[name];
  return typeof value === 'string' ? value : undefined;
};

function receivedOf(ctx: Context, maxBytes: number, takeRequest: TakeRequest | undefined): Received {
  return {
    header: (name) => headerOf(ctx, name),
    read: () => receiveBytes(ctx, maxBytes),
    enter: async (principal) => {
      ctx.state.principal = principal;
      // The rate of the owner stands in the headers in place of that of the address.
      const { headers } = ctx.state;
      const rateAt = headers.indexOf('RateLimit-Limit');
      if (rateAt !== -1) headers.splice(rateAt, 6);
      await takeRequest?.(ctx);
    },
  };
}

interface CallsOptions {
  readonly callTimeoutMs: number;
  /** Whether the request is about others than its caller: then its calls end with the credentials, as the role may that lets the caller see them. */
  readonly isOfOthers: boolean;
}

/** The signal is made with the first call: many requests call no service. */
function callsOf(ctx: Context, { callTimeoutMs, isOfOthers }: CallsOptions): Calls {
  let made: AbortController | undefined;
  let isExpired = false;
  const replicas: Replicas = new Map();
  const controller = (): AbortController => {
    if (made) return made;
    const controller = new AbortController();
    const expire = (): void => {
      isExpired = true;
      controller.abort();
    };
    const expiry = isOfOthers ? atExpiry(ctx, expire) : undefined;
    ctx.res.once('close', () => {
      expiry?.[Symbol.dispose]();
      if (!ctx.res.writableFinished) controller.abort();
    });
    made = controller;
    return controller;
  };
  return {
    call: (ms = callTimeoutMs) => ({ ...within(ms, controller().signal), replicas }),
    abort: () => {
      controller().abort();
    },
    isExpired: () => isExpired,
  };
}

/** A reply about others, unless it was waited for until the credentials of the caller expired. @throws Unauthenticated */
async function unlessExpired<Reply>(replying: Promise<Reply> | Reply, { isExpired }: Calls): Promise<Reply> {
  try {
    return await replying;
  } catch (error) {
    throw isExpired() ? new ServiceError('Unauthenticated', 'the credentials have expired') : error;
  }
}

interface EndpointOptions<Services> extends AnswerOptions {
  readonly dialect: Pick<Dialect, 'prefix' | 'ignoresUnknownQuery' | 'bodyTypes' | 'checkSent' | 'everyQuery'>;
  readonly config: RequestConfig;
  readonly services: Services;
  /** Absent: every caller may do everything. */
  readonly authorize: Authorize | undefined;
  /** The roles, and what they allow. */
  readonly rules: AccessRules;
  /** What a request is about that has been read. */
  readonly subjectOf: SubjectOf;
  /** Takes a slot for a stream of the caller. */
  readonly takeStreamSlot: (ctx: Context) => Promise<void>;
  /** Absent: nothing is measured. */
  readonly meters: GatewayMeters | undefined;
}

/** A body of JSON is short. */
export const bodyArrival = { totalMs: 120_000, pace: leastPace };

/** Handles the requests that match a route of this row. The order of its steps is the order in which a request can be refused. */
export function endpointSteps<Services>(
  row: Endpoint<Services>,
  route: Route,
  options: EndpointOptions<Services>,
): (ctx: Context) => Promise<void> {
  const { authorize, rules, subjectOf, admission, forms, takeStreamSlot, meters } = options;
  const { bodyTypes, checkSent } = options.dialect;
  const access: Access | undefined = authorize && accessOf(row);
  const isSocket = row.answer === 'socket';
  const isStream = row.answer === 'events' || isSocket;
  const { method, path } = route;
  const matched = { name: row.name, path, isStream };
  const readBody =
    row.input && method !== 'GET'
      ? bodyReader({
          maxBytes: options.config.MAX_BODY_BYTES,
          arrival: bodyArrival,
          listBody: row.listBody,
          types: bodyTypes,
        })
      : undefined;
  const checkQuery = options.dialect.ignoresUnknownQuery ? undefined : queryChecker(row, route, options.dialect);
  const checkInput = inputChecker(row, method);
  const answer = answerer(row, options.services, options);

  const handle = async (ctx: Context): Promise<void> => {
    ctx.state.route = matched;
    checkSent?.(sentWith(ctx), row.name);
    if (row.forOperators) checkRoles(ctx, row, rules);
    if (authorize && access && !authorize.needsAgent) await checkAccess(ctx, authorize, access);
    checkQuery?.(ctx);
    if (row.takesFile) {
      if (!takesForm(ctx, forms)) return;
      admission.reserve(ctx, forms.bufferBytes);
    }
    if (row.takesBytes !== undefined) admission.reserve(ctx, row.takesBytes);
    if (readBody && !ctx.state.called) {
      admission.reserveBody(ctx);
      if (!(await readBody(ctx))) return;
    }
    checkInput(ctx);
    let subject: Subject | undefined;
    if (authorize?.needsAgent && access && !ctx.state.byTicket) {
      // What belongs to others is none of the caller's threads and runs.
      subject = row.forOperators ? {} : await subjectOf(ctx.state, row);
      await checkAccess(ctx, authorize, access, subject);
      ctx.state.agent = subject.agent;
    }
    const more = row.alsoAccess?.(ctx.state.input as never) ?? [];
    for (const one of [more].flat()) await checkMore(ctx, authorize, one, subject);
    const streams = isStream || row.mayStream?.(ctx.state.input as never) === true;
    if (!streams) {
      await answer(ctx);
      return;
    }
    if (!isStream) ctx.state.route = { ...matched, isStream: true };
    await takeStreamSlot(ctx);
    meters?.streamsOpen.add({}, 1);
    try {
      await answer(ctx);
    } finally {
      meters?.streamsOpen.add({}, -1);
    }
  };
  return isSocket ? (ctx) => handle(ctx).catch((error: unknown) => refuseSocket(ctx, error)) : handle;
}
