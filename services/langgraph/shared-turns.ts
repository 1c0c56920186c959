import { BaseCallbackHandler } from '@langchain/core/callbacks/base';

/** How long one turn of the event loop may begin tasks, in milliseconds, and how many that waited begin in each turn after it. */
const turnMs = 20;
const inTurn = 8;

/**
 * Lets the event loop turn while the tasks of a super-step begin: LangGraph begins them one after the other and runs them in one turn, 2,000 branches
 * for some seconds, in which the process would answer nobody.
 */
export class SharedTurns extends BaseCallbackHandler {
  override readonly name = 'agent-workflow-turns';
  override awaitHandlers = true;
  readonly #waiting: (() => void)[] = [];
  /** When this turn began its first task; `undefined` where it has begun none. */
  #since: number | undefined;

  override handleChainStart(): Promise<void> | undefined {
    const now = performance.now();
    if (this.#since === undefined) {
      this.#since = now;
      setImmediate(() => (this.#since = undefined));
    }
    if (this.#waiting.length === 0 && now - this.#since < turnMs) return undefined;
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(this.#begin);
    });
  }

  readonly #begin = (): void => {
    for (const begin of this.#waiting.splice(0, inTurn)) begin();
    if (this.#waiting.length > 0) setImmediate(this.#begin);
  };
}
