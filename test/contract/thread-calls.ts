import type { ExecutionContext } from 'ava';
import { isServiceError, type ErrorCode } from '@agent-workflow/kit/errors';
import { within } from '@agent-workflow/protos/call';
import type {
  AcceptRunReply,
  AcceptRunRequest,
  ClaimedRun,
  CommitStepReply,
  CommitStepRequest,
  ListMessagesRequest,
  MessageEntry,
  NodeNames,
  RunEnd,
  State,
  Threads,
} from '@agent-workflow/protos/threads';
import { byLoad } from '../by-load.ts';

export const owner = 'u:ada';
export const thread1 = { owner, threadId: 't1' };
export const call = (): ReturnType<typeof within> => within(byLoad(120_000));

export const bytes = (value: string): Uint8Array => new Uint8Array(Buffer.from(value));
export const text = (json: Uint8Array | undefined): string | undefined => json && Buffer.from(json).toString();
export const parse = (json: Uint8Array | undefined): unknown => JSON.parse(text(json) ?? 'null');

export const message = (messageId: string, role: string, content: unknown): MessageEntry => ({
  messageId,
  json: bytes(JSON.stringify({ message_id: messageId, role, content, timestamp: '2026-01-01T00:00:00.000Z' })),
});
export const user = (id: string, content = 'hello'): MessageEntry =>
  message(id, 'user', [{ type: 'text', text: content }]);
export const assistant = (id: string): MessageEntry => message(id, 'assistant', [{ type: 'text', text: 'hi' }]);
export const answer = (callId: string): MessageEntry =>
  message(`answer-${callId}`, 'tool', [{ type: 'tool_result', call_id: callId, output: 'ok', is_error: false }]);

export const twoCalls = [
  { callId: 'c1', name: 'look' },
  { callId: 'c2', name: 'listen' },
];
export const calling = message(
  'calling',
  'assistant',
  twoCalls.map(({ callId, name }) => ({ type: 'remote_tool_call', id: callId, name, args: {} })),
);

export const completed: RunEnd = { status: 'completed', iterations: 1, recursionLimitReached: false };
export const interrupted: RunEnd = { ...completed, status: 'interrupted' };
export const noInput = { messages: [], hasNewInput: false };

export const answering = (...answers: string[]): Partial<AcceptRunRequest> => ({
  answers,
  messages: answers.map(answer),
  hasNewInput: false,
});

export const accept = async (
  threads: Threads,
  runId: string,
  parts: Partial<AcceptRunRequest> = {},
): Promise<AcceptRunReply> =>
  threads.acceptRun(
    {
      ...thread1,
      runId,
      requestId: 'q',
      messages: [user(`m-${runId}`)],
      answers: [],
      hasNewInput: true,
      optionsJson: bytes('{}'),
      multitaskStrategy: 'enqueue',
      granularity: 'low',
      ...parts,
    },
    call(),
  );

export const claim = async (
  threads: Threads,
  runId: string,
  parts: {
    readonly owner?: string;
    readonly threadId?: string;
    readonly knownVersion?: number;
    readonly takeoverEpoch?: number;
    readonly notLast?: boolean;
    readonly workerId?: string;
    readonly attemptId?: string;
    readonly nodes?: NodeNames;
    readonly agent?: string;
    readonly revision?: string;
  } = {},
): Promise<ClaimedRun> => threads.claimRun({ ...thread1, runId, workerId: 'w1', ...parts }, call());

export async function acceptAndClaim(threads: Threads, runId: string): Promise<ClaimedRun> {
  await accept(threads, runId);
  return claim(threads, runId);
}

export const commit = async (
  threads: Threads,
  runId: string,
  epoch: number,
  parts: Partial<CommitStepRequest>,
): Promise<CommitStepReply> =>
  threads.commitStep(
    {
      ...thread1,
      runId,
      epoch,
      step: 0,
      at: Date.now(),
      fields: {},
      messages: [],
      replacesMessages: false,
      removedFromContext: [],
      nodes: ['a'],
      next: [],
      openCalls: [],
      openInterrupts: [],
      ...parts,
    },
    call(),
  );

/** A run that is accepted, claimed and completed in one step. */
export async function finishedTurn(
  threads: Threads,
  runId: string,
  parts: Partial<AcceptRunRequest> = {},
): Promise<CommitStepReply & { readonly epoch: number }> {
  await accept(threads, runId, parts);
  const place = parts.threadId === undefined ? {} : { threadId: parts.threadId };
  const { epoch } = await claim(threads, runId, place);
  return { ...(await commit(threads, runId, epoch, { ...place, end: completed })), epoch };
}

