import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  remoteTool,
  send,
  START,
  StateGraph,
  textOf,
  tool,
  toolNode,
  type Block,
  type CompiledGraph,
  type Message,
  type NewMessage,
  type NodeContext,
  type NodePolicy,
} from '@agent-workflow/graph';
import fc from 'fast-check';

/** What one node emits and returns. Before anything else it says which messages it has seen. */
interface Leaf {
  readonly kind: 'say';
  /** Turns of the event loop before each chunk. */
  readonly turns: number;
  readonly chunks: readonly ('text' | 'block')[];
  /** Messages opened beside the one of `emit`. */
  readonly opened: number;
  readonly returned: readonly ('new' | 'empty' | 'blocks' | 'a' | 'b' | 'longer' | 'other' | 'own')[];
  /** Whether its first attempt fails after its chunks. */
  readonly fails: boolean;
}

/** A node that calls tools, the node of the tools, and one that answers. */
interface Loop {
  readonly kind: 'loop';
  /** Of each call the turns that its tool takes; 0: the caller runs it. */
  readonly calls: readonly number[];
}

type Part =
  | Leaf
  | Loop
  | { readonly kind: 'ask' }
  | { readonly kind: 'sub'; readonly graph: Spec; readonly fails: boolean }
  | { readonly kind: 'beside'; readonly branches: readonly (Leaf | Spec)[] }
  | { readonly kind: 'fan'; readonly branch: Leaf | Spec; readonly count: number };

/** The parts of a graph, one after the other. */
type Spec = readonly Part[];

const leaf: fc.Arbitrary<Leaf> = fc.record({
  kind: fc.constant('say' as const),
  turns: fc.nat(3),
  chunks: fc.array(fc.constantFrom('text' as const, 'text' as const, 'block' as const), { maxLength: 4 }),
  opened: fc.nat(2),
  returned: fc.array(fc.constantFrom('new', 'new', 'empty', 'blocks', 'a', 'b', 'longer', 'other', 'own'), {
    maxLength: 3,
  }),
  fails: fc.boolean(),
});
const loop: fc.Arbitrary<Loop> = fc.record({
  kind: fc.constant('loop' as const),
  calls: fc.array(fc.nat(3), { minLength: 1, maxLength: 3 }),
});
const question = fc.constant({ kind: 'ask' } as const);

const specOf = (depth: number): fc.Arbitrary<Spec> => {
  const flat = fc.oneof({ weight: 3, arbitrary: leaf }, { weight: 3, arbitrary: loop }, question);
  if (depth === 0) return fc.array(flat, { minLength: 1, maxLength: 3 });
  const graph = specOf(depth - 1);
  const sub = fc.record({ kind: fc.constant('sub' as const), graph, fails: fc.boolean() });
  const branches = fc.array(fc.oneof(leaf, graph), { minLength: 2, maxLength: 3 });
  const beside = fc.record({ kind: fc.constant('beside' as const), branches });
  const fan = fc.record({
    kind: fc.constant('fan' as const),
    branch: fc.oneof(leaf, graph),
    count: fc.integer({ min: 1, max: 3 }),
  });
  return fc.array(fc.oneof(flat, sub, beside, fan), { minLength: 1, maxLength: 3 });
};

/** Graphs with sub-graphs in sub-graphs, down to the third. */
export const generatedSpec = specOf(3);

/** Texts that take the place of another message with `other` say so: their chunks were published before. */
export const otherText = 'instead ';

const saw = (context: readonly Message[]): string => `[${context.map(({ message_id: id }) => id).join()}] `;

const isLeaf = (part: Leaf | Spec): part is Leaf => 'kind' in part;
const retry: NodePolicy = { retry: { maxAttempts: 2, initialDelayMs: 0 } };

/** The first attempt with a key fails. */
function failFirst(failed: Set<string>, key: string): void {
  if (failed.has(key)) return;
  failed.add(key);
  throw new Error('the first attempt fails');
}

const failed = new Set<string>();

