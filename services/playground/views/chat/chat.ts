import { randomUuid } from '@agent-workflow/kit/uuid';
import {
  textOf,
  type NewMessage,
  type Run,
  type RunRequest,
  type StoppedRun,
  type StoppedThread,
} from '@agent-workflow/client';
import { computed, type ReadonlySignal } from '@preact/signals';
import { go, isOpen, markEntry } from '../../session/route.ts';
import { createFrame } from '../../ui/frame.ts';
import { noteBegun } from './begun-threads.ts';
import { createCallCosts, noCosts, type CallCosts } from './call-costs.ts';
import { ownThreads, type ChatSource } from './chat-source.ts';
import { createChatThread, type ChatThread } from './chat-thread.ts';
import { clearEntries, emptyConversation, noteAnswers, removeBehind, type Entry } from './conversation.ts';
import { createHistory, isAbsent, type History } from './history.ts';
import { createLifetime } from './lifetime.ts';
import { createLocalCalls, declaredTools, ownTools, type LocalCalls } from './local-calls.ts';
import { openWaitOf } from './open-wait.ts';
import { RunFollower } from './run-follower.ts';
import { recordedInput, type RunInput } from './run-inputs.ts';
import { isUnderWay } from './run-state.ts';
import { toolsOn } from './tool-consent.ts';

/** How many rounds of calls and answers a run takes at most without the reader. */
const maxRounds = 25;

/** An open thread, or the place where one begins: its messages, its run, and what can be done. */
export class Chat {
  readonly conversation = emptyConversation();
  /** It lasts while the reader is there, and while something is being sent. */
  readonly lifetime = createLifetime();
  readonly thread: ChatThread;
  readonly history: History;
  readonly runs: RunFollower;
  readonly localCalls: LocalCalls;
  readonly callCosts: CallCosts;
  readonly source: ChatSource;
  /** The heading of the chat: what it is called, else the beginning of its first message. */
  readonly title = computed(() => {
    const { id, name } = this.thread;
    if (id.value === undefined) return 'New chat';
    return name.value ?? (this.drawn.value >= 0 ? firstWords(this.conversation.entries) : undefined) ?? 'Chat';
  });
  /** What the newest run waits for, while none is followed. */
  readonly open = computed(() =>
    this.runs.followed.value === undefined && this.drawn.value >= 0 ? openWaitOf(this.conversation.run) : undefined,
  );
  /** Whether a run of the thread has not ended. */
  readonly isGoing = computed(
    () =>
      (this.drawn.value >= 0 && isUnderWay(this.conversation.run?.status)) ||
      this.runs.waiting.value.length > 0 ||
      this.runs.waitingElsewhere.value > 0,
  );
  readonly #frame = createFrame();
  readonly #options = { signal: this.lifetime.signal };
  /** The run that the address named. */
  readonly #named: string | undefined;
  #rounds = 0;
  /** The mark of the entry of the history at which a new thread begins. */
  #mark: string | undefined;
  #lastAttempt: { readonly body: string; readonly key: string } | undefined;

  /** What is under way in the thread is followed from its beginning. */
  constructor(opened: string | undefined, run: string | undefined, source = ownThreads) {
    const { conversation } = this;
    const { client, share } = source;
    this.source = source;
    const { signal: ended } = this.lifetime;
    const { touch } = this.#frame;
    this.thread = createChatThread(opened, ended, client);
    const { id: threadId } = this.thread;
    this.history = createHistory(conversation, {
      readMessages: client.threads.messages,
      signalOfPage: ended,
      changed: touch,
    });
    this.localCalls = createLocalCalls(ended);
    this.callCosts = share ? noCosts : createCallCosts(threadId, ended);
    // Tools of a page are the owner's.
    const onEnd = (): Promise<void> => (share ? Promise.resolve() : this.#answerCalls(toolsOn.peek()));
    this.runs = new RunFollower({ conversation, client, history: this.history, threadId, ended, touch, onEnd });
    if (share)
      this.runs.followed.subscribe((followed) => {
        if (followed !== undefined) void this.history.refresh(share.share_id).catch(() => undefined);
      });
    this.#named = run;
    if (opened === undefined) {
      this.#mark = markEntry();
      this.history.settle();
    } else void this.#open(opened);
  }

  /** The id of the thread; absent before its first run. */
  get threadId(): ReadonlySignal<string | undefined> {
    return this.thread.id;
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
      void this.runs.follow();
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
      const again = await this.source.client.runs.retry(runId, this.#options);
      this.#accepted(again);
      const input = this.runs.inputOf(runId);
      this.runs.add(again.run_id, [], { ...(input && { input }) });
      void this.runs.follow();
    });
  }

