import { idFrom } from '@agent-workflow/kit/ids';
import type { Block, Message } from '@agent-workflow/protos/message';
import type { NodeContext } from '../build/context.ts';
import { StateGraph, type CompiledGraph } from '../build/graph.ts';
import { END, START } from '../build/names.ts';
import { lastUserText } from '../state/calls.ts';
import { field } from '../state/field.ts';
import { refuseUnknown, requireObject } from '../state/refuse-unknown.ts';
import { userError } from '../state/stated-error.ts';
import { createCaller, Unreached, type A2aServer, type Caller } from './caller.ts';
import { partsOf, questionIn, readReply, readTask, textIn, type RemoteTask } from './task.ts';

interface A2aAgentOptions extends A2aServer {
  /** What the agent is sent: a text, or any JSON. Absent: the last text of a user. */
  readonly message?: (context: readonly Message[]) => unknown;
  /** How long the task is waited for, in milliseconds: seven days unless given. */
  readonly waitMs?: number;
}

/**
 * A node that gives a task to another agent over A2A 1.0, and emits what comes of it. The id of the task is on record before the run waits, and the
 * run sleeps meanwhile: it holds no place of a worker, and any worker goes on with it. What the agent asks is a question of the run, and its
 * answer goes to the same task. A task that fails, or that the agent rejects, fails the node.
 * @example new StateGraph({}).addNode('translator', a2aAgent({ url: 'https://agents.example/a2a/translator' }))
 * @throws Error for an address that is none, and a member that is unknown
 */
export function a2aAgent(options: A2aAgentOptions): CompiledGraph {
  requireObject('what a2aAgent is given', options);
  refuseUnknown('what a2aAgent is given', '', options, optionNames);
  const { url }: { readonly url: unknown } = options;
  if (typeof url !== 'string' || !URL.canParse(url)) throw new Error('the url of a2aAgent must be an address');
  const caller = createCaller(options);
  const { message = (context: readonly Message[]) => lastUserText({ context }), waitMs = usualWaitMs } = options;

  return new StateGraph({
    a2aTask: field<RemoteTask | null>({ type: 'any', description: 'The task of the other agent', default: null }),
    a2aWaitedMs: field<number>({ type: 'number', description: 'How long it has been waited for', default: 0 }),
  })
    .addNode('send', async (state, context) => {
      const parts = partsOf(message(state.context));
      return settled(
        await sendMessage(caller, { parts, messageId: idFrom(context.idempotencyKey, 'a2a') }, context),
        context,
      );
    })
    .addNode('wait', async ({ a2aTask: task, a2aWaitedMs: waitedMs }, context) => {
      const pauseMs = pauseAfter(waitedMs);
      await context.sleep(pauseMs);
      if (!task) return {};
      if (waitedMs > waitMs) throw userError('The task of the other agent did not end in time.');
      try {
        const read = await whileRunning(caller, task, context, (signal) =>
          caller.call('GetTask', { id: task.id, historyLength: 0 }, signal),
        );
        return { ...settled(readTask(read), context), a2aWaitedMs: waitedMs + pauseMs };
      } catch (error) {
        // The task goes on, and is looked up again.
        if (error instanceof Unreached) return { a2aWaitedMs: waitedMs + pauseMs };
        throw error;
      }
    })
    .addNode('ask', async ({ a2aTask: task }, context) => {
      if (!task) return {};
      const answer = context.interrupt(questionIn(task, await caller.agentName(context.signal)), {
        key: `${task.id} ${task.messageId}`,
      });
      const { task: now } = readTask(await caller.call('GetTask', { id: task.id, historyLength: 0 }, context.signal));
      // An earlier attempt at this step has sent the answer already.
      if (now.state !== inputRequired || now.messageId !== task.messageId) return { a2aTask: now };
      const answered = { parts: partsOf(answer), messageId: idFrom(context.idempotencyKey, 'a2a'), task };
      return { ...settled(await sendMessage(caller, answered, context), context), a2aWaitedMs: 0 };
    })
    .addEdge(START, 'send')
    .addConditionalEdges('send', nextOf)
    .addConditionalEdges('wait', nextOf)
    .addConditionalEdges('ask', nextOf)
    .compile();
}

const optionNames: Readonly<Record<keyof A2aAgentOptions, true>> = {
  ...{ url: true, headers: true, timeoutMs: true },
  ...{ message: true, waitMs: true },
};

const usualWaitMs = 7 * 24 * 60 * 60 * 1000;

/** How long until a task is looked up again, in milliseconds: soon at first, then less and less often. */
const pauseAfter = (waitedMs: number): number => Math.min(60_000, 500 + Math.floor(waitedMs / 4));

const inputRequired = 'TASK_STATE_INPUT_REQUIRED';
const working: ReadonlySet<string> = new Set(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING', 'TASK_STATE_UNSPECIFIED']);

const nextOf = ({ a2aTask: task }: { readonly a2aTask: RemoteTask | null }): 'wait' | 'ask' | typeof END => {
  if (task?.state === inputRequired) return 'ask';
  return task && working.has(task.state) ? 'wait' : END;
};

interface Sent {
  readonly parts: readonly object[];
  /** The same in every attempt. */
  readonly messageId: string;
  readonly task?: RemoteTask;
}

/** Sends a message, without waiting for the end of its task. */
async function sendMessage(caller: Caller, { parts, messageId, task }: Sent, context: NodeContext) {
  const ofTask = task && { taskId: task.id, contextId: task.contextId };
  const message = { messageId, role: 'ROLE_USER', parts, ...ofTask };
  const params = { message, configuration: { returnImmediately: true, historyLength: 0 } };
  const send = (signal: AbortSignal): Promise<unknown> => caller.call('SendMessage', params, signal);
  return readReply(task ? await whileRunning(caller, task, context, send) : await send(context.signal));
}

/** Calls the agent. A run that is stopped meanwhile cancels its task there. */
async function whileRunning(
  caller: Caller,
  { id }: RemoteTask,
  { signal }: NodeContext,
  call: (signal: AbortSignal) => Promise<unknown>,
): Promise<unknown> {
  const cancel = (): void => {
    caller.call('CancelTask', { id }, new AbortController().signal).catch(() => undefined);
  };
  signal.addEventListener('abort', cancel, { once: true });
  try {
    return await call(signal);
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

/** What has come of a task: what it gave is emitted when it has ended well. @throws an error that the caller reads where it has not */
function settled(
  { task, blocks }: { readonly task: RemoteTask; readonly blocks: readonly Block[] },
  { emit }: NodeContext,
): { readonly a2aTask: RemoteTask } {
  if (task.state === 'TASK_STATE_COMPLETED') for (const block of blocks) emit(block);
  else if (task.state !== inputRequired && !working.has(task.state))
    throw userError(`The other agent ended the task with ${task.state}: ${textIn(task.message).slice(0, 1000)}`);
  return { a2aTask: task };
}
