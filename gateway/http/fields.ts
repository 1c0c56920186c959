import { faultText, ServiceError, type ErrorDetail } from '@agent-workflow/kit/errors';

/** Where a caller finds what is wrong: the place in the request, as `["body", "messages", 0, "role"]`. */
export type Loc = readonly (string | number)[];

/** One thing wrong with a request, as callers read it. */
export interface WireDetail {
  readonly loc: Loc;
  readonly msg: string;
  readonly type: string;
}

/** A detail that the gateway itself found, at its place in the request. */
interface LocatedDetail extends ErrorDetail {
  readonly loc: Loc;
}

/** Where callers put the fields that services name. What is not listed stands at its own name. */
const places: Readonly<Record<string, Loc>> = {
  idempotencyKey: ['header', 'Idempotency-Key'],
  threadId: ['path', 'thread_id'],
  runId: ['run_id'],
  cursor: ['query', 'cursor'],
  offset: ['query', 'offset'],
  limit: ['body', 'limit'],
  messages: ['body', 'messages'],
  initialState: ['body', 'initial_state'],
  state: ['body', 'state'],
  config: ['body', 'config'],
  metadata: ['body', 'metadata'],
  tools: ['body', 'tools'],
  resume: ['body', 'resume'],
  granularity: ['body', 'response_granularity'],
  multitaskStrategy: ['body', 'config', 'multitask_strategy'],
  content: ['body', 'content'],
  category: ['body', 'category'],
  memoryType: ['body', 'memory_type'],
  query: ['body', 'query'],
  scoreThreshold: ['body', 'score_threshold'],
  filters: ['body', 'filters'],
  retrievalStrategy: ['body', 'retrieval_strategy'],
  distanceMetric: ['body', 'distance_metric'],
  maxTokens: ['body', 'max_tokens'],
  options: ['body', 'options'],
};

/** Names inside a field that callers spell in another way. All others are the keys of the caller's own JSON. */
const inside: Readonly<Record<string, Readonly<Record<string, string>>>> = { tools: { nodeName: 'node_name' } };

/** The place in a request where a caller put a field. */
export function locOf(field: ErrorDetail['field']): Loc {
  const [first, ...rest] = field;
  if (first === undefined) return ['body'];
  const place = typeof first === 'string' && Object.hasOwn(places, first) ? places[first] : undefined;
  const names = inside[String(first)];
  return [...(place ?? [first]), ...rest.map((step) => names?.[String(step)] ?? step)];
}

/** A service of the version before sends the place itself. */
const isLocated = (detail: ErrorDetail): detail is LocatedDetail => 'loc' in detail;

export const toWireDetail = (detail: ErrorDetail): WireDetail => ({
  loc: isLocated(detail) ? detail.loc : locOf(detail.field),
  msg: detail.msg,
  type: detail.type,
});

/** What an error says to a caller: a text that names a field names its place in the request. */
export function toWireError({ message, details }: ServiceError): {
  readonly message: string;
  readonly details: readonly WireDetail[];
} {
  const [first] = details;
  const wire = details.map(toWireDetail);
  const namesField = first !== undefined && !isLocated(first) && message === faultText(first.field, first.msg);
  return { message: namesField && wire[0] ? faultText(wire[0].loc, first.msg) : message, details: wire };
}

/** A detail at a place in the request that the gateway itself knows. */
export const located = (detail: WireDetail): ErrorDetail => {
  const { loc, msg, type } = detail;
  return { field: loc, loc, msg, type } satisfies LocatedDetail as ErrorDetail;
};

/** A place in the request holds a value of the wrong type, range or kind. */
export const invalidAt = (loc: Loc, msg: string, type = 'value_error'): ServiceError =>
  new ServiceError('Invalid', faultText(loc, msg), { details: [located({ loc, msg, type })] });
