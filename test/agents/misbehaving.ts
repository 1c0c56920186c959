import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import {
  END,
  START,
  StateGraph,
  field,
  interrupt,
  textOf,
  tool,
  toolNode,
  type NodeContext,
  type NodeFunction,
} from '@agent-workflow/graph';

const hugeBytes = 100 * 1024 * 1024;
const huge = (): string => 'x'.repeat(hugeBytes);

const fields = {
  count: field<number>({
    type: 'integer',
    description: 'Steps of runs that behave',
    default: 0,
    reducer: (a, b) => a + b,
  }),
  ratio: field<number>({ type: 'number', default: 0 }),
  note: field<string>({ type: 'string', default: '' }),
  anything: field<unknown>({ type: 'any' }),
  hostile: field<number>({
    type: 'number',
    default: 0,
    reducer: () => {
      throw new Error('the reducer fails');
    },
  }),
};

type Node = NodeFunction<typeof fields>;

/** What no compiler lets through, and JavaScript does. */
const invalid =
  (update: unknown): Node =>
  () =>
    update as never;

const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;

let nested: unknown = 0;
for (let level = 0; level < 100_000; level++) nested = [nested];

const forEver = async (): Promise<never> => new Promise(() => undefined);

function block(): never {
  for (;;);
}

/** Waits at the address in `config.gate`. */
const passGate = async ({ config, signal }: NodeContext): Promise<void> => {
  await fetch(String(config['gate']), { signal });
};

const throwing: Readonly<Record<string, Node>> = {
  throws: () => {
    throw new Error('no more');
  },
  'throws later': async () => {
    await delay(1);
    throw new Error('no more, later');
  },
  'throws undefined': () => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error
    throw undefined;
  },
  'throws a text': () => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error
    throw 'only words';
  },
  'throws what has no text': () => {
    throw Object.create(null);
  },
  'throws what throws': () => {
    throw new Proxy(new Error('hidden'), {
      get: () => {
        throw new Error('do not look at me');
      },
    });
  },
  'throws a revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable(new Error('hidden'), {});
    revoke();
    throw proxy;
  },
  'throws a huge text': () => {
    throw new Error(huge());
  },
  'recurses for ever': function recurse(state, context): ReturnType<Node> {
    return recurse(state, context);
  },
};

const uncaught: Readonly<Record<string, Node>> = {
  'leaves a timer that throws': () => {
    setTimeout(() => {
      throw new Error('uncaught error of a timer');
    }, 1);
    return {};
  },
  'leaves a promise that rejects': () => {
    void delay(1).then(() => {
      throw new Error('uncaught error of a promise');
    });
    return {};
  },
  'leaves a timer that throws nothing': () => {
    setTimeout(() => {
      // eslint-disable-next-line @typescript-eslint/only-throw-error
      throw undefined;
    }, 1);
    return {};
  },
};

const blocking: Readonly<Record<string, Node>> = {
  'blocks at once': () => block(),
  'blocks later': async () => {
    await delay(5);
    block();
  },
  'blocks with promises': async () => {
    for (;;) await Promise.resolve();
  },
  'blocks natively': async ({ context }) => {
    await delay(5);
    execFileSync('sleep', ['8']);
    return { note: String(context.length) };
  },
  exits: async () => {
    await delay(5);
    process.exit(3);
  },
};

const returning: Readonly<Record<string, Node>> = {
  'returns an unknown field': invalid({ nobody: 1 }),
  'returns a wrong type': invalid({ note: 5 }),
  'returns a text': invalid('an update'),
  'returns an array': invalid([{ note: 'x' }]),
  'returns a function': invalid(() => ({})),
  'returns a BigInt': invalid({ anything: 5n }),
  'returns a cycle': invalid({ anything: cyclic }),
  'returns what is nested too deep': invalid({ anything: nested }),
  'returns a function in a field': invalid({ anything: () => 1 }),
  'returns NaN': invalid({ ratio: Number.NaN }),
  'returns NaN where anything may be': invalid({ anything: Number.NaN }),
  'returns messages that are no array': invalid({ messages: 'hello' }),
  'returns a message without content': invalid({ messages: [{ role: 'assistant' }] }),
  'returns a message that is none': invalid({ messages: [null] }),
  'returns a message of an unknown role': invalid({ messages: [{ role: 'king', content: 'x' }] }),
  'returns a block without a type': invalid({ messages: [{ content: [{ text: 'x' }] }] }),
  'returns what throws when it is read': () => ({
    get note(): string {
      throw new Error('do not read me');
    },
  }),
  'fails in a reducer': () => ({ hostile: 1 }),
};

