import { spec } from '../agents/asking-beside.ts';
import { namesIn } from '../agents/asking-graphs.ts';
import { Errand, startLoad, type Interrupt, type Load, type Means } from './load.ts';

/** Conversations that are held at a time. */
const conversations = 4;

/** Holds conversations with an agent whose nodes ask side by side, and checks which answer reached which question. */
export const startAskingLoad = (means: Means): Load =>
  startLoad({
    name: 'asking',
    count: conversations,
    needs: ['completed', 'answers'],
    begin: (threadId) => new Conversation(threadId, 'asking', means),
  });

class Conversation extends Errand {
  /** The value of each question that was shown, by its id. */
  readonly #shown = new Map<string, string>();
  readonly #answered = new Set<string>();
  #hasWritten = false;

  /** Resolves when the thread has no question left, or a run of it was given up. */
  async make(): Promise<void> {
    let runId = await this.start();
    for (;;) {
      const { status, interrupts, isFailedByClaims } = await this.ended(runId);
      if (isFailedByClaims) return;
      if (status === 'completed') {
        await this.#checkEnd();
        this.count('completed');
        return;
      }
      if (status !== 'interrupted' || interrupts.length === 0) throw new Error(`run ${runId} is ${status}`);
      runId = await this.#answer(interrupts);
    }
  }

  async #answer(open: readonly Interrupt[]): Promise<string> {
    for (const { id, value } of open) this.#note(id, JSON.stringify(value));
    await this.#trySpent();
    if (!this.#hasWritten && this.random() < 0.3) await this.#writeMode();
    const isChosen = open.map(() => this.random() < 0.5);
    if (!isChosen.includes(true)) isChosen[Math.floor(this.random() * open.length)] = true;
    const chosen = open.filter((_, index) => isChosen[index]);
    for (const { id } of chosen) this.#answered.add(id);
    this.count('answers', chosen.length);
    return this.start({
      messages: [],
      resume: Object.fromEntries(chosen.map(({ id, value }) => [id, { shown: value }])),
    });
  }

  #note(id: string, value: string): void {
    const known = this.#shown.get(id);
    if (known !== undefined && known !== value) this.faults.push(`${id} names ${known} and ${value}`);
    if (this.#answered.has(id)) this.faults.push(`${id} is open again after its answer`);
    if (known === undefined && [...this.#shown.keys()].some((other) => isSamePlace(other, id)) && this.#hasWritten)
      this.count('asked anew');
    this.#shown.set(id, value);
  }

  /** An answer to a question that has one is refused. */
  async #trySpent(): Promise<void> {
    const [spent] = this.#answered;
    if (spent === undefined || this.random() < 0.7) return;
    const { status } = await this.sendRun({ messages: [], resume: { [spent]: 'again' } });
    if (status !== 400) this.faults.push(`another answer to ${spent} was answered ${String(status)}`);
  }

  /** Changes what fickle questions ask. */
  async #writeMode(): Promise<void> {
    this.#hasWritten = true;
    const { status, body } = await this.change(`/v1/threads/${this.threadId}/state`, {
      state: { mode: 1 },
      config: {},
    });
    if (status !== 200) this.faults.push(`a write of state was answered ${String(status)} ${JSON.stringify(body)}`);
  }

  async #checkEnd(): Promise<void> {
    const path = `/v1/threads/${this.threadId}`;
    const state = (await this.stateOf(this.threadId)) as {
      readonly log: readonly string[];
      readonly faults: readonly string[];
    };
    this.faults.push(...state.faults);
    const names = namesIn(spec);
    if (state.log.join() !== [...names, 'end'].join()) this.faults.push(`merged ${state.log.join()}`);
    const { messages } = (await this.send('GET', `${path}/messages?limit=1000`)).body.data as {
      readonly messages: readonly { readonly content: readonly { readonly text?: string }[] }[];
    };
    const texts = messages.slice(1).map(({ content }) => content.map(({ text = '' }) => text).join(''));
    if (texts.toSorted().join() !== names.toSorted().join()) this.faults.push(`its messages are ${texts.join()}`);
    // Messages of a sub-graph that waits are on record before its step ends.
    const isHeld = (name: string): boolean => !name.includes('/');
    if (texts.filter(isHeld).join() !== names.filter(isHeld).join())
      this.faults.push(`its messages are in the order ${texts.join()}`);
  }
}

/** Whether two questions are of one node. */
const isSamePlace = (one: string, other: string): boolean =>
  one.slice(0, one.lastIndexOf('/')) === other.slice(0, other.lastIndexOf('/'));
