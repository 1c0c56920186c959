import { textOf, type Message } from '@agent-workflow/graph';
import { newId } from '@agent-workflow/kit/ids';
import { within } from '@agent-workflow/protos/call';
import type { Execution, RunEvent, RunEvents, RunScope, StartRequest } from '@agent-workflow/protos/execution';
import type { Threads } from '@agent-workflow/protos/threads';
import { resultOf, toChunk, type Chunk, type Result } from './chunks.ts';
import { parse, user } from './messages.ts';

export const owner = 'u:ada';
export const call = (ms = 90_000): ReturnType<typeof within> => within(ms);

export const start = async (
  execution: Execution,
  parts: Partial<StartRequest> = {},
  at = call(),
): ReturnType<Execution['start']> =>
  execution.start(
    {
      owner,
      requestId: 'q',
      runId: newId(),
      messages: [user('hi')],
      tools: [],
      recursionLimit: 25,
      granularity: 'low',
      multitaskStrategy: 'enqueue',
      ...parts,
    },
    at,
  );

export const endOf = async (execution: Execution, runId: string): Promise<Chunk> =>
  toChunk(await execution.wait({ owner, runId }, call()));

export async function invoke(execution: Execution, parts: Partial<StartRequest> = {}): Promise<Result> {
  const { runId } = await start(execution, parts);
  return resultOf(toChunk(await execution.wait({ owner: parts.owner ?? owner, runId }, call())));
}

export async function followAll(execution: Execution, runId: string, after = 0, as = owner): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const batch of execution.follow({ owner: as, runId, after }, call())) events.push(...batch.events);
  return events;
}

/** Whose events they are, as often as the replies say so. */
export async function scopesOf(execution: Execution, runId: string, after = 0): Promise<RunScope[]> {
  const scopes: RunScope[] = [];
  for await (const { scope } of execution.follow({ owner, runId, after }, call())) if (scope) scopes.push(scope);
  return scopes;
}

export async function nextEvents(reader: AsyncIterator<RunEvents>): Promise<readonly RunEvent[]> {
  const item = await reader.next();
  if (item.done) throw new Error('the stream has ended');
  return item.value.events;
}

/** The messages of a thread as they were put: without the checkpoints that lists name beside them. */
export async function logOf(threads: Threads, threadId: string, as = owner): Promise<Message[]> {
  const { messagesJson } = await threads.listMessages({ owner: as, threadId, limit: 1000, offset: 0 }, call());
  const listed = parse(messagesJson) as (Message & { readonly checkpoint_id?: string })[];
  return listed.map(({ checkpoint_id: _, ...message }) => message);
}

export const contextOf = async (threads: Threads, threadId: string): Promise<string[]> =>
  (parse((await threads.getState({ owner, threadId }, call())).contextJson) as Message[]).map(textOf);

export const fieldOf = async (threads: Threads, threadId: string, field: string): Promise<unknown> =>
  parse((await threads.getState({ owner, threadId }, call())).fields[field]);