const large: Readonly<Record<string, Node>> = {
  'makes a huge state': () => ({ note: huge() }),
  'makes a huge message': () => ({ messages: [{ content: huge() }] }),
  'makes a huge block': () => ({ messages: [{ content: [{ type: 'data', data: huge() }] }] }),
  'makes many messages': () => ({
    messages: Array.from({ length: 100 }, () => ({ content: 'x'.repeat(1024 * 1024) })),
  }),
  'makes very many messages': () => ({ messages: Array.from({ length: 10_001 }, () => ({ content: 'x' })) }),
  'asks a huge question': () => {
    interrupt(huge());
    return {};
  },
  'emits a huge piece': (_state, { emit }) => {
    emit(huge());
    return {};
  },
  'emits a huge block': (_state, { emit }) => {
    emit({ type: 'data', data: huge() });
    return {};
  },
  'emits for ever': (_state, { emit }) => {
    for (;;) emit('word ');
  },
  'emits a large piece': (_state, { emit }) => {
    emit(`${'x'.repeat(900 * 1024)}😀${'y'.repeat(900 * 1024)}`);
    return {};
  },
  'emits nonsense': (_state, { emit }) => {
    emit(5 as never);
    return {};
  },
  'emits nothing': (_state, { emit }) => {
    emit(undefined as never);
    return {};
  },
};

const enough = 3;

/** Every way to misbehave, by its name: the input says which one a run takes. */
export const ways = { ...throwing, ...uncaught, ...blocking, ...returning, ...large };

/** A run that behaves: says so at each of its steps, and waits at the gate in the midst of it. */
const behaves: Node = async ({ count }, context) => {
  context.emit(`step ${String(count + 1)}`);
  if (count === 1) await passGate(context);
  return { count: 1 };
};

const built = new StateGraph(fields)
  .addNode('behaves', behaves)
  .addNode('waits', async (_state, context) => {
    await passGate(context);
    return { note: 'waited' };
  })
  .addNode('never settles', forEver)
  .addNode('never settles in time', forEver, { timeoutMs: 50 })
  .addNode('emits after its end', (_state, { emit }) => {
    emit('in time');
    setTimeout(() => emit('too late'), 1);
    return {};
  })
  .addNode('loops for ever', () => ({ count: 1 }))
  .addNode('goes nowhere', () => ({}))
  .addNode('blocks in its edge', () => ({}))
  .addNode('calls a tool', (_state, { emit }) => {
    emit({ type: 'tool_call', id: crypto.randomUUID(), name: 'answers_hugely', args: {} });
    return {};
  })
  .addNode(
    'tools',
    toolNode([
      tool({ name: 'answers_hugely', description: 'Says too much.', parameters: { type: 'object' } }, () => huge()),
    ]),
  )
  .addConditionalEdges(START, ({ context }) => {
    const last = context.at(-1);
    return last ? textOf(last) : END;
  })
  .addConditionalEdges('behaves', ({ count }) => (count < enough ? 'behaves' : END))
  .addEdge('waits', END)
  .addEdge('emits after its end', 'never settles in time')
  .addEdge('loops for ever', 'loops for ever')
  .addConditionalEdges('goes nowhere', () => 'nowhere')
  .addConditionalEdges('blocks in its edge', () => block())
  .addEdge('calls a tool', 'tools')
  .addEdge('tools', END);

for (const [name, node] of Object.entries(ways)) built.addNode(name, node).addEdge(name, END);

export const graph = built.compile();

setTimeout(() => {
  throw new Error('uncaught error of the module');
}, 1);
