import { randomUuid } from '@agent-workflow/kit/uuid';
import {
  answerCall,
  type Block,
  type ConnectionChange,
  type JsonObject,
  type NewMessage,
  type RemoteCall,
  type Run,
  type RunRequest,
  type ToolDeclaration,
} from '@agent-workflow/client';
import { signal, type ReadonlySignal } from '@preact/signals';
import { client } from '../../session/session.ts';
import { go } from '../../session/route.ts';
import { browserTools } from './browser-tools.ts';
import {
  applyEvent,
  clearEntries,
  emptyConversation,
  isUnderWay,
  mergePage,
  resultOf,
  type Conversation,
  type LoggedMessage,
  type RunState,
} from './conversation.ts';
import { createFrame, createTurns } from '../../ui/frame.ts';
import { createHistory, isAbsent, type History } from './history.ts';
import { toolsOn } from './tool-consent.ts';

/** A call of a tool of this browser, while it is made and after. */
interface LocalCall {
  readonly call: RemoteCall;
  readonly status: 'running' | 'done' | 'failed';
}

/** Messages of a run that waits for the one before it. */
interface WaitingRun {
  readonly runId: string;
  readonly messages: readonly NewMessage[];
}

/** An open thread: its messages, its run, and what can be done. */
export interface Chat {
  readonly conversation: Conversation;
  readonly history: History;
  /** Raised whenever the conversation is to be drawn anew. */
  readonly drawn: ReadonlySignal<number>;
  readonly threadId: ReadonlySignal<string | undefined>;
  /** Whether the service knows the thread; a message makes it. */
  readonly isAbsent: ReadonlySignal<boolean>;
  /** The run that is followed. */
  readonly followed: ReadonlySignal<string | undefined>;
  readonly waiting: ReadonlySignal<readonly WaitingRun[]>;
  readonly connection: ReadonlySignal<ConnectionChange | undefined>;
  readonly localCalls: ReadonlySignal<readonly LocalCall[]>;
  /** Why the run is not followed any more, or its record could not be read. */
  readonly failure: ReadonlySignal<unknown>;
  /** Starts a run. @throws RequestError when the service refuses it. */
  readonly start: (body: RunRequest) => Promise<void>;
  /** Follows what is under way again, after a failure. */
  readonly again: () => Promise<void>;
  /** Reads what others have done in the thread meanwhile, unless a run of it is followed. */
  readonly catchUp: () => Promise<void>;
  /** Reads the thread anew, after its messages could not be read. */
  readonly reopen: () => void;
  /** Makes the open calls of tools that this browser has, once, and sends what they gave. */
  readonly runCalls: () => Promise<void>;
  readonly dispose: () => void;
}

/** How many rounds of calls and answers a run takes at most without the reader. */
const maxRounds = 25;