/** A run that ends waiting for the answers to two calls; gives the version it left. */
export async function interruptedTurn(threads: Threads, runId: string): Promise<number> {
  const { epoch } = await acceptAndClaim(threads, runId);
  const end = { messages: [calling], openCalls: twoCalls, next: ['tools'], end: interrupted };
  return (await commit(threads, runId, epoch, end)).version;
}

/** Holds that the call is refused with this code; gives the message. */
export async function refused(t: ExecutionContext, work: Promise<unknown>, code: ErrorCode): Promise<string> {
  const error = await t.throwsAsync(work, undefined, `nothing was refused with ${code}`);
  t.true(isServiceError(error, code), `${code} was expected, not ${String(error)}`);
  return error.message;
}

export async function absentToAll(
  t: ExecutionContext,
  threads: Threads,
  key: { readonly owner: string; readonly threadId: string },
): Promise<void> {
  const page = { limit: 10, offset: 0 };
  const calls = [
    threads.getThread(key, call()),
    threads.getState(key, call()),
    threads.writeState({ ...key, expectedVersion: 1, fields: {}, messages: [] }, call()),
    threads.clearState(key, call()),
    threads.listMessages({ ...key, ...page }, call()),
    threads.getMessage({ ...key, messageId: 'm1' }, call()),
    threads.addMessages({ ...key, messages: [user('u')] }, call()),
    threads.deleteMessage({ ...key, messageId: 'm1' }, call()),
  ];
  for (const each of calls) {
    const error = await refused(t, each, 'NotFound');
    t.is(error, `thread "${key.threadId}" does not exist`);
  }
  t.deepEqual((await threads.listThreads({ owner: key.owner, ...page }, call())).threads, []);
}

export const messagesOf = async (threads: Threads): Promise<Record<string, unknown>[]> =>
  parse((await threads.listMessages({ ...thread1, limit: 1000, offset: 0 }, call())).messagesJson) as never;

export const logOf = async (threads: Threads): Promise<unknown[]> =>
  (await messagesOf(threads)).map((each) => each['message_id']);

export const idsIn = (json: Uint8Array | undefined): unknown[] =>
  (parse(json) as { message_id: string }[]).map((each) => each.message_id);

export const entriesOf = (entries: readonly MessageEntry[]): string[] => entries.map(({ messageId }) => messageId);

export const fieldsOf = (state: State | undefined): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(state?.fields ?? {}).map(([field, json]) => [field, text(json)]));

export const contentOf = ({ json }: { readonly json: Uint8Array }): unknown =>
  (parse(json) as { content: { text: string }[] }).content[0]?.text;

export const resultOf = (each: Readonly<Record<string, unknown>>): unknown[] => {
  const [block] = each['content'] as Record<string, unknown>[];
  return [block?.['call_id'], block?.['is_error']];
};

export async function pagesOfMessages(
  threads: Threads,
  limit: number,
  list: Pick<ListMessagesRequest, 'newestFirst' | 'search'> = {},
): Promise<unknown[]> {
  const ids: unknown[] = [];
  for (let cursor: string | undefined, pages = 0; pages === 0 || cursor !== undefined; pages++) {
    const after = cursor === undefined ? {} : { cursor };
    const page = await threads.listMessages({ ...thread1, limit, offset: 0, ...list, ...after }, call());
    ids.push(...idsIn(page.messagesJson));
    ({ cursor } = page);
  }
  return ids;
}

export async function pagesOfThreads(threads: Threads, limit: number, search?: string): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined, pages = 0; pages === 0 || cursor !== undefined; pages++) {
    const parts = { ...(cursor === undefined ? {} : { cursor }), ...(search === undefined ? {} : { search }) };
    const page = await threads.listThreads({ owner, limit, offset: 0, ...parts }, call());
    ids.push(...page.threads.map(({ threadId }) => threadId));
    ({ cursor } = page);
  }
  return ids;
}

/** Until the clock has gone on, so that what comes next is later. */
export async function passMillisecond(): Promise<void> {
  for (const start = Date.now(); Date.now() <= start;) await new Promise((resolve) => setImmediate(resolve));
}