  /** Stops the run that holds the thread; what it has said so far stays. @throws RequestError when that fails */
  stop(): Promise<StoppedThread | StoppedRun> {
    const { client, share } = this.source;
    const options = { keepPartial: true, ...this.#options };
    return share
      ? client.runs.cancel(this.conversation.run?.runId ?? '', options)
      : client.stop(this.threadId.peek() ?? '', options);
  }

  /** Makes the open calls of tools that this browser has, once, and sends what they gave. */
  runCalls(): Promise<void> {
    return this.lifetime.during(async () => {
      await this.#answerCalls(ownTools);
      void this.runs.follow();
    });
  }

  /** Finds what the thread has under way, or how its newest run has ended, and follows it. */
  again(): Promise<void> {
    return this.runs.again(this.#named);
  }

  /** Reads what others have done in the thread meanwhile, unless a run of it is followed. */
  async catchUp(): Promise<void> {
    const { id, missing, ensure } = this.thread;
    const now = id.peek();
    if (now === undefined || this.runs.followed.peek() !== undefined || missing.peek() !== undefined) return;
    await ensure(now);
    if (await this.runs.hasNews(now)) await this.again();
  }

  /** Leaves a thread that is gone: the next message makes a new one, with the agent that is given. */
  beginAnew(next: string | undefined): void {
    if (this.runs.followed.peek() !== undefined) return;
    clearEntries(this.conversation);
    this.conversation.run = undefined;
    this.history.clear();
    this.runs.clear();
    this.localCalls.clear();
    this.thread.leave();
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
    const messages = this.runs.inputOf(runId) ?? recorded.messages;
    return { ...recorded, messages: messages.every(({ role }) => role === 'user') ? messages : [] };
  }

  async #open(id: string): Promise<void> {
    // The name is no more than a heading: what cannot be read shows itself in the messages.
    const named = this.thread.read(id).catch(() => undefined);
    await this.history.loadNewest(id);
    await named;
    if (isAbsent(this.history.error.peek())) {
      this.history.settle();
      this.thread.missing.value = 'unknown';
      return;
    }
    await this.again();
  }

  async #begin(body: RunRequest, isRound = false): Promise<void> {
    const { thread, conversation, runs } = this;
    const { messages = [], config } = body;
    const id = thread.id.peek();
    // A run makes the thread that it names: one that was deleted would come back, empty.
    if (id !== undefined) await thread.ensure(id);
    const sent = this.source.share
      ? asRecipient(body)
      : { ...body, ...declaredTools(), config: { ...config, ...(id !== undefined && { thread_id: id }) } };
    const text = JSON.stringify(sent);
    // The same request after a failure is the same run, if the service has taken it without our hearing of it.
    if (this.#lastAttempt?.body !== text) this.#lastAttempt = { body: text, key: randomUuid() };
    const undoes = config?.multitask_strategy === 'rollback' && isUnderWay(conversation.run?.status);
    const started = await this.source.client.runs.start(sent, {
      ...this.#options,
      idempotencyKey: this.#lastAttempt.key,
    });
    this.#lastAttempt = undefined;
    if (!isRound) this.#rounds = 0;
    if (id === undefined) thread.name.value = config?.thread_name;
    if (typeof config?.agent === 'string') thread.agent.value ??= config.agent;
    this.#accepted(started);
    // The service names the messages of a recipient: they are read from the log.
    runs.add(started.run_id, this.source.share ? [] : messages, { input: messages, undoes });
  }

  /** The service has taken a run: its thread is there, and open where its reader still is. */
  #accepted({ run_id: runId, thread_id: ofRun }: Run): void {
    const id = this.threadId.peek();
    const { view, share } = this.source;
    const threadId = share?.share_id ?? ofRun;
    this.history.settle();
    if (id === undefined && this.#mark !== undefined) noteBegun(this.#mark, threadId);
    const isStillHere = isOpen({ view, id });
    this.thread.id.value = threadId;
    // A reader who has left meanwhile stays where they are.
    if (isStillHere) go({ view, id: threadId, query: { run: runId } }, { replace: true });
  }

  /** Makes the open calls of these tools; what they gave begins the next run. */
  async #answerCalls(names: ReadonlySet<string>): Promise<void> {
    const calls = (this.conversation.run?.calls ?? []).filter(({ name }) => ownTools.has(name) && names.has(name));
    if (calls.length === 0 || this.#rounds >= maxRounds) return;
    this.#rounds++;
    const content = await this.localCalls.make(calls, names);
    const message: NewMessage = { role: 'tool', message_id: randomUuid(), content };
    await this.#begin({ messages: [message] }, true);
  }
}

/** What a recipient of a thread may send. */
const asRecipient = ({ messages = [], resume }: RunRequest): RunRequest => ({
  messages: messages.map(({ message_id: _, ...message }) => message),
  ...(resume !== undefined && { resume }),
});

/** More characters of a message are no title. */
const maxTitle = 120;

/** The beginning of the first message of the user on the page. */
function firstWords(entries: readonly Entry[]): string | undefined {
  const first = entries.find(({ role }) => role === 'user');
  const text = first && textOf({ content: first.blocks }).trim().slice(0, maxTitle);
  return text === '' ? undefined : text;
}
