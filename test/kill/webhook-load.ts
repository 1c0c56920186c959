import { openReceiver, type Received } from '../contract/webhook-receiver.ts';
import { user } from '../servers/client.ts';
import { until } from '../until.ts';
import { Errand, soon, startLoad, type Load, type LoadFindings, type Means } from './load.ts';

/** Runs at a time whose ends are sent. */
const senders = 2;
/** How often a receiver does not take what is sent to it first. */
const refusing = 0.2;
const hanging = 0.05;
/** Each holds one of four places for ten seconds: more of them, and a receiver is sent less than ends. */
const mostHanging = 3;

/** Has the ends of runs sent to receivers that refuse some and leave some without a reply: each comes at last, under one id and as the same bytes. */
export async function startWebhookLoad(means: Means): Promise<Load> {
  const inbox = new Inbox(means.random);
  const receiver = await openReceiver((received, response) => {
    const status = inbox.answer(received);
    if (status !== undefined) response.writeHead(status).end();
  });
  const runs: string[] = [];
  return startLoad({
    name: 'webhook',
    count: senders,
    needs: ['ends', 'not taken first', 'sent again'],
    begin: (threadId) => new Sender(threadId, means, { url: receiver.url, runs }),
    end: async () => {
      const found = await inbox.check(runs);
      await receiver[Symbol.asyncDispose]();
      return found;
    },
  });
}

class Sender extends Errand {
  readonly #to: { readonly url: string; readonly runs: string[] };

  constructor(threadId: string, means: Means, to: { readonly url: string; readonly runs: string[] }) {
    super(threadId, 'echo', means);
    this.#to = to;
  }

  async make(): Promise<void> {
    const { url, runs } = this.#to;
    const runId = await this.start({ messages: [user('go')], webhook: { url } });
    await this.ended(runId);
    runs.push(runId);
  }
}

/** What was sent to the receiver. */
class Inbox {
  readonly #random: () => number;
  /** Bodies by ids. */
  readonly #bodies = new Map<string, string>();
  /** The ids that came for each run. */
  readonly #ids = new Map<string, Set<string>>();
  readonly #taken = new Set<string>();
  readonly #counts = { 'not taken first': 0, 'sent again': 0 };
  #hung = 0;
  readonly #faults: string[] = [];

  constructor(random: () => number) {
    this.#random = random;
  }

  /** @returns the status of the reply; `undefined`: there is none. */
  answer({ id, body }: Received): number | undefined {
    const known = this.#bodies.get(id);
    if (known === undefined) return this.#answerFirst(id, body);
    this.#counts['sent again'] += 1;
    if (known !== body) this.#faults.push(`${id} was sent as ${known} and as ${body}`);
    this.#taken.add(id);
    return 204;
  }

  #answerFirst(id: string, body: string): number | undefined {
    this.#bodies.set(id, body);
    const { data } = JSON.parse(body) as { readonly data: { readonly run_id: string } };
    this.#ids.set(data.run_id, (this.#ids.get(data.run_id) ?? new Set()).add(id));
    const chance = this.#bodies.size === 1 ? 0 : this.#random();
    if (chance < refusing + hanging) {
      this.#counts['not taken first'] += 1;
      if (chance < refusing || this.#hung === mostHanging) return 503;
      this.#hung += 1;
      return undefined;
    }
    this.#taken.add(id);
    return 204;
  }

  /** Resolves once the end of each run has been taken, or will be no more. */
  async check(runs: readonly string[]): Promise<Omit<LoadFindings, 'name'>> {
    const missing = (): readonly string[] =>
      runs.filter((run) => ![...(this.#ids.get(run) ?? [])].some((id) => this.#taken.has(id)));
    await until(() => missing().length === 0, soon).catch(() => undefined);
    for (const run of missing()) this.#faults.push(`the end of run ${run} was not sent until it was taken`);
    for (const [run, ids] of this.#ids)
      if (ids.size > 1) this.#faults.push(`the end of run ${run} was sent under the ids ${[...ids].join()}`);
    return { counts: { ends: runs.length, ...this.#counts }, faults: this.#faults };
  }
}
