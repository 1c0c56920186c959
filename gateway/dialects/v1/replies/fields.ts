import { faultText, type ErrorDetail } from '@agent-workflow/kit/errors';
import { isLocated, type Loc } from '../../../http/fields.ts';
import type { Refusal } from '../../../http/dialect.ts';

/** One fault of a request, as callers read it. */
interface WireDetail {
  readonly loc: Loc;
  readonly msg: string;
  readonly type: string;
  /** Why code of the agent failed. */
  readonly reason?: string | undefined;
  readonly parameter?: string | undefined;
}

/** The location in a request of each field that services name. A field that is not listed has its own name as location. */
const locations: Readonly<Record<string, Loc>> = {
  idempotencyKey: ['header', 'Idempotency-Key'],
  threadId: ['path', 'thread_id'],
  runId: ['run_id'],
  cursor: ['body', 'cursor'],
  offset: ['body', 'offset'],
  limit: ['body', 'limit'],
  messages: ['body', 'messages'],
  initialState: ['body', 'initial_state'],
  interruptBefore: ['body', 'interrupt_before'],
  interruptAfter: ['body', 'interrupt_after'],
  state: ['body', 'state'],
  config: ['body', 'config'],
  metadata: ['body', 'metadata'],
  tools: ['body', 'tools'],
  webhook: ['body', 'webhook'],
  resume: ['body', 'resume'],
  granularity: ['body', 'response_granularity'],
  multitaskStrategy: ['body', 'config', 'multitask_strategy'],
  content: ['body', 'content'],
  category: ['body', 'category'],
  timestamp: ['body', 'timestamp'],
  expiresAt: ['body', 'expires_at'],
  before: ['body', 'before'],
  memoryType: ['body', 'memory_type'],
  query: ['body', 'query'],
  scoreThreshold: ['body', 'score_threshold'],
  filters: ['body', 'filters'],
  retrievalStrategy: ['body', 'retrieval_strategy'],
  distanceMetric: ['body', 'distance_metric'],
  maxTokens: ['body', 'max_tokens'],
  options: ['body', 'options'],
  current: ['body', 'current'],
  ramping: ['body', 'ramping'],
};

/** Names inside a field that are different on the wire. All others are keys of the caller's own JSON. */
const inside: Readonly<Record<string, Readonly<Record<string, string>>>> = { tools: { nodeName: 'node_name' } };

/** The location of a field in a request. */
function locOf(field: ErrorDetail['field']): Loc {
  const [first, ...rest] = field;
  if (first === undefined) return ['body'];
  const location = typeof first === 'string' && Object.hasOwn(locations, first) ? locations[first] : undefined;
  const names = inside[String(first)];
  return [...(location ?? [first]), ...rest.map((step) => names?.[String(step)] ?? step)];
}

const toWireDetail = (detail: ErrorDetail, method: string): WireDetail => ({
  loc: isLocated(detail) ? detail.loc : inRequest(locOf(detail.field), method),
  msg: detail.msg,
  type: detail.type,
  ...(isLocated(detail) && detail.reason !== undefined && { reason: detail.reason }),
  ...(isLocated(detail) && detail.parameter !== undefined && { parameter: detail.parameter }),
});

/** A list is asked for by GET too: what others have in their body is then in the query. */
const inRequest = (loc: Loc, method: string): Loc =>
  method === 'GET' && loc[0] === 'body' && loc.length > 1 ? ['query', ...loc.slice(1)] : loc;

/** Message and details of a refusal for a caller. A message that names a field names its location in the request. */
export function toWireError({
  message,
  details = [],
  method = 'POST',
}: Pick<Refusal, 'message' | 'details' | 'method'>): {
  readonly message: string;
  readonly details: readonly WireDetail[];
} {
  const [first] = details;
  const wire = details.map((detail) => toWireDetail(detail, method));
  const namesField = first !== undefined && !isLocated(first) && message === faultText(first.field, first.msg);
  return { message: namesField && wire[0] ? faultText(wire[0].loc, first.msg) : message, details: wire };
}
