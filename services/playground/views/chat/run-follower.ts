import { randomUuid } from '@agent-workflow/kit/uuid';
import type { Client, ConnectionChange, NewMessage, Run } from '@agent-workflow/client';
import { signal, type ReadonlySignal } from '@preact/signals';
import { serviceNow } from '../../session/clock.ts';
import { outlasting } from '../../session/outlasting.ts';
import { countAgain } from '../../session/waiting-count.ts';
import { createYieldToPage } from '../../ui/frame.ts';
import {
  clearEntries,
  dropCut,
  mergePage,
  placeQuestions,
  type Conversation,
  type LoggedMessage,
} from './conversation.ts';
import { endStateOf } from './ended-run.ts';
import type { History } from './history.ts';
import { applyEvent } from './run-events.ts';
import { isUnderWay, queuedRun, type RunState } from './run-state.ts';

/** Messages of a run that waits for the one before it. */
interface WaitingRun {
  readonly runId: string;
  readonly messages: readonly NewMessage[];
}

interface RunFollowerOptions {
  readonly client: Pick<Client, 'runs' | 'threads'>;
  readonly conversation: Conversation;
  readonly history: History;
  readonly threadId: ReadonlySignal<string | undefined>;
  /** Ends all that is under way. */
  readonly ended: AbortSignal;
  /** Has the conversation drawn anew. */
  readonly touch: () => void;
  /** Called when a run has ended, before the next is followed: it may begin one. */
  readonly onEnd: () => Promise<void>;
}

/** How many of the newest runs of a thread are read. */
const runsAtOnce = 100;

/** Follows the runs of a thread into its conversation, one after the other: those that this page begins, and what else is under way. */
export class RunFollower {
  /** The run that is followed. */
  readonly followed = signal<string | undefined>(undefined);
  readonly waiting = signal<readonly WaitingRun[]>([]);
  /** How many runs wait that were started elsewhere, or before a reload: the record does not give their messages. */
  readonly waitingElsewhere = signal(0);
  readonly connection = signal<ConnectionChange | undefined>(undefined);
  /** Why the run is not followed any more, or its record could not be read. */
  readonly failure = signal<unknown>(undefined);
  readonly #given: RunFollowerOptions;
  readonly #options: { readonly signal: AbortSignal };
  /** The messages that runs of this page began with. */
  readonly #inputs = new Map<string, readonly NewMessage[]>();
  readonly #queue: string[] = [];
  /** The newest run of the thread when its runs were last read. */
  #newest: Run | undefined;
  /** Whether a run was started that undoes the one that is followed. */
  #undoes = false;

  constructor(given: RunFollowerOptions) {
    this.#given = given;
    this.#options = { signal: given.ended };
  }

  /** The messages that a run of this page began with. */
  inputOf(runId: string): readonly NewMessage[] | undefined {
    return this.#inputs.get(runId);
  }

  /**
   * The service has taken a run: it is followed when its turn comes, and `messages` stand on the page then. `input` is what it began with,
   * where that stands there already. A run that `undoes` takes back the one that is followed.
   */
  add(runId: string, messages: readonly NewMessage[], { input = messages, undoes = false } = {}): void {
    this.#inputs.set(runId, input);
    this.#undoes ||= undoes;
    this.waiting.value = [...this.waiting.peek(), { runId, messages }];
    // The run may have been found by the list of runs before the reply came.
    if (this.followed.peek() === runId) this.#enterInput(runId);
    else this.#queue.push(runId);
    this.connection.value = undefined;
  }

  /** Forgets the thread: there is none. */
  clear(): void {
    this.waiting.value = [];
    this.waitingElsewhere.value = 0;
    for (const each of [this.connection, this.failure]) each.value = undefined;
  }

