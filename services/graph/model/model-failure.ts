import type { FailureReason } from '@agent-workflow/kit/errors';
import { StatedError } from '../state/stated-error.ts';
import type { ProviderFault } from './provider-words.ts';

/** What an operator calls the settings of a model. */
export interface SettingNames {
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly model: string;
}

/** Why a model gave no whole answer. */
export type ModelFault =
  | { readonly kind: 'late' | 'unreadable' }
  /** `why` is the code of the system error, as `ECONNRESET`, or that the stream ended in order, but before the answer did. */
  | { readonly kind: 'cut'; readonly why?: string | undefined }
  | { readonly kind: 'too_long'; readonly message: string }
  /** A success that is no answer, as a page: `contentType` is what it says to be. */
  | { readonly kind: 'no_answer'; readonly contentType: string }
  /** `code` is the code of the system error, as `ECONNREFUSED`. */
  | { readonly kind: 'unreachable'; readonly code?: string | undefined }
  /** The API replied with a status of HTTP that is no success, or with an error in the middle of its answer. */
  | { readonly kind: 'refused'; readonly status?: number | undefined; readonly fault: ProviderFault };

/** A reply that is a success and no answer. */
export class NoAnswerError extends Error {
  readonly contentType: string;

  constructor(contentType: string) {
    super('the reply is no answer');
    this.contentType = contentType;
  }
}

/** A stream that ended before the answer did. */
export class CutError extends Error {
  constructor() {
    super('the stream ended without a finish reason');
  }
}

/** An answer that is over a bound; the message says which one. */
export class TooLongError extends Error {}

const ownNames: SettingNames = { apiKey: 'apiKey', baseUrl: 'baseUrl', model: 'model' };

/**
 * The error that the caller of a run may see. It names the fault and the settings to check. It holds no key, no address and nothing
 * that the API wrote, because a reply may repeat the key or the conversation. The cause, which is logged alone, holds what the API wrote beside that.
 */
export function modelFailure(fault: ModelFault, names: Partial<SettingNames> = {}): Error {
  const known = { ...ownNames, ...names };
  switch (fault.kind) {
    case 'late':
      return stated('the model took too long to answer', 'timed_out');
    case 'cut':
      return stated('the model broke off its answer', 'cut_off', fault.why);
    case 'too_long':
      return stated(fault.message, 'answer_too_long');
    case 'unreadable':
      return stated('the answer of the model could not be read', 'unreadable');
    case 'no_answer':
      return stated(
        `the answer of the model could not be read: check ${known.baseUrl}`,
        'unreadable',
        `the reply is no answer of chat completions, but ${wordsOfType(fault.contentType)}`,
      );
    case 'unreachable':
      return stated(`the model cannot be reached: check ${known.baseUrl}`, 'unreachable', fault.code);
    case 'refused': {
      const { reason, parameter, words } = fault.fault;
      const cause = words === '' ? undefined : `the provider wrote: ${words}`;
      return new StatedError(refusal(fault, known), { reason, parameter, cause });
    }
  }
}

const stated = (message: string, reason: FailureReason, cause?: string): Error =>
  new StatedError(message, { reason, cause });

/** The type of media alone: its parameters may be any words. */
const wordsOfType = (contentType: string): string =>
  /^[\w.+-]{1,60}\/[\w.+-]{1,60}/.exec(contentType)?.[0] ?? 'of no known type';

type Refused = Extract<ModelFault, { kind: 'refused' }>;

function refusal({ status, fault: { reason, parameter } }: Refused, { apiKey, baseUrl, model }: SettingNames): string {
  const code = status === undefined ? '' : ` (${String(status)})`;
  switch (reason) {
    case 'context_too_long':
      return `the conversation is too large for the model${code}`;
    case 'content_filtered':
      return `the provider of the model filtered the content${code}`;
    case 'credentials_refused':
      return status === 403
        ? `the key may not use the model${code}: check ${apiKey} and ${model}`
        : `the model refused the key${code}: check ${apiKey}`;
    case 'not_found':
      return `the model is not there${code}: check ${model} and ${baseUrl}`;
    case 'rate_limited':
      return `the model is busy or its quota is used up${code}: try again later`;
    case 'refused_by_provider':
      return parameter === undefined
        ? `the model refused the request${code}`
        : `the model refused the parameter ${parameter}${code}`;
    default:
      return status === undefined ? 'the model ended its answer with an error' : `the model failed${code}`;
  }
}
