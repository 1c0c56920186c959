import { START, StateGraph, summarizeNode, textOf } from '@agent-workflow/graph';

/** Says how many messages it saw; more than four are shortened to the newest two, and the summary says what left. */
export const graph = new StateGraph({})
  .addNode('look', ({ context }, { emit }) => emit(`saw ${String(context.length)}`))
  .addNode(
    'summarize',
    summarizeNode({
      whenOver: { messages: 4 },
      keep: 2,
      summarize: (messages, previous) => [previous, ...messages.map(textOf)].join('|'),
    }),
  )
  .addEdge(START, 'look')
  .addEdge('look', 'summarize')
  .compile();
