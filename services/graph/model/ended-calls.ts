import { newId } from '@agent-workflow/kit/ids';
import { bytesOver, sizes } from '@agent-workflow/kit/sizes';
import type { CallPart, FinishReason, ProviderData } from './model.ts';
import { isObject } from './given-json.ts';
import { TooLongError } from './model-failure.ts';

/** A tool call as it stands when its answer has ended. */
export interface EndedCall {
  /** Empty: the provider gave none. */
  readonly id: string;
  readonly name: string;
  /** JSON text as far as it came, or a value. */
  readonly args: unknown;
  /** The provider began it and did not end it. */
  readonly isCut?: true;
  readonly provider_data?: ProviderData;
}

interface AnswerEnd {
  readonly reason: FinishReason;
  /** Whether the provider gave a reason. */
  readonly isStated: boolean;
}

/**
 * The calls of an answer. One that cannot be shown to be whole is cut: the last one of an answer that reached its length limit or was filtered; one
 * without a name; one whose arguments are no object of JSON, which providers refuse to get back; and one without arguments where the answer ended early, or nothing says why it ended.
 */
export const toCallParts = (calls: readonly EndedCall[], { reason, isStated }: AnswerEnd): CallPart[] => {
  const isEarly = reason === 'length' || reason === 'content_filter';
  return calls.map(({ id, name, args, isCut, provider_data: data }, at) => {
    const read = typeof args === 'string' ? readArgs(args, isStated && !isEarly) : { value: args };
    const isWhole = !isCut && name !== '' && isObject(read?.value) && !(isEarly && at === calls.length - 1);
    return {
      ...{ type: 'tool_call', id: id === '' ? newId() : id, name: name === '' ? 'unnamed' : name },
      ...(isWhole ? { args: read.value } : { args: {}, cut: true }),
      ...(data && { provider_data: data }),
    };
  });
};

/**
 * The arguments from the text that a model wrote; none for a text that is no JSON. `null`, and no text where that may be, are no arguments. Some
 * models write the JSON of their JSON, and some a line end within a text as it is.
 */
function readArgs(json: string, mayBeEmpty: boolean): { readonly value: unknown } | undefined {
  if (json.trim() === '') return mayBeEmpty ? { value: {} } : undefined;
  try {
    const read = parse(json);
    const value = typeof read === 'string' && read.trimStart().startsWith('{') ? parse(read) : read;
    return { value: value ?? {} };
  } catch {
    return undefined;
  }
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return JSON.parse(withEscapes(json));
  }
}

/** With the control characters within its texts written as JSON has them. */
function withEscapes(json: string): string {
  const parts = json.split(/(\\.|")/s);
  let isText = false;
  return parts
    .map((part) => {
      if (part === '"') isText = !isText;
      return isText ? part.replaceAll(/\p{Cc}/gu, (control) => JSON.stringify(control).slice(1, -1)) : part;
    })
    .join('');
}

/** @throws TooLongError when an answer of so many characters is over the size limit of a message. */
export function refuseLong(characters: number): void {
  if (characters > sizes.message)
    throw new TooLongError(`the answer of the model has ${bytesOver(characters, sizes.message)}`);
}
