import { END, field, START, StateGraph, summarizeNode, textOf, type CompiledGraph } from '@agent-workflow/graph';
import { passGate } from './gates.ts';
import { lastUser } from './messages.ts';

const add = (current: number, update: number): number => current + update;
export const turns = field<number>({ type: 'number', default: 0, reducer: add });

export const echo = new StateGraph({ turns })
  .addNode('echo', (state, ctx) => {
    ctx.emit('you said ');
    ctx.emit(lastUser(state.context));
    return { turns: 1 };
  })
  .addEdge(START, 'echo')
  .addEdge('echo', END)
  .compile();

export const talkative = new StateGraph({ turns, topic: field<string>({ type: 'string', default: '' }) })
  .addNode('draft', (_state, ctx) => {
    for (const chunk of ['Gre', 'en "', 'tea"\n', '🫖']) ctx.emit(chunk);
    ctx.emit({ type: 'reasoning', text: 'why not' });
    ctx.emit({ type: 'text', text: ' and more' });
    return { topic: 'tea', turns: 1, messages: [{ role: 'assistant', content: 'A second message.' }] };
  })
  .addNode('polish', () => ({
    turns: 1,
    context_summary: 'in short',
    messages: [
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'polished' },
          { type: 'data', data: { n: 1 } },
          { type: 'text', text: '!' },
        ],
      },
    ],
  }))
  .addEdge(START, 'draft')
  .addEdge('draft', 'polish')
  .addEdge('polish', END)
  .compile();

export function gated(): CompiledGraph {
  return new StateGraph({ turns })
    .addNode('gated', async (state, ctx) => {
      ctx.emit('one piece');
      await passGate(state.context, ctx);
      return { turns: 1 };
    })
    .addEdge(START, 'gated')
    .compile();
}

export const remembering = new StateGraph({})
  .addNode('memory', async (state, ctx) => {
    const [verb, ...words] = lastUser(state.context).split(' ');
    if (verb === 'remember') await ctx.memory.store({ content: words.join(' ') });
    const found = verb === 'recall' ? await ctx.memory.search(words.join(' ')) : [];
    ctx.emit(found.map(({ content }) => content).join() || 'nothing');
  })
  .addEdge(START, 'memory')
  .compile();

/** Emits how many messages it saw, and keeps the newest two when there are more than four. */
export const shortening = new StateGraph({})
  .addNode('look', ({ context }, { emit }) => emit(`saw ${String(context.length)}`))
  .addNode(
    'shorten',
    summarizeNode({
      whenOver: { messages: 4 },
      keep: 2,
      summarize: (messages, previous) => [...(previous === '' ? [] : [previous]), ...messages.map(textOf)].join(', '),
    }),
  )
  .addEdge(START, 'look')
  .addEdge('look', 'shorten')
  .compile();
