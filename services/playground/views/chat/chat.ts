import { randomUuid } from '@agent-workflow/kit/uuid';
import {
  textOf,
  type ConnectionChange,
  type NewMessage,
  type Run,
  type RunRequest,
  type StoppedThread,
  type Thread,
} from '@agent-workflow/client';
import { computed, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import { serviceNow } from '../../session/clock.ts';
import { outlasting } from '../../session/outlasting.ts';
import { client } from '../../session/session.ts';
import { go, isOpen, markEntry } from '../../session/route.ts';
import { createFrame, createYieldToPage } from '../../ui/frame.ts';
import { noteBegun } from './begun-threads.ts';
import { createCallCosts, type CallCosts } from './call-costs.ts';
import {
  clearEntries,
  dropCut,
  emptyConversation,
  mergePage,
  noteAnswers,
  placeQuestions,
  removeBehind,
  type Entry,
  type LoggedMessage,
} from './conversation.ts';
import { endStateOf } from './ended-run.ts';
import { createHistory, isAbsent, type History } from './history.ts';
import { createLifetime } from './lifetime.ts';
import { createLocalCalls, declaredTools, ownTools, type LocalCalls } from './local-calls.ts';
import { openWaitOf } from './open-wait.ts';
import { applyEvent } from './run-events.ts';
import { recordedInput, type RunInput } from './run-inputs.ts';
import { isUnderWay, queuedRun, type RunState } from './run-state.ts';
import { toolsOn } from './tool-consent.ts';

/** Messages of a run that waits for the one before it. */
interface WaitingRun {
  readonly runId: string;
  readonly messages: readonly NewMessage[];
}

export type Missing = 'unknown' | 'deleted';

/** How many rounds of calls and answers a run takes at most without the reader. */
const maxRounds = 25;

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
  /** What the thread is called: its name, else the title that the service gives it. */
  readonly name = signal<string | undefined>(undefined);
  /** The agent that the thread belongs to: `null` before its first run, `undefined` while it is not known. */
  readonly agent: Signal<string | null | undefined>;
  /** The run that is followed. */
  readonly followed = signal<string | undefined>(undefined);
  readonly waiting = signal<readonly WaitingRun[]>([]);
  /** How many runs wait that were started elsewhere, or before a reload: the record does not give their messages. */
  readonly waitingElsewhere = signal(0);
  readonly connection = signal<ConnectionChange | undefined>(undefined);
  /** Why the run is not followed any more, or its record could not be read. */
  readonly failure = signal<unknown>(undefined);
  readonly localCalls: LocalCalls;
  readonly callCosts: CallCosts;
  /** The heading of the chat: what it is called, else the beginning of its first message. */
  readonly title = computed(() => {
    if (this.threadId.value === undefined) return 'New chat';
    return this.name.value ?? (this.drawn.value >= 0 ? firstWords(this.conversation.entries) : undefined) ?? 'Chat';
  });
  /** What the newest run waits for, while none is followed. */
  readonly open = computed(() =>
    this.followed.value === undefined && this.drawn.value >= 0 ? openWaitOf(this.conversation.run) : undefined,
  );
  /** Whether a run of the thread has not ended. */
  readonly isGoing = computed(
    () =>
      (this.drawn.value >= 0 && isUnderWay(this.conversation.run?.status)) ||
      this.waiting.value.length > 0 ||
      this.waitingElsewhere.value > 0,
  );
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
    this.localCalls = createLocalCalls(this.#ended);
    this.threadId = signal(opened);
    this.agent = signal(opened === undefined ? null : undefined);
    this.callCosts = createCallCosts(this.threadId, this.#ended);
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

  /**
   * Starts a stopped run anew: the thread is brought back to the version that the run began with, in the change that accepts the new one.
   * What the run had said until then stays in the versions of the thread, and on the page until the new run is accepted.
   * Where that version is no longer kept, the messages are sent behind what was said. @throws RequestError as `start` does
   */
  startAnew(body: RunRequest, { messages, checkpointId }: RunInput): Promise<void> {
    return this.lifetime.during(async () => {
      const back = checkpointId === undefined ? {} : { checkpoint_id: checkpointId };
      await this.start({ ...body, messages, config: { ...body.config, ...back } });
      if (checkpointId === undefined) return;
      removeBehind(this.conversation, new Set(messages.map(({ message_id: id }) => id)));
      this.#frame.touch();
    });
  }

  /** Begins again with the step in which a run failed. @throws RequestError when the service refuses it. */
  retry(runId: string): Promise<void> {
    return this.lifetime.during(async () => {
      const input = this.#inputs.get(runId);
      const again = await client.runs.retry(runId, this.#options);
      this.#accepted(again, []);
      if (input) this.#inputs.set(again.run_id, input);
      void this.#follow();
    });
  }

  /** Stops the run that holds the thread; what it has said so far stays. @throws RequestError when that fails */
  stop(): Promise<StoppedThread> {
    return client.stop(this.threadId.peek() ?? '', { keepPartial: true, ...this.#options });
  }

  /** Makes the open calls of tools that this browser has, once, and sends what they gave. */
  runCalls(): Promise<void> {
    return this.lifetime.during(async () => {
      await this.#answerCalls(ownTools);
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
    this.localCalls.clear();
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

  /** What a run began with, to be sent again. @throws RequestError when the thread cannot be read. */
  async inputOf(runId: string): Promise<RunInput> {
    const read = { threadId: this.threadId.peek() ?? '', runId, ...this.#options };
    const recorded = await recordedInput(this.conversation, read);
    const messages = this.#inputs.get(runId) ?? recorded.messages;
    return { ...recorded, messages: messages.every(({ role }) => role === 'user') ? messages : [] };
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
        if (conversation.run?.runId !== runId) this.#setRun(queuedRun(runId));
        await this.#followOne(runId);
        if (this.#undoes) await this.#readAnew();
        else await this.#refresh();
        dropCut(conversation);
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
    const events = outlasting((reading) => client.runs.follow(runId, { ...this.#options, ...reading }), {
      onConnection,
    });
    for await (const event of events) {
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
    this.name.value = nameOf(thread);
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
    const { threadId, conversation, agent } = this;
    const { messages = [] } = body;
    const id = threadId.peek();
    // A run makes the thread that it names: one that was deleted would come back, empty.
    if (id !== undefined) await this.#ensureThread(id);
    const sent = {
      ...body,
      ...declaredTools(),
      config: { ...body.config, ...(id !== undefined && { thread_id: id }) },
    };
    const text = JSON.stringify(sent);
    // The same request after a failure is the same run, if the service has taken it without our hearing of it.
    if (this.#lastAttempt?.body !== text) this.#lastAttempt = { body: text, key: randomUuid() };
    const isUndoing = body.config?.multitask_strategy === 'rollback' && isUnderWay(conversation.run?.status);
    const started = await client.runs.start(sent, { ...this.#options, idempotencyKey: this.#lastAttempt.key });
    this.#lastAttempt = undefined;
    if (!isRound) this.#rounds = 0;
    this.#undoes ||= isUndoing;
    if (id === undefined) this.name.value = body.config?.thread_name;
    if (typeof body.config?.agent === 'string') agent.value ??= body.config.agent;
    this.#accepted(started, messages);
  }

  /** The service has taken a run that begins with these messages: it is followed when its turn comes. */
  #accepted({ run_id: runId, thread_id: threadId }: Run, messages: readonly NewMessage[]): void {
    const id = this.threadId.peek();
    this.#inputs.set(runId, messages);
    this.waiting.value = [...this.waiting.peek(), { runId, messages }];
    this.history.settle();
    if (id === undefined && this.#mark !== undefined) noteBegun(this.#mark, threadId);
    const isStillHere = isOpen({ view: 'chat', id });
    this.threadId.value = threadId;
    // A reader who has left meanwhile stays where they are.
    if (isStillHere) go({ view: 'chat', id: threadId, query: { run: runId } }, { replace: true });
    // The run may have been found by the list of runs before the reply came.
    if (this.followed.peek() === runId) this.#enterInput(runId);
    else this.#queue.push(runId);
    this.connection.value = undefined;
  }

  /** Makes the open calls of these tools; what they gave begins the next run. */
  async #answerCalls(names: ReadonlySet<string>): Promise<void> {
    const calls = (this.conversation.run?.calls ?? []).filter(({ name }) => ownTools.has(name) && names.has(name));
    if (calls.length === 0 || this.#rounds >= maxRounds) return;
    this.#rounds++;
    const content = await this.localCalls.make(calls, names);
    await this.#begin({ messages: [{ role: 'tool', message_id: randomUuid(), content }] }, true);
  }
}

/** More characters of a message are no title. */
const maxTitle = 120;

/** The beginning of the first message of the user on the page. */
function firstWords(entries: readonly Entry[]): string | undefined {
  const first = entries.find(({ role }) => role === 'user');
  const text = first && textOf({ content: first.blocks }).trim().slice(0, maxTitle);
  return text === '' ? undefined : text;
}

/** What a thread is called. Where the service gives a title, it is the name, else the beginning of the first message. */
function nameOf({ thread_name: name, title }: Thread): string | undefined {
  const text = name ?? title;
  return typeof text === 'string' && text !== '' ? text : undefined;
}

const toLogged = (message: NewMessage): LoggedMessage => ({
  message_id: message.message_id ?? randomUuid(),
  role: message.role,
  content: typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content,
  timestamp: new Date(serviceNow()).toISOString(),
});
