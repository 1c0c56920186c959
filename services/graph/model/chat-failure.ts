/** What an operator calls the settings of a model. */
export interface SettingNames {
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly model: string;
}

/** A reply that is no success. What the other side wrote is left out: it may hold the key or the conversation. */
class ChatError extends Error {
  readonly status: number;
  /** Milliseconds after which the other side asks to be tried again; 0 when it asks for none. */
  readonly retryAfterMs: number;

  constructor(status: number, retryAfterMs: number) {
    super(`the API answered ${String(status)}`);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

export async function toChatError({ status, headers, body }: Response): Promise<Error> {
  await body?.cancel();
  const seconds = Number(headers.get('retry-after') ?? 0);
  return new ChatError(status, Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : 0);
}

const transientStatuses: ReadonlySet<number> = new Set([408, 409, 429, 500, 502, 503, 504]);

/** `fetch` throws a TypeError for whatever keeps a request from its reply. */
export const isTransient = (error: unknown): boolean =>
  error instanceof ChatError ? transientStatuses.has(error.status) : error instanceof TypeError;

export const retryAfterMs = (error: unknown): number => (error instanceof ChatError ? error.retryAfterMs : 0);

/**
 * The error that the caller of a run may see: what went wrong with the model and what to check, without the key, the
 * address, or what the other side wrote, which stay in its cause.
 */
export function chatFailure(
  error: unknown,
  { isLate, names }: { readonly isLate: boolean; readonly names?: Partial<SettingNames> | undefined },
): Error {
  return new Error(messageOf(error, isLate, { apiKey: 'apiKey', baseUrl: 'baseUrl', model: 'model', ...names }), {
    cause: error,
  });
}

function messageOf(error: unknown, isLate: boolean, { apiKey, baseUrl, model }: SettingNames): string {
  if (isLate) return 'the model took too long to answer';
  if (error instanceof ChatError) {
    switch (error.status) {
      case 400:
        return 'the model refused the request (400)';
      case 401:
        return `the model refused the key (401): check ${apiKey}`;
      case 403:
        return `the key may not use the model (403): check ${apiKey} and ${model}`;
      case 404:
        return `the model is not there (404): check ${model} and ${baseUrl}`;
      case 413:
        return 'the conversation is too large for the model (413)';
      case 429:
        return 'the model is busy or its quota is used up (429): try again later';
      default:
        return `the model failed (${String(error.status)})`;
    }
  }
  return error instanceof TypeError && error.message === 'fetch failed'
    ? `the model cannot be reached: check ${baseUrl}`
    : 'the model broke off its answer';
}
