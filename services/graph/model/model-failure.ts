/** What an operator calls the settings of a model. */
export interface SettingNames {
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly model: string;
}

/** Why a model gave no whole answer. */
export type ModelFault =
  | { readonly kind: 'late' | 'cut' }
  /** `code` is the code of the system error, as `ECONNREFUSED`. */
  | { readonly kind: 'unreachable'; readonly code?: string | undefined }
  /** The API replied with a status of HTTP that is no success. */
  | { readonly kind: 'refused'; readonly status: number };

const ownNames: SettingNames = { apiKey: 'apiKey', baseUrl: 'baseUrl', model: 'model' };

/**
 * The error that the caller of a run may see. It names the fault and the settings to check. It holds no key, no address and nothing
 * that the API wrote, because a reply may repeat the key or the conversation.
 */
export function modelFailure(fault: ModelFault, names: Partial<SettingNames> = {}): Error {
  const { apiKey, baseUrl, model } = { ...ownNames, ...names };
  switch (fault.kind) {
    case 'late':
      return new Error('the model took too long to answer');
    case 'cut':
      return new Error('the model broke off its answer');
    case 'unreachable': {
      const { code } = fault;
      return new Error(`the model cannot be reached: check ${baseUrl}`, code === undefined ? {} : { cause: code });
    }
    case 'refused':
      return new Error(refusal(fault.status, { apiKey, baseUrl, model }));
  }
}

function refusal(code: number, { apiKey, baseUrl, model }: SettingNames): string {
  switch (code) {
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
      return `the model failed (${code})`;
  }
}
