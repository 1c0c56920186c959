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
import { signal, type ReadonlySignal, type Signal } from '@preact/signals';
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
  type LoggedMessage,
  type RunState,
} from './conversation.ts';
import { createFrame, createYieldToPage } from '../../ui/frame.ts';
import { createHistory, isAbsent, type History } from './history.ts';
import { createLifetime } from './lifetime.ts';
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

/** The threads that new chats have begun, by the marks of the history entries of these chats: a reader may have left a chat before it had its thread. */
const begunAt = new Map<string, string>();

/** The thread that was begun by a new chat at the open entry of the history; `undefined` where there was none. */
export const threadBegunHere = (): string | undefined => begunAt.get(readMark() ?? '');

/** How many rounds of calls and answers a run takes at most without the reader. */
const maxRounds = 25;

/** How many versions of the thread are looked through for the one that has the input of a run. */
const versionsAtOnce = 100;

/** How many of the newest runs of a thread are read. */
const runsAtOnce = 100;

/** An open thread, or the place where one begins: its messages, its run, and what can be done. */
export class Chat {
  readonly conversation = emptyConversation();
  /** It lasts while the reader is there, and while something is being sent. */
  readonly lifetime = createLifetime();
  readonly history: History;
  readonly threadId: Signal<string | undefined>;
  /** Whether the service did not know the thread when it was opened (`unknown`), or knows it no more (`deleted`): nothing is sent to it. */
  readonly missing = signal<Missing | undefined>(undefined);
  readonly name = signal<string | undefined>(undefined);
  /** The agent that the thread belongs to: `null` before its first run, `undefined` while it is not known. */
  readonly agent: Signal<string | null | undefined>;
  /** The run that is followed. */
  readonly followed = signal<string | undefined>(undefined);
  readonly waiting = signal<readonly WaitingRun[]>([]);
  /** How many runs wait that were started elsewhere, or before a reload: the record does not give their messages. */
  readonly waitingElsewhere = signal(0);
  readonly connection = signal<ConnectionChange | undefined>(undefined);
  readonly localCalls = signal<readonly LocalCall[]>([]);
  /** Why the run is not followed any more, or its record could not be read. */
  readonly failure = signal<unknown>(undefined);
  readonly #frame = createFrame();
  readonly #ended = this.lifetime.signal;
  readonly #options = { signal: this.#ended };
  /** The run that the address named. */
  readonly #named: string | undefined;
  /** The messages that runs of this page began with. */
  readonly #inputs = new Map<string, readonly NewMessage[]>();
  readonly #queue: string[] = [];
  /** The newest run of the thread when its runs were last read. */
  #newest: Run | undefined;
  #rounds = 0;
  /** Whether a run was started that undoes the one that is followed. */
  #undoes = false;
  /** The mark of the entry of the history at which a new thread begins. */
  #mark: string | undefined;
  #lastAttempt: { readonly body: string; readonly key: string } | undefined;

