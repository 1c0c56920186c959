import { hasMark } from '@agent-workflow/kit/mark';

const mark: unique symbol = Symbol.for('@agent-workflow/graph: send');

/** One branch of a fan-out: a node, and the input with which it runs. */
export interface Send {
  readonly node: string;
  readonly input: unknown;
  readonly [mark]: true;
}

/**
 * For a route: the graph goes to `node`, which runs once for each `send`, side by side, and reads the input, which must be JSON, as
 * `ctx.input`. What the branches return is merged in the order of the list, so fields that several of them write need a reducer.
 * @example addConditionalEdges('plan', (state) => state.items.map((item) => send('work', { item })), ['work'])
 */
export const send = (node: string, input: unknown): Send => ({ node, input, [mark]: true });

/** Whether {@link send} made this, of whichever copy of this package: an agent may bring its own. */
export const isSend = (value: unknown): value is Send => hasMark(value, mark);
