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
import { serviceNow } from '../../session/clock.ts';
import { client } from '../../session/session.ts';
import { go, isOpen, markEntry, readMark } from '../../session/route.ts';
import { browserTools } from './browser-tools.ts';
import {
  applyEvent,
  clearEntries,
  emptyConversation,
  isUnderWay,
  mergePage,
  noteAnswers,
  placeQuestions,
  resultOf,
  type Conversation,
  type LoggedMessage,
  type RunState,
} from './conversation.ts';
import { createFrame, createYieldToPage } from '../../ui/frame.ts';
import { createHistory, isAbsent, type History } from './history.ts';
import { createLifetime, type Lifetime } from './lifetime.ts';
import { createRunInputs } from './run-inputs.ts';
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

export type Missing = 'unknown' | 'deleted';

/** An open thread: its messages, its run, and what can be done. */
export interface Chat {
  readonly conversation: Conversation;
  readonly history: History;
  /** Raised whenever the conversation is to be drawn anew. */
  readonly drawn: ReadonlySignal<number>;
  readonly threadId: ReadonlySignal<string | undefined>;
  /** Whether the service did not know the thread when it was opened (`unknown`), or knows it no more (`deleted`): nothing is sent to it. */
  readonly missing: ReadonlySignal<Missing | undefined>;
  readonly name: ReadonlySignal<string | undefined>;
  /** The agent that the thread belongs to: `null` before its first run, `undefined` while it is not known. */
  readonly agent: ReadonlySignal<string | null | undefined>;
  /** The run that is followed. */
  readonly followed: ReadonlySignal<string | undefined>;
  readonly waiting: ReadonlySignal<readonly WaitingRun[]>;
  /** How many runs wait that were started elsewhere, or before a reload: the record does not give their messages. */
  readonly waitingElsewhere: ReadonlySignal<number>;
  readonly connection: ReadonlySignal<ConnectionChange | undefined>;
  readonly localCalls: ReadonlySignal<readonly LocalCall[]>;
  /** Why the run is not followed any more, or its record could not be read. */
  readonly failure: ReadonlySignal<unknown>;
  /** Leaves a thread that is gone: the next message makes a new one, with the agent that is given. */
  readonly beginAnew: (agent: string | undefined) => void;
  /** The messages of the user that a run began with; none when they are not known. @throws RequestError when they cannot be read. */
  readonly inputOf: (runId: string) => Promise<readonly NewMessage[]>;
  /** Starts a run. @throws RequestError when the service refuses it, and when the thread is gone. */
  readonly start: (body: RunRequest) => Promise<void>;
  /** Follows what is under way again, after a failure. */
  readonly again: () => Promise<void>;
  /** Reads what others have done in the thread meanwhile, unless a run of it is followed. */
  readonly catchUp: () => Promise<void>;
  /** Reads the thread anew, after its messages could not be read. */
  readonly reopen: () => void;
  /** Makes the open calls of tools that this browser has, once, and sends what they gave. */
  readonly runCalls: () => Promise<void>;
  /** The chat lasts while the reader is there, and while something is being sent. */
  readonly lifetime: Lifetime;
}

/** The threads that new chats have begun, by the marks of the history entries of these chats: a reader may have left a chat before it had its thread. */
const begunAt = new Map<string, string>();

/** The thread that was begun by a new chat at the open entry of the history; `undefined` where there was none. */
export const threadBegunHere = (): string | undefined => begunAt.get(readMark() ?? '');

/** How many rounds of calls and answers a run takes at most without the reader. */
const maxRounds = 25;

/** How many of the newest runs of a thread are read. */
const runsAtOnce = 100;

