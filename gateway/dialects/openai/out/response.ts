import type { Run } from '@agent-workflow/protos/threads';
import { shownId } from '../ids/shown-id.ts';
import { failureBody, type Failure } from '../replies/refusal.ts';
import { outputOf } from './items.ts';
import type { KeptResponse } from './kept-response.ts';
import type { RunResult } from './run-result.ts';
import { toResponseUsage } from './usage.ts';

/** What is known of a response, whatever its run has come to. */
export interface ResponseFacts {
  readonly run: Pick<Run, 'runId' | 'agent' | 'createdAt'>;
  readonly kept: KeptResponse;
}

type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';

/** How far a response is. */
export interface Progress {
  readonly status: ResponseStatus;
  readonly result?: RunResult | undefined;
  readonly failure?: Failure | undefined;
  /** In milliseconds since 1970. */
  readonly endedAt?: number | undefined;
}

/** The status of a run that has not failed. */
export const statusOf = ({ status, cut }: RunResult): ResponseStatus => {
  if (status === 'stopped') return 'cancelled';
  return cut === undefined ? 'completed' : 'incomplete';
};

const seconds = (ms: number): number => Math.floor(ms / 1000);

/** A response, with every field that one has. */
export function toResponse({ run, kept }: ResponseFacts, { status, result, failure, endedAt }: Progress): object {
  const { body } = kept;
  const isDone = status === 'completed' || status === 'incomplete';
  return {
    id: shownId('resp', run.runId),
    object: 'response',
    created_at: seconds(run.createdAt),
    completed_at: isDone && endedAt !== undefined ? seconds(endedAt) : null,
    status,
    background: body['background'] ?? false,
    error: failure ? errorOf(failure) : null,
    incomplete_details: status === 'incomplete' ? { reason: reasonOf(result) } : null,
    instructions: body['instructions'] ?? null,
    max_output_tokens: body['max_output_tokens'] ?? null,
    max_tool_calls: body['max_tool_calls'] ?? null,
    model: run.agent,
    output: result ? outputOf(run.runId, result) : [],
    parallel_tool_calls: body['parallel_tool_calls'] ?? true,
    previous_response_id: body['previous_response_id'] ?? null,
    conversation: conversationOf(body['conversation']),
    prompt_cache_key: body['prompt_cache_key'] ?? null,
    reasoning: { effort: null, summary: null, ...asObject(body['reasoning']) },
    safety_identifier: body['safety_identifier'] ?? null,
    service_tier: 'default',
    store: kept.isStored,
    temperature: body['temperature'] ?? 1,
    text: { format: { type: 'text' }, ...asObject(body['text']) },
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: shownTools(body['tools']),
    top_logprobs: 0,
    top_p: body['top_p'] ?? 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    truncation: body['truncation'] ?? 'disabled',
    usage: result ? toResponseUsage(result.usage) : null,
    user: body['user'] ?? null,
    metadata: body['metadata'] ?? {},
  };
}

const asObject = (value: unknown): object => (typeof value === 'object' && value !== null ? value : {});

const conversationOf = (given: unknown): unknown => (typeof given === 'string' ? { id: given } : (given ?? null));

/** Functions with all their fields, null where the request gave none. */
const shownTools = (tools: unknown): readonly object[] =>
  Array.isArray(tools)
    ? (tools as readonly object[]).map((tool) => ({ description: null, parameters: null, strict: null, ...tool }))
    : [];

const reasonOf = (result: RunResult | undefined): string =>
  result?.cut === 'content_filter' ? 'content_filter' : 'max_output_tokens';

const codes: ReadonlySet<string | null> = new Set(['rate_limit_exceeded']);

/** Why a response failed, by the codes that responses have. */
function errorOf(failure: Failure): object {
  const { message, code, type } = failureBody(failure);
  if (codes.has(code)) return { code, message };
  return { code: type === 'invalid_request_error' ? 'invalid_prompt' : 'server_error', message };
}
