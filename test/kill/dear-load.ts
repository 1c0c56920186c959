import { after, before, items } from '../agents/dear.ts';
import { user } from '../servers/client.ts';
import { openShop, type Account } from '../servers/shop.ts';
import { acceptedRun, Errand, startLoad, type Load, type Means } from './load.ts';

/** Runs that pay at a time. */
const purchases = 2;

/**
 * Has runs of ten dear steps fail in the eighth, in the midst of branches and behind an approval, and tries them again: what had been paid before is not paid
 * again.
 */
export async function startDearLoad(means: Means): Promise<Load> {
  const shop = await openShop();
  return startLoad({
    name: 'dear',
    count: purchases,
    needs: ['completed', 'tried again after a refusal'],
    begin: (threadId) => new Purchase(threadId, means, shop.urlOf(threadId), shop.account(threadId)),
    end: async () => {
      await shop[Symbol.asyncDispose]();
      return { counts: {}, faults: [] };
    },
  });
}

class Purchase extends Errand {
  readonly #shop: string;
  readonly #account: Account;

  constructor(threadId: string, means: Means, shop: string, account: Account) {
    super(threadId, 'dear', means);
    this.#shop = shop;
    this.#account = account;
  }

  /** Resolves once all is paid, after the shop has refused an item once. */
  async make(): Promise<void> {
    const item = items[Math.floor(this.random() * items.length)] ?? '';
    this.#account.refused.add(item);
    await this.#untilItHolds(await this.#pay([user('go')]), 'interrupted');
    await this.#untilItHolds(await this.#pay([], true), 'completed');
    await this.#checkEnd();
    this.count('completed');
  }

  async #pay(messages: readonly object[], resume?: boolean): Promise<string> {
    return this.start({ messages, resume }, { shop: this.#shop, asks: true });
  }

  /** Tries a run again as often as it fails: because an item is refused, or because it was killed too often. */
  async #untilItHolds(first: string, expected: string): Promise<void> {
    let runId = first;
    for (;;) {
      const { status, isFailedByClaims } = await this.ended(runId);
      if (status === expected) return;
      if (status !== 'failed') throw new Error(`run ${runId} is ${status}, not ${expected}`);
      const failed = runId;
      const paid = this.#account.paid.length;
      if (!isFailedByClaims) this.#account.refused.clear();
      runId = acceptedRun(await this.change(`/v1/runs/${failed}/retry`, {}));
      this.count(isFailedByClaims ? 'tried again after kills' : 'tried again after a refusal');
      await this.ended(runId);
      if (!isFailedByClaims) this.#check(this.#account.paid.slice(paid));
      await this.#tryOld(failed);
    }
  }

  /** Steps before the one that failed are not paid any more. What ran in that step may be, where its process was killed before it returned. */
  #check(later: readonly string[]): void {
    const again = before.filter((what) => later.includes(what));
    if (again.length > 0) this.faults.push(`doubled: ${again.join()} paid again: ${later.join()}`);
  }

  /** A run that another has followed is not tried again. */
  async #tryOld(runId: string): Promise<void> {
    const { status, body } = await this.change(`/v1/runs/${runId}/retry`, {});
    if (status !== 409 || !JSON.stringify(body).includes('has a later run'))
      this.faults.push(`another retry of ${runId} was answered ${String(status)} ${JSON.stringify(body)}`);
  }

  async #checkEnd(): Promise<void> {
    const { paid, keys } = this.#account;
    const steps = paid.map(stepOf);
    if (steps.some((step, index) => step < (steps[index - 1] ?? 0)))
      this.faults.push(`doubled: a step was paid after a later one had begun: ${paid.join()}`);
    if (paid.filter((what) => what === 'once').length > 1) this.faults.push('doubled: what is paid once');
    for (const [what, under] of keys)
      if (under.size > 1) this.faults.push(`${what} was paid under the keys ${[...under].join()}`);
    const inState = (await this.stateOf(this.threadId))['paid'] as readonly string[];
    if (inState.toSorted().join() !== [...before, 'beside', ...items, ...after].toSorted().join())
      this.faults.push(`its state says ${inState.join()}`);
  }
}

/** The eighth is that of the items and what is beside them. */
function stepOf(what: string): number {
  const index = [...before, 'all', ...after].indexOf(what);
  return index < 0 ? before.length : index;
}