/** Opens a thread, or the place where one begins; what is under way in it is followed from its beginning. */
export function createChat(opened: string | undefined, run: string | undefined): Chat {
  const controller = new AbortController();
  const { signal: ended } = controller;
  const conversation = emptyConversation();
  const frame = createFrame();
  const history = createHistory(conversation, ended, frame.touch);
  const threadId = signal(opened);
  const isThreadAbsent = signal(false);
  const followed = signal<string | undefined>(undefined);
  const waiting = signal<readonly WaitingRun[]>([]);
  const connection = signal<ConnectionChange | undefined>(undefined);
  const localCalls = signal<readonly LocalCall[]>([]);
  const failure = signal<unknown>(undefined);
  /** The runs that were started here: their input is on the page. */
  const startedHere = new Set<string>();
  const queue: string[] = [];
  let rounds = 0;
  /** Whether a run was started that undoes the one that is followed. */
  let undoes = false;
  let lastAttempt: { readonly body: string; readonly key: string } | undefined;

  const onConnection = (change: ConnectionChange): void => {
    connection.value = change;
  };

  const setRun = (state: RunState): void => {
    conversation.run = state;
    frame.touch();
  };

  const followOne = async (runId: string): Promise<void> => {
    const turn = createTurns();
    for await (const event of client.runs.follow(runId, { signal: ended, onConnection })) {
      applyEvent(conversation, event);
      frame.touch();
      if (event.event === 'on_chain_start' && !startedHere.has(runId)) void refresh();
      await turn();
    }
  };

  const refresh = async (): Promise<void> => {
    const id = threadId.peek();
    // What is on the page is whole without it, but for the checkpoints of its messages.
    if (id !== undefined) await history.refresh(id).catch(() => undefined);
  };

  /** A run that was rolled back has taken its messages with it. */
  const readAnew = async (): Promise<void> => {
    undoes = false;
    clearEntries(conversation);
    await history.loadNewest(threadId.peek() ?? '');
  };

  /** Follows the runs of the queue one after the other, and what else the thread has under way. */
  const follow = async (): Promise<void> => {
    if (followed.peek() !== undefined) return;
    failure.value = undefined;
    let last: string | undefined;
    try {
      for (let runId = queue.shift(); runId !== undefined; runId = await nextRun()) {
        followed.value = runId;
        enterInput(runId);
        if (conversation.run?.runId !== runId) setRun({ runId, status: 'queued', restarts: 0 });
        await followOne(runId);
        if (undoes) await readAnew();
        else await refresh();
        await answerCalls(toolsOn.peek());
        last = runId;
      }
      // A run that was short may have begun behind the messages that were read, and ended before the list was.
      if (newest !== undefined && newest !== last) await refresh();
    } catch (error) {
      // What is under way is found by the record when it is followed again.
      queue.length = 0;
      if (!ended.aborted) failure.value = error;
    } finally {
      followed.value = undefined;
      frame.touch();
    }
  };

  /** The messages of a run stand on the page when it begins. */
  const enterInput = (runId: string): void => {
    const own = waiting.peek().find((each) => each.runId === runId);
    if (!own) return;
    waiting.value = waiting.peek().filter((each) => each !== own);
    mergePage(conversation, own.messages.map(toLogged));
  };

  /** The newest run of the thread when its runs were last read. */
  let newest: string | undefined;

  /** A run of this thread that somebody else has started, the oldest first. */
  const otherUnderWay = async (): Promise<string | undefined> => {
    const id = threadId.peek();
    if (id === undefined) return undefined;
    const { runs } = await client.threads.runs(id, { limit: 20 }, { signal: ended });
    newest = runs[0]?.run_id;
    return runs.findLast(({ status, run_id: runId }) => isUnderWay(status) && runId !== followed.peek())?.run_id;
  };

  /** What is to be followed next; a run may have been started while the list was read. */
  const nextRun = async (): Promise<string | undefined> => queue.shift() ?? (await otherUnderWay()) ?? queue.shift();

  const begin = async (body: RunRequest, isRound = false): Promise<void> => {
    const id = threadId.peek();
    const sent = {
      ...body,
      ...declared(),
      config: { ...body.config, ...(id !== undefined && { thread_id: id }) },
    };
    const text = JSON.stringify(sent);
    // The same request after a failure is the same run, if the service has taken it without our hearing of it.
    lastAttempt = lastAttempt?.body === text ? lastAttempt : { body: text, key: randomUuid() };
    const isUndoing = body.config?.multitask_strategy === 'rollback' && isUnderWay(conversation.run?.status);
    const started = await client.runs.start(sent, { signal: ended, idempotencyKey: lastAttempt.key });
    lastAttempt = undefined;
    if (!isRound) rounds = 0;
    startedHere.add(started.run_id);
    undoes ||= isUndoing;
    waiting.value = [...waiting.peek(), { runId: started.run_id, messages: body.messages }];
    isThreadAbsent.value = false;
    history.settle();
    threadId.value = started.thread_id;
    go({ view: 'chat', id: started.thread_id, query: { run: started.run_id } }, { replace: true });
    // The run may have been found by the list of runs before the reply came.
    if (followed.peek() === started.run_id) enterInput(started.run_id);
    else queue.push(started.run_id);
    connection.value = undefined;
  };

  /** Makes the open calls of these tools; what they gave begins the next run. */
  const answerCalls = async (names: ReadonlySet<string>): Promise<void> => {
    const calls = conversation.run?.calls ?? [];
    const known = calls.flatMap((call) => {
      const tool = browserTools.find(({ name }) => name === call.name && names.has(name));
      return tool ? [{ call, tool }] : [];
    });
    if (known.length === 0 || rounds >= maxRounds) return;
    rounds++;
    const note = (call: RemoteCall, status: LocalCall['status']): void => {
      localCalls.value = [...localCalls.peek().filter((each) => each.call.id !== call.id), { call, status }];
    };
    const content = await Promise.all(
      known.map(async ({ call, tool }): Promise<Block> => {
        note(call, 'running');
        const block = await answerCall(call, tool, ended);
        note(call, block['is_error'] === true ? 'failed' : 'done');
        return block;
      }),
    );
    await begin({ messages: [{ role: 'tool', message_id: randomUuid(), content }] }, true);
  };

  const open = async (id: string): Promise<void> => {
    await history.loadNewest(id);
    if (isAbsent(history.error.peek())) {
      history.settle();
      isThreadAbsent.value = true;
      return;
    }
    await again();
  };

  /** Finds what the thread has under way, or how its newest run has ended. */
  const again = async (): Promise<void> => {
    const id = threadId.peek();
    if (id === undefined || followed.peek() !== undefined) return;
    failure.value = undefined;
    try {
      const { runs } = await client.threads.runs(id, { limit: 20 }, { signal: ended });
      const newest = runs[0] ?? (run === undefined ? undefined : await client.runs.get(run, { signal: ended }));
      const next =
        runs.findLast(({ status }) => isUnderWay(status)) ?? (newest && isUnderWay(newest.status) ? newest : undefined);
      if (next) queue.push(next.run_id);
      else if (newest) setRun(await endStateOf(newest, ended));
    } catch (error) {
      if (!ended.aborted) failure.value = error;
    }
    await follow();
  };

  const catchUp = async (): Promise<void> => {
    const id = threadId.peek();
    if (id === undefined || followed.peek() !== undefined || isThreadAbsent.peek()) return;
    const { runs } = await client.threads.runs(id, { limit: 1 }, { signal: ended });
    const [run] = runs;
    const isKnown = run?.run_id === conversation.run?.runId && run?.status === conversation.run?.status;
    if (run === undefined || isKnown || followed.peek() !== undefined) return;
    await refresh();
    await again();
  };

  const reopen = (): void => {
    const id = threadId.peek();
    if (id !== undefined) void open(id);
  };
  if (opened === undefined) history.settle();
  else reopen();

  return {
    ...{ conversation, history, threadId, followed, waiting, connection, localCalls, failure, again, catchUp, reopen },
    drawn: frame.drawn,
    isAbsent: isThreadAbsent,
    start: async (body) => {
      try {
        await begin(body);
      } catch (error) {
        // It may be refused because of what another tab has done.
        await catchUp().catch(() => undefined);
        throw error;
      }
      void follow();
    },
    runCalls: async () => {
      await answerCalls(new Set(browserTools.map(({ name }) => name)));
      void follow();
    },
    dispose: () => controller.abort(),
  };
}

