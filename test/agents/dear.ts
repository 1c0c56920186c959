import { END, START, StateGraph, field, interrupt, send, tool, toolNode } from '@agent-workflow/graph';

const fields = {
  paid: field<readonly string[]>({
    type: 'array',
    description: 'What was paid',
    default: [],
    reducer: (all, more) => [...all, ...more],
  }),
  hasDesk: field<boolean>({ type: 'boolean', description: 'Whether a sub-graph pays at the end', default: false }),
};

interface Payer {
  readonly signal: AbortSignal;
  readonly idempotencyKey: string;
}

async function pay(shop: unknown, what: string, { signal, idempotencyKey }: Payer): Promise<void> {
  const headers = { 'idempotency-key': idempotencyKey };
  const { ok } = await fetch(`${String(shop)}/${what}`, { method: 'POST', headers, signal });
  if (!ok) throw new Error(`${what} was not paid`);
}

const paying = tool(
  {
    name: 'pay_once',
    description: 'Pays, once and never again.',
    parameters: { type: 'object', properties: { shop: { type: 'string' } }, required: ['shop'] },
    replay: 'once',
  },
  async ({ shop }, ctx) => {
    await pay(shop, 'once', ctx);
    return 'paid';
  },
);

export const items = ['item-0', 'item-1', 'item-2', 'item-3', 'item-4', 'item-5'];
/** The nodes before and after the step of several. */
export const before = ['one', 'two', 'three', 'four', 'five', 'six', 'seven'];
export const after = ['nine', 'ten'];

export const guests = ['guest-0', 'guest-1', 'guest-2', 'guest-3'];

/** A sub-graph that pays for its beginning, for each guest, one after the other, and for its end. */
const desk = new StateGraph(fields)
  .addNode('open', async (_state, ctx) => {
    await pay(ctx.config['shop'], 'desk-open', ctx);
    return { paid: ['desk-open'] };
  })
  .addNode(
    'serve',
    async (_state, ctx) => {
      const guest = String(ctx.input);
      await pay(ctx.config['shop'], guest, ctx);
      return { paid: [guest] };
    },
    { maxConcurrency: 1 },
  )
  .addNode('close', async (_state, ctx) => {
    await pay(ctx.config['shop'], 'desk-close', ctx);
    return { paid: ['desk-close'] };
  })
  .addEdge(START, 'open')
  .addConditionalEdges('open', () => guests.map((guest) => send('serve', guest)), ['serve'])
  .addEdge('serve', 'close')
  .addEdge('close', END)
  .compile();

function build() {
  let graph = new StateGraph(fields) as StateGraph<typeof fields>;
  for (const name of [...before, ...after])
    graph = graph.addNode(name, async (_state, ctx) => {
      if (name === 'two' && ctx.config['asks'] === true) interrupt('Go on?');
      await pay(ctx.config['shop'], name, ctx);
      if (name === 'seven')
        ctx.emit({ type: 'tool_call', id: 'call', name: 'pay_once', args: { shop: ctx.config['shop'] } });
      return { paid: [name], hasDesk: ctx.config['desk'] === true };
    });
  const names = [START, ...before];
  for (const [index, name] of before.entries()) graph = graph.addEdge(names[index] ?? START, name);
  return graph
    .addNode(
      'work',
      async (_state, ctx) => {
        const item = String(ctx.input);
        await pay(ctx.config['shop'], item, ctx);
        return { paid: [item] };
      },
      { maxConcurrency: 1 },
    )
    .addNode('tools', toolNode([paying]))
    .addNode('beside', async (_state, ctx) => {
      const { shop } = ctx.config;
      await pay(shop, 'beside', ctx);
      // Told once this node has returned.
      setImmediate(() => void fetch(`${String(shop)}/beside-done`, { method: 'POST' }).catch(() => undefined));
      return { paid: ['beside'] };
    })
    .addConditionalEdges('seven', () => ['tools', 'beside', ...items.map((item) => send('work', item))], [
      'tools',
      'beside',
      'work',
    ])
    .addEdge('tools', 'nine')
    .addEdge('beside', 'nine')
    .addEdge('work', 'nine')
    .addEdge('nine', 'ten')
    .addNode('desk', desk)
    .addConditionalEdges('ten', ({ hasDesk }) => (hasDesk ? 'desk' : END), ['desk', END])
    .addEdge('desk', END)
    .compile();
}

/**
 * Pays ten times, step by step, at the address in `config.shop`. The second step asks a person first, with `config.asks`; the eighth pays six items, one after
 * the other, beside another node and a tool that is called once at most. With `config.desk` a sub-graph pays after that. What the shop refuses fails the run.
 */
export const graph = build();
