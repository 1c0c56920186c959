import { failureReasons } from '@agent-workflow/kit/errors';
import { described, objectOf, ResponseMetadata, text } from './common.ts';
import { Type } from '../../common/builders.ts';

/** Every `code` of the error envelope, and when it comes. The service adds none without a new line here. */
export const errorCodes = {
  BAD_REQUEST:
    'The body is not a JSON object, body or query are not valid UTF-8, or the request makes no sense in the present state of the thread, as a tool result for a call that nobody made',
  AUTHENTICATION_FAILED: 'Credentials, ticket or address of a file are missing, invalid or expired',
  PERMISSION_DENIED:
    'The authorization backend of the service refused; or, where nobody authenticates, a page of another origin would change something; or `Host` is no name of this gateway',
  RESOURCE_NOT_FOUND:
    'The caller has no thread, message, run, checkpoint, memory or file of this id, the service has no agent, or nothing is at this path',
  METHOD_NOT_ALLOWED: 'The path exists for other methods; the header `Allow` names them',
  CONFLICT:
    'A run of the thread is under way, another write came first, or `multitask_strategy` is `reject` and the thread has a run',
  PAYLOAD_TOO_LARGE:
    'The body, the URL or the headers are larger than the bound, or the files of the caller are together',
  UNSUPPORTED_MEDIA_TYPE:
    'The body is not `application/json` in UTF-8, or `multipart/form-data` where a file is uploaded',
  RANGE_NOT_SATISFIABLE: 'The part of a file that `Range` names lies outside of it',
  VALIDATION_ERROR: 'A field has the wrong type, range or value; `details` names it',
  RATE_LIMITED: 'Too many requests, failed authentications or open streams; `Retry-After` says when to try again',
  INTERNAL_ERROR: 'The service failed; its log has the cause under the id of the request',
  NODE_ERROR: 'A node of the graph failed; `details` names the node. What was committed before stays',
  GRAPH_ERROR: 'The graph cannot run, as when a route leads nowhere',
  STORAGE_ERROR: 'The record could not be read or written, and a repeated request would fail too',
  SERVICE_UNAVAILABLE: 'Something that the request needs is unavailable or full; `Retry-After` says when to try again',
  TIMEOUT: 'The body arrived too slowly, or the deadline passed; a run that was started goes on',
} as const;

export type WireCode = keyof typeof errorCodes;

/** Members of the error of a failed run, and of the detail that names its node. */
export const whyCodeFailed = {
  reason: Type.Optional(
    text(
      `Why code of the agent failed, as one of these words: ${failureReasons.map((word) => `\`${word}\``).join(', ')}. Absent where the service itself says why`,
    ),
  ),
  parameter: Type.Optional(
    text(
      'The parameter of a request to a model that its provider refused, as `temperature`; absent where none is known',
    ),
  ),
};

const ErrorDetail = objectOf('ErrorDetail', 'One fault of a request.', {
  loc: Type.Array(
    Type.Unsafe<string | number>({
      type: ['string', 'integer'],
      description: 'The part of the request (`path`, `query`, `header`, `body`), then names of fields and indexes',
    }),
    { description: 'Where the fault is, as `["body", "messages", 0, "role"]`' },
  ),
  msg: text('What is wrong, for people'),
  type: text('What is wrong, for programs, as `missing`, `string_type`, `greater_than_equal`, `too_large`'),
  ...whyCodeFailed,
});

const refusal = {
  code: Type.String({
    description: [
      'Why, as a stable word:',
      '',
      ...Object.entries(errorCodes).map(([code, when]) => `- \`${code}\`: ${when}`),
    ].join('\n'),
  }),
  message: text('Why, for people; names the field, the value and the bound where there are any'),
  details: Type.Array(ErrorDetail, { description: 'The faults by their place; the first fault only, often none' }),
};

/** Why one of several things that a request asks for was refused. */
export const PartRefusal = objectOf('PartRefusal', 'Why one part of a request was refused.', refusal);

export const ErrorBody = objectOf('Error', 'Why a request was refused.', {
  error: Type.Object(refusal, { description: 'The refusal' }),
  metadata: described(ResponseMetadata, 'About this reply'),
});