/** Opens a thread, or the place where one begins; what is under way in it is followed from its beginning. */
export function createChat(opened: string | undefined, run: string | undefined): Chat {
  const lifetime = createLifetime();
  const { signal: ended } = lifetime;
  const conversation = emptyConversation();
  const frame = createFrame();
  const history = createHistory(conversation, ended, frame.touch);
  const threadId = signal(opened);
  const missing = signal<Missing | undefined>(undefined);
  const name = signal<string | undefined>(undefined);
  const agent = signal<string | null | undefined>(opened === undefined ? null : undefined);
  const followed = signal<string | undefined>(undefined);
  const waiting = signal<readonly WaitingRun[]>([]);
  const waitingElsewhere = signal(0);
  const connection = signal<ConnectionChange | undefined>(undefined);
  const localCalls = signal<readonly LocalCall[]>([]);
  const failure = signal<unknown>(undefined);
  const inputs = createRunInputs(conversation, ended);
  const queue: string[] = [];
  let rounds = 0;
  /** Whether a run was started that undoes the one that is followed. */
  let undoes = false;
  /** The mark of the entry of the history at which a new thread begins. */
  let mark = opened === undefined ? markEntry() : undefined;
  let lastAttempt: { readonly body: string; readonly key: string } | undefined;

  const onConnection = (change: ConnectionChange): void => {
    connection.value = change;
  };

  const setRun = (state: RunState): void => {
    conversation.run = state;
    placeQuestions(conversation);
    frame.touch();
  };

  const followOne = async (runId: string): Promise<void> => {
    const yieldToPage = createYieldToPage();
    for await (const event of client.runs.follow(runId, { signal: ended, onConnection })) {
      applyEvent(conversation, event);
      frame.touch();
      if (event.event === 'on_chain_start' && !inputs.isOwn(runId)) void refresh();
      await yieldToPage();
    }
  };

  const refresh = async (): Promise<void> => {
    const id = threadId.peek();
    // Without it the page lacks only the checkpoints of its messages.
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
      // A run that was short may have begun after the messages that were read, and ended before the list was.
      if (newest !== undefined && newest.run_id !== last) await showEnded(newest);
    } catch (error) {
      // What is under way is found by the record when it is followed again.
      queue.length = 0;
      if (!ended.aborted) failure.value = error;
    } finally {
      followed.value = undefined;
      frame.touch();
    }
  };

  /** Shows what a run has done that was not followed. */
  const showEnded = async (ran: Run): Promise<void> => {
    await refresh();
    if (conversation.run?.runId !== ran.run_id && !isUnderWay(ran.status)) setRun(await endStateOf(ran, ended));
  };

  /** The messages of a run stand on the page when it begins. */
  const enterInput = (runId: string): void => {
    const own = waiting.peek().find((each) => each.runId === runId);
    if (!own) return;
    waiting.value = waiting.peek().filter((each) => each !== own);
    // What was read from the log meanwhile has the time at which it came into it.
    const isRead = ({ message_id: id }: LoggedMessage): boolean => conversation.byId.has(id);
    mergePage(
      conversation,
      own.messages.map(toLogged).filter((message) => !isRead(message)),
    );
  };

  /** The newest run of the thread when its runs were last read. */
  let newest: Run | undefined;

  const readRuns = async (id: string): Promise<readonly Run[]> =>
    (await client.threads.runs(id, { limit: runsAtOnce }, { signal: ended })).runs;

  /** The oldest run under way, to be followed next. The others that were not started here are counted. */
  const takeOldest = (runs: readonly Run[]): Run | undefined => {
    const underWay = runs.filter(({ status, run_id: runId }) => isUnderWay(status) && runId !== followed.peek());
    const oldest = underWay.at(-1);
    waitingElsewhere.value = underWay.filter((each) => each !== oldest && !inputs.isOwn(each.run_id)).length;
    return oldest;
  };

  /** A run of this thread that somebody else has started, the oldest first. */
  const otherUnderWay = async (): Promise<string | undefined> => {
    const id = threadId.peek();
    if (id === undefined) return undefined;
    const runs = await readRuns(id);
    [newest] = runs;
    return takeOldest(runs)?.run_id;
  };

  /** What is to be followed next; a run may have been started while the list was read. */
  const nextRun = async (): Promise<string | undefined> => queue.shift() ?? (await otherUnderWay()) ?? queue.shift();

  /** Reads what the thread is called, and whose it is. @throws RequestError when it cannot be read. */
  const readThread = async (id: string): Promise<void> => {
    const thread = await client.threads.get(id, { signal: ended });
    name.value = thread.thread_name ?? undefined;
    agent.value = thread.agent;
  };

  /** Makes sure that the thread is still there. @throws RequestError when it is not, or cannot be read. */
  const ensureThread = async (id: string): Promise<void> => {
    try {
      await readThread(id);
    } catch (error) {
      if (isAbsent(error)) missing.value ??= 'deleted';
      throw error;
    }
  };

  const begin = async (body: RunRequest, isRound = false): Promise<void> => {
    const id = threadId.peek();
    // A run makes the thread that it names: one that was deleted would come back, empty.
    if (id !== undefined) await ensureThread(id);
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
    inputs.note(started.run_id, body.messages);
    undoes ||= isUndoing;
    waiting.value = [...waiting.peek(), { runId: started.run_id, messages: body.messages }];
    history.settle();
    if (id === undefined) name.value = body.config?.thread_name;
    if (typeof body.config?.agent === 'string') agent.value ??= body.config.agent;
    if (id === undefined && mark !== undefined) begunAt.set(mark, started.thread_id);
    const isStillHere = isOpen({ view: 'chat', id });
    threadId.value = started.thread_id;
    // A reader who has left meanwhile stays where they are.
    if (isStillHere) go({ view: 'chat', id: started.thread_id, query: { run: started.run_id } }, { replace: true });
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
    // The name is no more than a heading: what cannot be read shows itself in the messages.
    const named = readThread(id).catch(() => undefined);
    await history.loadNewest(id);
    await named;
    if (isAbsent(history.error.peek())) {
      history.settle();
      missing.value = 'unknown';
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
      const runs = await readRuns(id);
      const newest = runs[0] ?? (run === undefined ? undefined : await client.runs.get(run, { signal: ended }));
      const next = takeOldest(runs) ?? (newest && isUnderWay(newest.status) ? newest : undefined);
      if (next) queue.push(next.run_id);
      else if (newest) {
        // It may have ended after the messages were read.
        await refresh();
        setRun(await endStateOf(newest, ended));
      }
    } catch (error) {
      if (!ended.aborted) failure.value = error;
    }
    await follow();
  };

  const catchUp = async (): Promise<void> => {
    const id = threadId.peek();
    if (id === undefined || followed.peek() !== undefined || missing.peek() !== undefined) return;
    await ensureThread(id);
    const { runs } = await client.threads.runs(id, { limit: 1 }, { signal: ended });
    const [run] = runs;
    const isKnown = run?.run_id === conversation.run?.runId && run?.status === conversation.run?.status;
    if (run === undefined || isKnown || followed.peek() !== undefined) return;
    await refresh();
    await again();
  };

  const beginAnew = (next: string | undefined): void => {
    if (followed.peek() !== undefined) return;
    clearEntries(conversation);
    conversation.run = undefined;
    history.clear();
    waiting.value = [];
    waitingElsewhere.value = 0;
    localCalls.value = [];
    for (const each of [connection, failure, name, threadId, missing]) each.value = undefined;
    agent.value = null;
    // The chat stays the same, and with it what is written and attached.
    go({ view: 'chat', query: next === undefined ? {} : { agent: next } });
    mark = markEntry();
    frame.touch();
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
    ...{ missing, waitingElsewhere, name, agent, beginAnew },
    inputOf: (runId) => inputs.read(threadId.peek() ?? '', runId),
    start: async (body) =>
      lifetime.during(async () => {
        const interrupts = conversation.run?.interrupts ?? [];
        try {
          await begin(body);
          if (body.resume !== undefined) noteAnswers(conversation, interrupts, body.resume);
        } catch (error) {
          // It may be refused because of what another tab has done.
          await catchUp().catch(() => undefined);
          throw error;
        }
        void follow();
      }),
    runCalls: async () =>
      lifetime.during(async () => {
        await answerCalls(new Set(browserTools.map(({ name }) => name)));
        void follow();
      }),
    lifetime,
  };
}

const toLogged = (message: NewMessage): LoggedMessage => ({
  message_id: message.message_id ?? randomUuid(),
  role: message.role,
  content: typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content,
  timestamp: new Date(serviceNow()).toISOString(),
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
