import { BaseCallbackHandler } from '@langchain/core/callbacks/base';

/** How many tasks begin in one turn of the event loop: LangGraph begins all that may before the first of them computes. */
const inTurn = 8;

/**
 * Lets the event loop turn while the tasks of a super-step begin: LangGraph begins them one after the other and runs them in one turn, 2,000 branches
 * for some seconds, in which the process would answer nobody.
 */
export class SharedTurns extends BaseCallbackHandler {
  override readonly name = 'agent-workflow-turns';
  override awaitHandlers = true;
  readonly #waiting: (() => void)[] = [];
  /** Tasks that this turn has begun without a wait. */
  #begun = 0;

  override handleChainStart(): Promise<void> | undefined {
    if (this.#begun === 0) setImmediate(() => (this.#begun = 0));
    if (this.#waiting.length === 0 && this.#begun < inTurn) {
      this.#begun += 1;
      return undefined;
    }
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(this.#begin);
    });
  }

  readonly #begin = (): void => {
    for (const begin of this.#waiting.splice(0, inTurn)) begin();
    if (this.#waiting.length > 0) setImmediate(this.#begin);
  };
}
