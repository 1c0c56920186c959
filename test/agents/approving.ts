import { once } from 'node:events';
import { END, field, interrupt, START, StateGraph } from '@agent-workflow/graph';

/** Threads in which the rest has failed, or has waited for its end. */
const rested = new Set<string>();

/** Asks a manager, rests in the way that the caller says, and pays in a node of its own. Beside the manager the owner may be asked, too. */
export const graph = new StateGraph({
  way: field<string>({ type: 'string', default: '' }),
  approved: field<boolean>({ type: 'boolean', default: false, callers: 'read' }),
})
  .addNode('approve', () => ({ approved: interrupt('Pay?', { to: ['manager'], notOwner: true }) === true }))
  .addNode('beside', ({ way }) => {
    if (way === 'beside') interrupt('When?');
  })
  .addNode('rest', async ({ way }, { threadId, signal }) => {
    if (way === 'ask') interrupt('To which account?');
    if (!['fail', 'wait'].includes(way) || rested.has(threadId)) return;
    rested.add(threadId);
    if (way === 'fail') throw new Error('the bank is closed');
    await once(signal, 'abort');
  })
  .addNode('pay', ({ approved }, { context: { to = '' }, emit }) =>
    emit(approved ? `paid ${String(to)}`.trim() : 'not paid'),
  )
  .addEdge(START, 'approve')
  .addEdge(START, 'beside')
  .addEdge(['approve', 'beside'], 'rest')
  .addEdge('rest', 'pay')
  .addEdge('pay', END)
  .compile();