const toLogged = (message: NewMessage): LoggedMessage => ({
  message_id: message.message_id ?? randomUuid(),
  role: message.role,
  content: typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content,
  timestamp: new Date().toISOString(),
});

/** The tools that the reader has switched on, as a run declares them. */
function declared(): { readonly tools?: readonly ToolDeclaration[] } {
  const tools = browserTools
    .filter(({ name }) => toolsOn.peek().has(name))
    .map(({ name, description, parameters }) => ({ name, description, parameters }) as ToolDeclaration);
  return tools.length === 0 ? {} : { tools };
}

/** How a run has ended. The questions and calls of one that waits stand in its result. */
async function endStateOf(run: Run, signalOfPage: AbortSignal): Promise<RunState> {
  if (run.status === 'interrupted')
    return { restarts: 0, ...resultOf(await client.runs.wait(run.run_id, { signal: signalOfPage })) };
  const error = run['error'] as (JsonObject & RunState['error']) | undefined;
  return {
    ...{ runId: run.run_id, status: run.status, restarts: 0 },
    ...(run.usage && { usage: run.usage }),
    ...(error && { error }),
    ...(typeof run['iterations'] === 'number' && { iterations: run['iterations'] }),
    ...(run['recursion_limit_reached'] === true && { isLimitReached: true }),
  };
}
