import { items } from '../agents/dear.ts';
import { user, type Client, type Reply } from '../servers/client.ts';
import { openShop, type Account } from '../servers/shop.ts';

const dearAgent = 'dear';

interface DearLoadOptions {
  /** Sends until it is answered: what is changed has a key. */
  readonly send: Client['send'];
  readonly random: () => number;
  /** Runs that pay at a time. */
  readonly count: number;
}

export interface DearFindings {
  /** Runs that ended as completed, after they had failed and were tried again. */
  readonly ended: number;
  /** Runs that were killed three times within one step: they are tried again, too. */
  readonly givenUp: number;
  readonly retries: number;
  readonly faults: readonly string[];
}

/**
 * Has runs of ten dear steps fail in the eighth, in the midst of branches and behind an approval, and tries them again: what had been paid and paidBefore is
 * not paid again.
 */
export async function startDearLoad({ send, random, count }: DearLoadOptions): Promise<{
  readonly stop: () => Promise<DearFindings>;
}> {
  const shop = await openShop();
  const found = { ended: 0, givenUp: 0, retries: 0, faults: [] as string[] };
  let sent = 0;
  let isOver = false;
  const work = async (): Promise<void> => {
    while (!isOver) {
      const threadId = `dear-${String(sent++)}`;
      const purchase = new Purchase({ threadId, send, shop: shop.urlOf(threadId), account: shop.account(threadId) });
      try {
        await purchase.make(items[Math.floor(random() * items.length)] ?? '');
        found.ended += 1;
      } catch (error) {
        purchase.faults.push(String(error));
      }
      found.givenUp += purchase.givenUp;
      found.retries += purchase.retries;
      found.faults.push(...purchase.faults.map((fault) => `thread ${threadId}: ${fault}`));
    }
  };
  const working = Promise.all(Array.from({ length: count }, work));
  return {
    stop: async () => {
      isOver = true;
      await working;
      await shop[Symbol.asyncDispose]();
      return found;
    },
  };
}

const failedByClaims = 'the run was claimed 3 times and committed nothing';

interface PurchaseOptions {
  readonly threadId: string;
  readonly send: Client['send'];
  readonly shop: string;
  readonly account: Account;
}

class Purchase {
  readonly faults: string[] = [];
  givenUp = 0;
  retries = 0;
  readonly #options: PurchaseOptions;
  #requests = 0;

  constructor(options: PurchaseOptions) {
    this.#options = options;
  }

  /** Resolves once it is paid, after the shop has refused this item once. */
  async make(item: string): Promise<void> {
    const { account } = this.#options;
    account.refused.add(item);
    let runId = await this.#start({ messages: [user('go')] });
    let status = await this.#end(runId);
    while (status === 'failed') {
      runId = await this.#retry(runId);
      status = await this.#end(runId);
    }
    if (status !== 'interrupted') throw new Error(`run ${runId} is ${status} before it was answered`);
    runId = await this.#start({ messages: [], resume: true });
    while ((await this.#end(runId)) === 'failed') {
      const paidBefore = [...account.paid];
      const isRefused = account.paid.at(-1) === item;
      if (isRefused) account.refused.clear();
      const before = runId;
      runId = await this.#retry(runId);
      await this.#end(runId);
      if (isRefused) this.#check(paidBefore, item);
      await this.#tryOld(before);
    }
    await this.#checkEnd();
  }

  /** What had been paid when the run had failed, but for what failed, is not paid any more. */
  #check(paidBefore: readonly string[], item: string): void {
    const later = this.#options.account.paid.slice(paidBefore.length);
    const again = paidBefore.filter((what) => what !== item && later.includes(what));
    if (again.length > 0)
      this.faults.push(`doubled: ${again.join()} of ${paidBefore.join()} paid again: ${later.join()}`);
  }

  /** A run that another has followed is not tried again. */
  async #tryOld(runId: string): Promise<void> {
    const { status, body } = await this.#change(`/v1/runs/${runId}/retry`, {});
    if (status !== 409 || !JSON.stringify(body).includes('has a later run'))
      this.faults.push(`another retry of ${runId} was answered ${String(status)} ${JSON.stringify(body)}`);
  }

  async #checkEnd(): Promise<void> {
    const { account, send, threadId } = this.#options;
    if (account.paid.filter((what) => what === 'once').length > 1) this.faults.push('doubled: what is paid once');
    for (const [what, keys] of account.keys)
      if (keys.size > 1) this.faults.push(`${what} was paid under the keys ${[...keys].join()}`);
    const { state } = (await send('GET', `/v1/threads/${threadId}/state`)).body.data as {
      readonly state: { readonly paid: readonly string[] };
    };
    const twice = state.paid.filter((what, index) => state.paid.indexOf(what) !== index);
    if (twice.length > 0 || state.paid.length !== 16) this.faults.push(`its state says ${state.paid.join()}`);
  }

  async #start(request: object): Promise<string> {
    const { threadId, shop } = this.#options;
    const config = { thread_id: threadId, agent: dearAgent, shop, asks: true };
    return accepted(await this.#change('/v1/runs', { ...request, config }));
  }

  async #retry(runId: string): Promise<string> {
    this.retries += 1;
    return accepted(await this.#change(`/v1/runs/${runId}/retry`, {}));
  }

  async #change(path: string, request: object): Promise<Reply> {
    const { send, threadId } = this.#options;
    return send('POST', path, request, { 'idempotency-key': `${threadId}-${String(this.#requests++)}` });
  }

  async #end(runId: string): Promise<string> {
    const { status, body } = await this.#options.send('GET', `/v1/runs/${runId}/wait`);
    if (status === 200) return (body.data as { readonly meta: { readonly status: string } }).meta.status;
    const text = JSON.stringify(body);
    if (text.includes(failedByClaims)) this.givenUp += 1;
    if (status !== 500) throw new Error(`run ${runId} ended with ${String(status)} ${text}`);
    return 'failed';
  }
}

function accepted({ status, body }: Reply): string {
  if (status !== 202) throw new Error(`a run was answered ${String(status)} ${JSON.stringify(body)}`);
  return (body.data as { readonly run_id: string }).run_id;
}
