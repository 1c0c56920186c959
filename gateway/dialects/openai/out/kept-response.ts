import { sizes } from '@agent-workflow/kit/sizes';
import { isObject, type Fields } from '../messages/content.ts';
import type { ResponseInput } from '../schemas/responses.ts';

/** What the record keeps of the request for a response, with its run. */
export interface KeptResponse {
  readonly isStored: boolean;
  /** Whether the thread was made for the run alone, and goes with it. */
  readonly isThreadUnkept: boolean;
  /** The fields that the response repeats. */
  readonly body: Fields;
  /** The items of the input; absent where they were too large to be kept. */
  readonly input?: readonly unknown[];
}

/** Fields of a request that its response repeats. */
const repeated = [
  ...([
    'instructions',
    'previous_response_id',
    'conversation',
    'background',
    'metadata',
    'tools',
    'tool_choice',
  ] as const),
  ...(['truncation', 'temperature', 'top_p', 'parallel_tool_calls', 'user', 'safety_identifier'] as const),
  ...(['prompt_cache_key', 'max_output_tokens', 'max_tool_calls', 'reasoning', 'text'] as const),
] satisfies readonly (keyof ResponseInput)[];

/** What is left out of a request that is too large, in this order. */
const mayBeLeftOut = ['tools', 'instructions', 'text', 'reasoning', 'metadata'] as const;

/** What is kept of a request, of at most 64 KiB of JSON: its input is left out first. */
export function toKeptResponse(
  request: ResponseInput,
  items: readonly unknown[],
  {
    isThreadUnkept,
    digest,
    isAgain,
  }: { readonly isThreadUnkept: boolean; readonly digest: string; readonly isAgain: boolean },
): Readonly<Record<string, unknown>> {
  let body: Fields = Object.fromEntries(
    repeated.flatMap((name) => (request[name] === undefined ? [] : [[name, request[name]]])),
  );
  const stored = request.store !== false;
  const common = {
    api: 'openai',
    digest,
    stored,
    ...(isThreadUnkept && { unkept: true }),
    ...(isAgain && { again: true }),
  };
  const whole = { ...common, body, input: items };
  if (bytesOf(whole) <= sizes.shownRequest) return whole;
  for (const name of mayBeLeftOut) {
    if (bytesOf({ ...common, body }) <= sizes.shownRequest) break;
    const { [name]: _, ...rest } = body;
    body = rest;
  }
  return { ...common, body };
}

/** What is kept of a chat completion, whose thread may go with its run. */
export const toKeptCompletion = (digest: string, isThreadUnkept: boolean) => ({
  ...{ api: 'openai', digest, body: {} },
  ...(isThreadUnkept && { stored: false, unkept: true }),
});

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

const notOfResponse: KeptResponse = { isStored: true, isThreadUnkept: false, body: {} };

/** The same as it was kept. A run that another dialect started has said nothing of a response. */
export function fromKeptResponse(kept: unknown): KeptResponse {
  if (!isObject(kept) || kept['api'] !== 'openai' || !isObject(kept['body'])) return notOfResponse;
  const { stored, unkept, body, input } = kept;
  return {
    isStored: stored !== false,
    isThreadUnkept: unkept === true,
    body,
    ...(Array.isArray(input) && { input: input as unknown[] }),
  };
}