  /** What is under way in the thread is followed from its beginning. */
  constructor(opened: string | undefined, run: string | undefined) {
    this.history = createHistory(this.conversation, this.#ended, this.#frame.touch);
    this.threadId = signal(opened);
    this.agent = signal(opened === undefined ? null : undefined);
    this.#named = run;
    if (opened === undefined) {
      this.#mark = markEntry();
      this.history.settle();
    } else void this.#open(opened);
  }

  /** Raised whenever the conversation is to be drawn anew. */
  get drawn(): ReadonlySignal<number> {
    return this.#frame.drawn;
  }

  /** Starts a run. @throws RequestError when the service refuses it, and when the thread is gone. */
  start(body: RunRequest): Promise<void> {
    return this.lifetime.during(async () => {
      const interrupts = this.conversation.run?.interrupts ?? [];
      try {
        await this.#begin(body);
        if (body.resume !== undefined) noteAnswers(this.conversation, interrupts, body.resume);
      } catch (error) {
        // It may be refused because of what another tab has done.
        await this.catchUp().catch(() => undefined);
        throw error;
      }
      void this.#follow();
    });
  }

  /** Makes the open calls of tools that this browser has, once, and sends what they gave. */
  runCalls(): Promise<void> {
    return this.lifetime.during(async () => {
      await this.#answerCalls(new Set(browserTools.map(({ name }) => name)));
      void this.#follow();
    });
  }

  /** Finds what the thread has under way, or how its newest run has ended, and follows it. */
  async again(): Promise<void> {
    const id = this.threadId.peek();
    if (id === undefined || this.followed.peek() !== undefined) return;
    this.failure.value = undefined;
    try {
      const runs = await this.#readRuns(id);
      const named = this.#named;
      const newest = runs[0] ?? (named === undefined ? undefined : await client.runs.get(named, this.#options));
      const next = this.#takeOldest(runs) ?? (newest && isUnderWay(newest.status) ? newest : undefined);
      if (next) this.#queue.push(next.run_id);
      else if (newest) {
        // It may have ended after the messages were read.
        await this.#refresh();
        await this.#showEnd(newest);
      }
    } catch (error) {
      if (!this.#ended.aborted) this.failure.value = error;
    }
    await this.#follow();
  }

  /** Reads what others have done in the thread meanwhile, unless a run of it is followed. */
  async catchUp(): Promise<void> {
    const id = this.threadId.peek();
    if (id === undefined || this.followed.peek() !== undefined || this.missing.peek() !== undefined) return;
    await this.#ensureThread(id);
    const [run] = await this.#readRuns(id, 1);
    const known = this.conversation.run;
    const isKnown = run?.run_id === known?.runId && run?.status === known?.status;
    if (run === undefined || isKnown || this.followed.peek() !== undefined) return;
    await this.#refresh();
    await this.again();
  }

  /** Leaves a thread that is gone: the next message makes a new one, with the agent that is given. */
  beginAnew(next: string | undefined): void {
    const { conversation, connection, failure, name, threadId, missing } = this;
    if (this.followed.peek() !== undefined) return;
    clearEntries(conversation);
    conversation.run = undefined;
    this.history.clear();
    this.waiting.value = [];
    this.waitingElsewhere.value = 0;
    this.localCalls.value = [];
    for (const each of [connection, failure, name, threadId, missing]) each.value = undefined;
    this.agent.value = null;
    // The chat stays the same, and with it what is written and attached.
    go({ view: 'chat', query: next === undefined ? {} : { agent: next } });
    this.#mark = markEntry();
    this.#frame.touch();
  }

  /** Reads the thread anew, after its messages could not be read. */
  reopen(): void {
    const id = this.threadId.peek();
    if (id !== undefined) void this.#open(id);
  }

  /**
   * The messages of the user that a run began with, to be sent again. None when it began with an answer or a result of a tool, and when
   * they are not on the page. @throws RequestError when the thread cannot be read.
   */
  async inputOf(runId: string): Promise<readonly NewMessage[]> {
    const messages = this.#inputs.get(runId) ?? (await this.#recordedInput(runId));
    return messages.every(({ role }) => role === 'user') ? messages : [];
  }

  async #recordedInput(runId: string): Promise<readonly NewMessage[]> {
    const id = this.threadId.peek() ?? '';
    const { checkpoints } = await client.threads.checkpoints(id, { limit: versionsAtOnce }, this.#options);
    const input = checkpoints.find((each) => each.source === 'input' && each.run_id === runId);
    return this.conversation.entries
      .filter(({ checkpointId }) => checkpointId !== undefined && checkpointId === input?.checkpoint_id)
      .map(({ id: messageId, role, blocks }) => ({ role, message_id: messageId, content: blocks }));
  }

  async #open(id: string): Promise<void> {
    // The name is no more than a heading: what cannot be read shows itself in the messages.
    const named = this.#readThread(id).catch(() => undefined);
    await this.history.loadNewest(id);
    await named;
    if (isAbsent(this.history.error.peek())) {
      this.history.settle();
      this.missing.value = 'unknown';
      return;
    }
    await this.again();
  }

  async #showEnd(run: Run): Promise<void> {
    this.#setRun(await endStateOf(run, this.#ended));
  }

  #setRun(state: RunState): void {
    this.conversation.run = state;
    placeQuestions(this.conversation);
    this.#frame.touch();
  }

  /** Follows the runs of the queue one after the other, and what else the thread has under way. */
  async #follow(): Promise<void> {
    const { followed, failure, conversation } = this;
    const queue = this.#queue;
    if (followed.peek() !== undefined) return;
    failure.value = undefined;
    let last: string | undefined;
    try {
      for (let runId = queue.shift(); runId !== undefined; runId = await this.#nextRun()) {
        followed.value = runId;
        this.#enterInput(runId);
        if (conversation.run?.runId !== runId) this.#setRun({ runId, status: 'queued', restarts: 0 });
        await this.#followOne(runId);
        if (this.#undoes) await this.#readAnew();
        else await this.#refresh();
        await this.#answerCalls(toolsOn.peek());
        last = runId;
      }
      // A run that was short may have begun after the messages that were read, and ended before the list was.
      const ran = this.#newest;
      if (ran === undefined || ran.run_id === last) return;
      await this.#refresh();
      if (conversation.run?.runId !== ran.run_id && !isUnderWay(ran.status)) await this.#showEnd(ran);
    } catch (error) {
      // What is under way is found by the record when it is followed again.
      queue.length = 0;
      if (!this.#ended.aborted) failure.value = error;
    } finally {
      followed.value = undefined;
      this.#frame.touch();
    }
  }

  async #followOne(runId: string): Promise<void> {
    const yieldToPage = createYieldToPage();
    const onConnection = (change: ConnectionChange): void => {
      this.connection.value = change;
    };
    for await (const event of client.runs.follow(runId, { ...this.#options, onConnection })) {
      applyEvent(this.conversation, event);
      this.#frame.touch();
      if (event.event === 'on_chain_start' && !this.#inputs.has(runId)) void this.#refresh();
      await yieldToPage();
    }
  }

  async #refresh(): Promise<void> {
    const id = this.threadId.peek();
    // Without it the page lacks only the checkpoints of its messages.
    if (id !== undefined) await this.history.refresh(id).catch(() => undefined);
  }

  /** A run that was rolled back has taken its messages with it. */
  async #readAnew(): Promise<void> {
    this.#undoes = false;
    clearEntries(this.conversation);
    await this.history.loadNewest(this.threadId.peek() ?? '');
  }

  /** The messages of a run stand on the page when it begins. */
  #enterInput(runId: string): void {
    const { waiting, conversation } = this;
    const own = waiting.peek().find((each) => each.runId === runId);
    if (!own) return;
    waiting.value = waiting.peek().filter((each) => each !== own);
    // What was read from the log meanwhile has the time at which it came into it.
    const isRead = ({ message_id: id }: LoggedMessage): boolean => conversation.byId.has(id);
    mergePage(
      conversation,
      own.messages.map(toLogged).filter((message) => !isRead(message)),
    );
  }

  async #readRuns(id: string, limit = runsAtOnce): Promise<readonly Run[]> {
    return (await client.threads.runs(id, { limit }, this.#options)).runs;
  }

  /** The oldest run under way, to be followed next. The others that were not started here are counted. */
  #takeOldest(runs: readonly Run[]): Run | undefined {
    const underWay = runs.filter(({ status, run_id: runId }) => isUnderWay(status) && runId !== this.followed.peek());
    const oldest = underWay.at(-1);
    this.waitingElsewhere.value = underWay.filter((each) => each !== oldest && !this.#inputs.has(each.run_id)).length;
    return oldest;
  }

  /** What is to be followed next: else the oldest run that somebody else has started. A run may be started here while the list is read. */
  async #nextRun(): Promise<string | undefined> {
    const id = this.threadId.peek();
    const own = this.#queue.shift();
    if (own !== undefined || id === undefined) return own;
    const runs = await this.#readRuns(id);
    [this.#newest] = runs;
    return this.#takeOldest(runs)?.run_id ?? this.#queue.shift();
  }

  /** Reads what the thread is called, and whose it is. @throws RequestError when it cannot be read. */
  async #readThread(id: string): Promise<void> {
    const thread = await client.threads.get(id, this.#options);
    this.name.value = thread.thread_name ?? undefined;
    this.agent.value = thread.agent;
  }

  /** Makes sure that the thread is still there. @throws RequestError when it is not, or cannot be read. */
  async #ensureThread(id: string): Promise<void> {
    try {
      await this.#readThread(id);
    } catch (error) {
      if (isAbsent(error)) this.missing.value ??= 'deleted';
      throw error;
    }
  }

  async #begin(body: RunRequest, isRound = false): Promise<void> {
    const { threadId, conversation, agent, waiting } = this;
    const { messages = [] } = body;
    const id = threadId.peek();
    // A run makes the thread that it names: one that was deleted would come back, empty.
    if (id !== undefined) await this.#ensureThread(id);
    const sent = {
      ...body,
      ...declared(),
      config: { ...body.config, ...(id !== undefined && { thread_id: id }) },
    };
    const text = JSON.stringify(sent);
    // The same request after a failure is the same run, if the service has taken it without our hearing of it.
    if (this.#lastAttempt?.body !== text) this.#lastAttempt = { body: text, key: randomUuid() };
    const isUndoing = body.config?.multitask_strategy === 'rollback' && isUnderWay(conversation.run?.status);
    const started = await client.runs.start(sent, { ...this.#options, idempotencyKey: this.#lastAttempt.key });
    this.#lastAttempt = undefined;
    if (!isRound) this.#rounds = 0;
    this.#inputs.set(started.run_id, messages);
    this.#undoes ||= isUndoing;
    waiting.value = [...waiting.peek(), { runId: started.run_id, messages }];
    this.history.settle();
    if (id === undefined) this.name.value = body.config?.thread_name;
    if (typeof body.config?.agent === 'string') agent.value ??= body.config.agent;
    if (id === undefined && this.#mark !== undefined) begunAt.set(this.#mark, started.thread_id);
    const isStillHere = isOpen({ view: 'chat', id });
    threadId.value = started.thread_id;
    // A reader who has left meanwhile stays where they are.
    if (isStillHere) go({ view: 'chat', id: started.thread_id, query: { run: started.run_id } }, { replace: true });
    // The run may have been found by the list of runs before the reply came.
    if (this.followed.peek() === started.run_id) this.#enterInput(started.run_id);
    else this.#queue.push(started.run_id);
    this.connection.value = undefined;
  }

  /** Makes the open calls of these tools; what they gave begins the next run. */
  async #answerCalls(names: ReadonlySet<string>): Promise<void> {
    const calls = this.conversation.run?.calls ?? [];
    const known = calls.flatMap((call) => {
      const tool = browserTools.find(({ name }) => name === call.name && names.has(name));
      return tool ? [{ call, tool }] : [];
    });
    if (known.length === 0 || this.#rounds >= maxRounds) return;
    this.#rounds++;
    const note = (call: RemoteCall, status: LocalCall['status']): void => {
      this.localCalls.value = [...this.localCalls.peek().filter((each) => each.call.id !== call.id), { call, status }];
    };
    const content = await Promise.all(
      known.map(async ({ call, tool }): Promise<Block> => {
        note(call, 'running');
        const block = await answerCall(call, tool, this.#ended);
        note(call, block['is_error'] === true ? 'failed' : 'done');
        return block;
      }),
    );
    await this.#begin({ messages: [{ role: 'tool', message_id: randomUuid(), content }] }, true);
  }
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