async function runLeaf(
  { turns, chunks, opened, returned, fails }: Leaf,
  context: readonly Message[],
  ctx: NodeContext,
) {
  const seen = saw(context);
  const pause = async (): Promise<void> => {
    for (let turn = 0; turn < turns; turn++) await nextTurn();
  };
  const others = Array.from({ length: opened }, () => ctx.openMessage());
  let emitted = '';
  for (const [index, kind] of chunks.entries()) {
    await pause();
    if (index === 0) ctx.emit((emitted = seen));
    const text = `${ctx.node} ${index} 😀`;
    if (kind === 'text') emitted += text;
    ctx.emit(kind === 'text' ? text : { type: 'data', data: index });
    for (const other of others) other.emit(index === 0 ? seen : text);
  }
  await pause();
  if (fails) failFirst(failed, ctx.idempotencyKey);
  const last = context.findLast(
    ({ role, content }) => role === 'assistant' && content.length > 0 && content.every(({ type }) => type === 'text'),
  );
  const own = chunks.includes('block') ? [] : [{ message_id: ctx.messageId, content: `${emitted}and more` }];
  const all: Readonly<Record<Leaf['returned'][number], readonly NewMessage[]>> = {
    new: [{ content: `${seen}whole` }],
    empty: [{ content: [] }],
    blocks: [
      {
        content: [
          { type: 'data', data: 1 },
          { type: 'text', text: `${seen}between` },
          { type: 'image', url: 'u' },
        ],
      },
    ],
    a: [{ message_id: 'a', content: `${seen}a` }],
    b: [{ message_id: 'b', content: `${seen}b` }],
    longer: last ? [{ message_id: last.message_id, content: `${textOf(last)}longer ` }] : [],
    other: last ? [{ message_id: last.message_id, content: `${otherText}of ${ctx.node}` }] : [],
    own,
  };
  return { messages: [...new Set(returned.toSorted())].flatMap((kind) => all[kind]) };
}

const parameters = { type: 'object', properties: { turns: { type: 'integer' } }, required: ['turns'] } as const;
const wait = tool({ name: 'wait', description: 'Takes some turns', parameters }, async ({ turns }) => {
  for (let turn = 0; turn < turns; turn++) await nextTurn();
  return `took ${turns}`;
});
const away = remoteTool({ name: 'away', description: 'Is run by the caller', parameters });

const callOf = (turns: number): Block => ({
  ...{ type: 'tool_call', id: randomUUID(), tool_type: 'function' },
  ...(turns === 0 ? { name: 'away', args: { turns: 0 } } : { name: 'wait', args: { turns } }),
});

const lastFails: Leaf = { kind: 'say', turns: 0, chunks: [], opened: 0, returned: [], fails: true };
const nothing = (): object => ({});

/** The graph that a specification describes. */
export function buildGraph(spec: Spec): CompiledGraph {
  const builder = new StateGraph({});
  let end: string = START;
  const add = (
    name: string,
    node: Parameters<typeof builder.addNode>[1] | CompiledGraph,
    policy: NodePolicy = {},
  ): string => {
    if (typeof node === 'function') builder.addNode(name, node, policy);
    else if ('nodes' in node) builder.addNode(name, node, policy);
    return name;
  };
  const then = (name: string): void => {
    builder.addEdge(end, name);
    end = name;
  };
  const addBranch = (name: string, branch: Leaf | Spec): string =>
    isLeaf(branch)
      ? add(name, ({ context }, ctx) => runLeaf(branch, context, ctx), branch.fails ? retry : {})
      : add(name, buildGraph(branch));
  const addPart = (part: Part, name: string): void => {
    switch (part.kind) {
      case 'say': {
        then(addBranch(name, part));
        return;
      }
      case 'loop':
        then(
          add(`${name}-agent`, ({ context }, { emit }) => {
            for (const chunk of [saw(context), ...part.calls.map(callOf)]) emit(chunk);
          }),
        );
        builder.addNode(`${name}-tools`, toolNode([wait, away]));
        then(`${name}-tools`);
        {
          then(add(`${name}-answer`, ({ context }, { emit }) => emit(saw(context))));
          return;
        }
      case 'ask': {
        then(add(name, ({ context }, ctx) => ctx.emit(`${saw(context)}${String(ctx.interrupt('Go on?'))}`)));
        return;
      }
      case 'sub': {
        then(add(name, buildGraph(part.fails ? [...part.graph, lastFails] : part.graph), part.fails ? retry : {}));
        return;
      }
      case 'beside': {
        const names = part.branches.map((branch, at) => addBranch(`${name}-${at}`, branch));
        for (const own of names) builder.addEdge(end, own);
        builder.addEdge(names, add(`${name}-joined`, nothing));
        end = `${name}-joined`;
        return;
      }
      case 'fan':
        then(add(`${name}-sends`, nothing));
        addBranch(name, part.branch);
        builder.addConditionalEdges(end, () => Array.from({ length: part.count }, (_, item) => send(name, item)), [
          name,
        ]);
        end = name;
        {
          then(add(`${name}-joined`, nothing));
          return;
        }
    }
  };
  spec.forEach((part, index) => addPart(part, `p${index}`));
  return builder.compile();
}
