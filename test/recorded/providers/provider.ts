import type { FailureReason } from '@agent-workflow/kit/errors';

/** A reply of a server of chat completions, as it stands on the wire. */
export interface Reply {
  /** 200 unless given. */
  readonly status?: number;
  /** `text/event-stream` unless given. */
  readonly type?: string;
  readonly body: string;
}

/** What a provider sends in each of the situations that the suite plays. The answers are the same; how they are written differs. */
export interface Provider {
  readonly name: string;
  /** Where the shapes are described. */
  readonly source: string;
  /** The text `Hello` with the tokens 5 and 2. */
  readonly text: Reply;
  /** Two calls at once: `weather` of Paris and of Oslo. */
  readonly calls: Reply;
  /** The reasoning `Think.`, then the text `Hello`; `hidden` where the provider shows none in this dialect. */
  readonly reasoning: Reply | 'hidden';
  /** A call that reached the length limit. */
  readonly cut: Reply;
  /** A failure, and how callers read it. The log has the word `pineapple`, which the provider wrote. */
  readonly error: Reply & { readonly reason: FailureReason };
}

type Json = Readonly<Record<string, unknown>>;

/** Events of a stream: objects as their JSON, texts as they are. `[DONE]` ends it. */
export const stream = (...events: readonly (Json | string)[]): Reply => ({
  body: [...events, 'data: [DONE]']
    .map((event) => `${typeof event === 'string' ? event : `data: ${JSON.stringify(event)}`}\n\n`)
    .join(''),
});

/** A refusal by status. */
export const refused = (status: number, body: unknown): Reply => ({
  status,
  type: 'application/json',
  body: JSON.stringify(body),
});

/** A chunk with one choice. */
export const chunk = (delta: Json, finish: string | null = null, others: Json = {}): Json => ({
  ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1764300000, model: 'm' },
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...others,
});

/** A chunk without a choice. */
export const bare = (members: Json): Json => ({ ...chunk({}), choices: [], ...members });

export const tokens = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
export const usage = { usage: tokens };

export const paris = '{"city":"Paris"}';
export const oslo = '{"city":"Oslo"}';

/** A chunk of a call. */
export const call = (
  index: number | undefined,
  id: string | null | undefined,
  name: string | null | undefined,
  args: unknown,
  others: Json = {},
): Json => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id, type: 'function' }),
  function: { ...(name !== undefined && { name }), arguments: args },
  ...others,
});
