import type { ErrorDetail } from '@agent-workflow/kit/errors';
import type { Refusal, RefusalReply, Replied } from '../../../http/dialect.ts';
import { isBatch, noBatches } from '../../common/batch.ts';
import { isLocated } from '../../../http/fields.ts';
import { reasonIn, reasons, type ReasonName } from './reasons.ts';

/** What a refusal is where the protocol has an error for it. */
const byCode: Readonly<Partial<Record<Refusal['code'], ReasonName>>> = {
  NotFound: 'TASK_NOT_FOUND',
  Invalid: 'INVALID_PARAMS',
  BadRequest: 'INVALID_REQUEST',
};

/** The words of REST for every other status. */
const statusNames: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  413: 'OUT_OF_RANGE',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** The code of JSON-RPC for what is no error of the protocol: the caller's fault, and the service's. */
const rpcCodes = { ofCaller: -32000, ofService: -32603 } as const;

interface Shown {
  readonly rpc: number;
  readonly http: number;
  readonly status: string;
  readonly reason: string;
}

/** An error as the binding of the request has it: `{"error": …}` of JSON-RPC with the id of the call, or of REST. */
export function refuse(refusal: Refusal, { rpc }: Pick<Replied, 'rpc'>): RefusalReply {
  const isOne = !isBatch(refusal);
  const shown = shownOf(refusal, rpc === undefined || rpc.isRead || !isOne);
  const message = isOne || !rpc ? refusal.message : noBatches;
  const details = detailsOf(shown, refusal);
  const body = rpc
    ? { jsonrpc: '2.0', id: rpc.id, error: { code: shown.rpc, message, data: details } }
    : { error: { code: shown.http, status: shown.status, message, details } };
  // Clients of JSON-RPC read an error only of a reply that has succeeded.
  const status = rpc && !keepsStatus(shown.http) ? 200 : shown.http;
  return { status, headers: ['Content-Type', 'application/json; charset=utf-8'], body: JSON.stringify(body) };
}

/** What is about the caller and the service rather than the call, and what proxies and clients act on. */
const keepsStatus = (status: number): boolean => status >= 500 || [401, 403, 413, 429].includes(status);

function shownOf({ code, status, details = [] }: Refusal, isRead: boolean): Shown {
  const named =
    reasonIn(details[0]?.type) ?? (isRead ? byCode[code] : code === 'BadRequest' ? 'PARSE_ERROR' : undefined);
  if (named) return { ...reasons[named], reason: named };
  return {
    rpc: status >= 500 ? rpcCodes.ofService : rpcCodes.ofCaller,
    http: status,
    status: statusNames[status] ?? (status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT'),
    reason: code.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase(),
  };
}

/** The details in the form of `google.rpc`: the reason, and the fields that are at fault. */
function detailsOf({ reason }: Shown, { details = [] }: Refusal): readonly object[] {
  const fields = details.filter(({ type }) => reasonIn(type) === undefined);
  return [
    { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'a2a-protocol.org' },
    ...(fields.length > 0
      ? [
          {
            '@type': 'type.googleapis.com/google.rpc.BadRequest',
            fieldViolations: fields.map((detail) => ({ field: fieldOf(detail), description: detail.msg })),
          },
        ]
      : []),
  ];
}

/** The field without the part of the request that it stands in, as callers of the protocol name it. */
function fieldOf(detail: ErrorDetail): string {
  const field = (isLocated(detail) ? detail.loc.slice(1) : detail.field).map(String);
  const [first = ''] = field;
  if (first === 'messages') return field.includes('content') ? 'message.parts' : 'message';
  if (first === 'cursor') return 'pageToken';
  return (first === 'query' ? field.slice(1) : field).join('.');
}