  /** Finds what the thread has under way, or how its newest run has ended, and follows it. `named` is a run that the list may not have yet. */
  async again(named: string | undefined): Promise<void> {
    const id = this.#given.threadId.peek();
    if (id === undefined || this.followed.peek() !== undefined) return;
    this.failure.value = undefined;
    try {
      const runs = await this.#readRuns(id);
      const newest =
        runs[0] ?? (named === undefined ? undefined : await this.#given.client.runs.get(named, this.#options));
      const next = this.#takeOldest(runs) ?? (newest && isUnderWay(newest.status) ? newest : undefined);
      if (next) this.#queue.push(next.run_id);
      else if (newest) {
        // It may have ended after the messages were read.
        await this.#refresh();
        await this.#showEnd(newest);
      }
    } catch (error) {
      if (!this.#given.ended.aborted) this.failure.value = error;
    }
    await this.follow();
  }

  /** Whether others have begun or ended a run since. What they have said is read then. */
  async hasNews(id: string): Promise<boolean> {
    const [run] = await this.#readRuns(id, 1);
    const known = this.#given.conversation.run;
    const isKnown = run?.run_id === known?.runId && run?.status === known?.status;
    if (run === undefined || isKnown || this.followed.peek() !== undefined) return false;
    await this.#refresh();
    return true;
  }

  /** Follows the runs of the queue one after the other, and what else the thread has under way. */
  async follow(): Promise<void> {
    const { followed, failure } = this;
    const { conversation, touch, ended, onEnd } = this.#given;
    const queue = this.#queue;
    if (followed.peek() !== undefined) return;
    failure.value = undefined;
    let last: string | undefined;
    try {
      for (let runId = queue.shift(); runId !== undefined; runId = await this.#nextRun()) {
        followed.value = runId;
        this.#enterInput(runId);
        if (conversation.run?.runId !== runId) this.#setRun(queuedRun(runId));
        countAgain();
        await this.#followOne(runId);
        countAgain();
        if (this.#undoes) await this.#readAnew();
        else await this.#refresh();
        dropCut(conversation);
        await onEnd();
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
      if (!ended.aborted) failure.value = error;
    } finally {
      followed.value = undefined;
      touch();
    }
  }

  async #followOne(runId: string): Promise<void> {
    const { conversation, touch } = this.#given;
    const yieldToPage = createYieldToPage();
    const onConnection = (change: ConnectionChange): void => {
      this.connection.value = change;
    };
    const events = outlasting((reading) => this.#given.client.runs.follow(runId, { ...this.#options, ...reading }), {
      onConnection,
    });
    for await (const event of events) {
      applyEvent(conversation, event);
      touch();
      if (event.event === 'on_chain_start' && !this.#inputs.has(runId)) void this.#refresh();
      await yieldToPage();
    }
  }

  async #refresh(): Promise<void> {
    const { threadId, history } = this.#given;
    const id = threadId.peek();
    // Without it the page lacks only the checkpoints of its messages.
    if (id !== undefined) await history.refresh(id).catch(() => undefined);
  }

  /** A run that was rolled back has taken its messages with it. */
  async #readAnew(): Promise<void> {
    const { conversation, history, threadId } = this.#given;
    this.#undoes = false;
    clearEntries(conversation);
    await history.loadNewest(threadId.peek() ?? '');
  }

  async #showEnd(run: Run): Promise<void> {
    this.#setRun(await endStateOf(run, this.#given.client, this.#given.ended));
  }

  #setRun(state: RunState): void {
    const { conversation, touch } = this.#given;
    conversation.run = state;
    placeQuestions(conversation);
    touch();
  }

  /** The messages of a run stand on the page when it begins. */
  #enterInput(runId: string): void {
    const { waiting } = this;
    const { conversation } = this.#given;
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
    return (await this.#given.client.threads.runs(id, { limit }, this.#options)).runs;
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
    const id = this.#given.threadId.peek();
    const own = this.#queue.shift();
    if (own !== undefined || id === undefined) return own;
    const runs = await this.#readRuns(id);
    [this.#newest] = runs;
    return this.#takeOldest(runs)?.run_id ?? this.#queue.shift();
  }
}

const toLogged = (message: NewMessage): LoggedMessage => ({
  message_id: message.message_id ?? randomUuid(),
  role: message.role,
  content: typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content,
  timestamp: new Date(serviceNow()).toISOString(),
});
