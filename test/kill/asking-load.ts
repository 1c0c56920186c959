import { setTimeout as delay } from 'node:timers/promises';
import { spec } from '../agents/asking-beside.ts';
import { namesIn } from '../agents/asking-graphs.ts';
import { createClient, user, type Client, type Reply } from '../servers/client.ts';
import { agentAt } from '../servers/standalone.ts';

const askingAgent = 'asking';

/** What `service.json` says of the agents of a campaign: one that runs by itself, one that asks, and one whose runs fail and are tried again. */
export const askingAgents = (agent: string): Readonly<Record<string, unknown>> => ({
  agents: { steps: agent, [askingAgent]: agentAt('asking-beside'), dear: agentAt('dear') },
  default_agent: 'steps',
});

interface AskingLoadOptions {
  /** Sends until it is answered: what is changed has a key. */
  readonly send: Client['send'];
  readonly random: () => number;
  /** Conversations that are held at a time. */
  readonly count: number;
}

interface AskingLoad {
  /** Resolves when the conversations under way have ended. */
  readonly stop: () => Promise<AskingFindings>;
}

export interface AskingFindings {
  /** Conversations that ended. */
  readonly ended: number;
  /** Of them, those with a run that was killed three times within one step, and given up as promised. */
  readonly givenUp: number;
  readonly answers: number;
  /** Questions that were asked anew because a caller wrote the state. */
  readonly anew: number;
  readonly faults: readonly string[];
}

interface Interrupt {
  readonly id: string;
  readonly value: unknown;
}

interface Result {
  readonly meta: { readonly run_id: string; readonly status: string; readonly interrupts?: readonly Interrupt[] };
}

/** Holds conversations with an agent whose nodes ask side by side, and checks which answer reached which question. */
export function startAskingLoad({ send, random, count }: AskingLoadOptions): AskingLoad {
  const found = { ended: 0, givenUp: 0, answers: 0, anew: 0, faults: [] as string[] };
  let sent = 0;
  let isOver = false;
  const work = async (): Promise<void> => {
    while (!isOver) {
      const threadId = `asking-${String(sent++)}`;
      const conversation = new Conversation(threadId, send, random);
      try {
        const hasFailed = await conversation.hold();
        found.ended += 1;
        found.givenUp += Number(hasFailed);
      } catch (error) {
        conversation.faults.push(String(error));
      }
      found.answers += conversation.answers;
      found.anew += conversation.anew;
      found.faults.push(...conversation.faults.map((fault) => `thread ${threadId}: ${fault}`));
    }
  };
  const working = Promise.all(Array.from({ length: count }, work));
  return {
    stop: async () => {
      isOver = true;
      await working;
      return found;
    },
  };
}

const failedByClaims = 'the run was claimed 3 times and committed nothing';

class Conversation {
  readonly faults: string[] = [];
  answers = 0;
  anew = 0;
  private readonly threadId: string;
  private readonly send: Client['send'];
  private readonly random: () => number;
  /** The value of each question that was shown, by its id. */
  private readonly shown = new Map<string, string>();
  private readonly answered = new Set<string>();
  private hasWritten = false;
  private requests = 0;

  constructor(threadId: string, send: Client['send'], random: () => number) {
    this.threadId = threadId;
    this.send = send;
    this.random = random;
  }

  /** Resolves when the thread has no question left: with whether a run of it was given up. */
  async hold(): Promise<boolean> {
    let runId = await this.start({ messages: [user('go')] });
    for (;;) {
      const { status, body } = await this.send('GET', `/v1/runs/${runId}/wait`);
      if (status === 500 && JSON.stringify(body).includes(failedByClaims)) return true;
      if (status !== 200) throw new Error(`run ${runId} ended with ${String(status)} ${JSON.stringify(body)}`);
      const { meta } = body.data as Result;
      if (meta.status === 'completed') {
        await this.checkEnd();
        return false;
      }
      if (meta.status !== 'interrupted' || !meta.interrupts?.length)
        throw new Error(`run ${runId} is ${JSON.stringify(meta)}`);
      runId = await this.answer(meta.interrupts);
    }
  }

  private async start(request: object): Promise<string> {
    const config = { thread_id: this.threadId, agent: askingAgent };
    const { status, body } = await this.change('/v1/runs', { ...request, config });
    if (status !== 202) throw new Error(`a run was answered ${String(status)} ${JSON.stringify(body)}`);
    return (body.data as { run_id: string }).run_id;
  }

  private async change(path: string, request: object): Promise<Reply> {
    const key = `${this.threadId}-${String(this.requests++)}`;
    return this.send('POST', path, request, { 'idempotency-key': key });
  }

  private async answer(open: readonly Interrupt[]): Promise<string> {
    for (const { id, value } of open) this.note(id, JSON.stringify(value));
    await this.trySpent();
    if (!this.hasWritten && this.random() < 0.3) await this.writeMode();
    const isChosen = open.map(() => this.random() < 0.5);
    if (!isChosen.includes(true)) isChosen[Math.floor(this.random() * open.length)] = true;
    const chosen = open.filter((_, index) => isChosen[index]);
    for (const { id } of chosen) this.answered.add(id);
    this.answers += chosen.length;
    return this.start({
      messages: [],
      resume: Object.fromEntries(chosen.map(({ id, value }) => [id, { shown: value }])),
    });
  }

  private note(id: string, value: string): void {
    const known = this.shown.get(id);
    if (known !== undefined && known !== value) this.faults.push(`${id} names ${known} and ${value}`);
    if (this.answered.has(id)) this.faults.push(`${id} is open again after its answer`);
    if (known === undefined && [...this.shown.keys()].some((other) => isSamePlace(other, id)) && this.hasWritten)
      this.anew += 1;
    this.shown.set(id, value);
  }

  /** An answer to a question that has one is refused. */
  private async trySpent(): Promise<void> {
    const [spent] = this.answered;
    if (spent === undefined || this.random() < 0.7) return;
    const config = { thread_id: this.threadId, agent: askingAgent };
    const { status } = await this.change('/v1/runs', { messages: [], resume: { [spent]: 'again' }, config });
    if (status !== 400) this.faults.push(`another answer to ${spent} was answered ${String(status)}`);
  }

  /** Changes what fickle questions ask. */
  private async writeMode(): Promise<void> {
    this.hasWritten = true;
    const { status, body } = await this.change(`/v1/threads/${this.threadId}/state`, {
      state: { mode: 1 },
      config: {},
    });
    if (status !== 200) this.faults.push(`a write of state was answered ${String(status)} ${JSON.stringify(body)}`);
  }

  private async checkEnd(): Promise<void> {
    const path = `/v1/threads/${this.threadId}`;
    const { state } = (await this.send('GET', `${path}/state`)).body.data as {
      readonly state: { readonly log: readonly string[]; readonly faults: readonly string[] };
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

const pauseMs = 50;
const away = new Set([408, 429, 502, 503, 504]);

/** Sends to a service that is killed and started again, at the address that it has then, until it answers. */
export const sendingTo =
  (url: () => string): Client['send'] =>
  async (...request) => {
    for (;;) {
      const reply = await createClient(url())
        .send(...request)
        .catch(() => undefined);
      if (reply && !away.has(reply.status)) return reply;
      await delay(pauseMs);
    }
  };
