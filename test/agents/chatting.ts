import { setTimeout as delay } from 'node:timers/promises';
import { END, START, StateGraph, callsTools, field, interrupt, textOf, tool, toolNode } from '@agent-workflow/graph';

const add = tool(
  {
    name: 'add',
    description: 'Adds two numbers.',
    parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  },
  ({ a, b }, { usage }) => {
    usage({ model: 'adding', inputTokens: 4, outputTokens: 1 });
    return a + b;
  },
);

const answerSchema = {
  type: 'object',
  properties: { days: { type: 'integer', minimum: 1 }, season: { enum: ['summer', 'winter'] } },
  required: ['days'],
};

/** The threads in which a run was told to fail, and did. */
const failed = new Set<string>();

/**
 * Does what the first word of the last message says: `think` reasons, `add` calls a tool of the service, `call NAME JSON` one of the
 * caller, `ask` has two nodes ask at once, `question JSON` asks that, `fail` fails once a thread, `flood N` streams N chunks, 2,000 a second, `gate` waits
 * at the address in `config.gate` between two halves, `image` shows one, `note` leaves the message unanswered. Anything else it
 * says back.
 */
export const graph = new StateGraph({
  turns: field<number>({
    type: 'integer',
    description: 'Turns so far',
    default: 0,
    reducer: (sum, more) => sum + more,
  }),
  name: field<string>({ type: 'string', description: 'What the agent calls the user', default: '' }),
})
  .addNode('talk', async (state, { config, emit, signal, threadId, usage }) => {
    const last = state.context.at(-1);
    const [order = '', ...rest] = last ? textOf(last).split(' ') : [];
    usage({ model: 'chatting', inputTokens: 12, outputTokens: 34 });
    if (last?.role === 'tool') emit(`The tool gave ${JSON.stringify(last.content[0]?.['output'])}.`);
    else if (order === 'think') {
      for (const text of ['First ', 'this, ', 'then that.']) emit({ type: 'reasoning', text });
      emit('I have **thought**.');
    } else if (order === 'add') emit({ type: 'tool_call', id: crypto.randomUUID(), name: 'add', args: { a: 2, b: 3 } });
    else if (order === 'call')
      emit({
        type: 'tool_call',
        id: crypto.randomUUID(),
        name: rest[0] ?? '',
        args: JSON.parse(rest.slice(1).join(' ') || '{}') as object,
      });
    else if (order === 'fail' && !failed.has(threadId)) {
      failed.add(threadId);
      throw new Error('told to');
    } else if (order === 'flood') await flood(Number(rest[0]), emit, signal);
    else if (order === 'gate') {
      emit('The first half, ');
      await fetch(String(config['gate']), { signal });
      emit('and the second.');
    } else if (order === 'image') {
      emit({ type: 'image', mime_type: 'image/png', data: onePixel, alt: 'One pixel' });
      emit({ type: 'image', url: 'https://example.com/picture.png', alt: 'A picture' });
    } else emit(`You said ${last ? textOf(last) : 'nothing'}${state.name === '' ? '' : `, ${state.name}`}.`);
    return { turns: 1 };
  })
  .addNode('tools', toolNode([add]))
  .addNode('askName', (_state, { emit }) => emit(`Hello ${String(interrupt('What is your name?'))}.`))
  .addNode('askTrip', (_state, { emit }) =>
    emit(`The trip: ${JSON.stringify(interrupt({ question: 'How long, and when?', schema: answerSchema }))}`),
  )
  .addNode('question', (state, { emit }) => {
    const last = state.context.at(-1);
    const asked: unknown = JSON.parse(last ? textOf(last).slice('question '.length) : 'null');
    emit(`The answer: ${JSON.stringify(interrupt(asked))}`);
  })
  .addConditionalEdges(
    START,
    (state) => {
      const last = state.context.at(-1);
      const text = last ? textOf(last) : '';
      if (text.startsWith('question ')) return 'question';
      return text === 'ask' ? ['askName', 'askTrip'] : 'talk';
    },
    ['askName', 'askTrip', 'question', 'talk'],
  )
  .addConditionalEdges('talk', (state) => (callsTools(state) ? 'tools' : END), ['tools', END])
  .addEdge('tools', 'talk')
  .addEdge('askName', END)
  .addEdge('askTrip', END)
  .addEdge('question', END)
  .compile();

const onePixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Chunks of ten, 200 times a second: as a fast model streams. */
async function flood(chunks: number, emit: (chunk: string) => void, signal: AbortSignal): Promise<void> {
  const start = performance.now();
  for (let sent = 0; sent < chunks;) {
    const due = Math.min(chunks, Math.floor((performance.now() - start) * 2));
    for (; sent < due; sent++) emit(sent % 40 === 39 ? 'end.\n\n' : `word${String(sent)} `);
    await delay(5, undefined, { signal });
  }
}
